package archtest

import (
	"archive/zip"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fence is a block of code in a page.
var fence = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```")

// README's programs and commands do what it says, to the letter, for one who has the published
// module and an empty folder.
func TestREADME(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs; left out by -short")
	}
	page, err := os.ReadFile(filepath.Join(root(t), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var programs []string
	var steps, install string
	for _, m := range fence.FindAllStringSubmatch(string(page), -1) {
		switch text := m[2]; {
		case strings.HasPrefix(text, "package main"):
			programs = append(programs, text)
		case strings.HasPrefix(text, "go mod init"):
			steps = text
		case strings.HasPrefix(text, "go install"):
			install = text
		}
	}
	says := []string{"[12 24 36] <nil>\n", "[58 64] [139 154]\n", " times as fast\n"}
	if len(programs) != len(says) || steps == "" || install == "" {
		t.Fatalf("%d programs, the steps %q and the installation %q in README.md", len(programs), steps, install)
	}
	env := published(t)
	for i, program := range programs {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o666); err != nil {
			t.Fatal(err)
		}
		if out := follow(t, dir, env, steps); !strings.HasSuffix(out, says[i]) {
			t.Errorf("program %d says %q, not %q", i, out, says[i])
		}
	}
	follow(t, t.TempDir(), env, install)
}

// follow runs the lines of a page in a folder, and returns what the last one prints.
func follow(t *testing.T, dir string, env []string, lines string) string {
	t.Helper()
	var out []byte
	for line := range strings.Lines(lines) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir, cmd.Env = dir, env
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		var err error
		if out, err = cmd.Output(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, &stderr)
		}
	}
	return string(out)
}

// published is an environment in which the files of this checkout are a published version of the
// module, in a file proxy before those of the module cache and of the user.
func published(t *testing.T) []string {
	t.Helper()
	top, dir := root(t), t.TempDir()
	goenv := func(name string) string {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	const version = "v0.0.1"
	mod, err := os.ReadFile(filepath.Join(top, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"list": version + "\n", version + ".info": `{"Version":"` + version + `"}`, version + ".mod": string(mod),
		version + ".zip": string(moduleZip(t, module+"@"+version+"/")),
	} {
		name = filepath.Join(dir, "proxy", module, "@v", name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cache := filepath.Join(goenv("GOMODCACHE"), "cache", "download")
	return append(os.Environ(), "GOWORK=off", "GOSUMDB=off", "GOFLAGS=-modcacherw -trimpath",
		"GOPROXY="+fileURL(filepath.Join(dir, "proxy"))+","+fileURL(cache)+","+goenv("GOPROXY"),
		"GOMODCACHE="+filepath.Join(dir, "mod"), "GOBIN="+filepath.Join(dir, "bin"), "TANDEM_BACKEND=cpu")
}

func fileURL(path string) string { return "file:///" + strings.TrimPrefix(filepath.ToSlash(path), "/") }

// moduleZip is the module's files as proxies give them.
func moduleZip(t *testing.T, prefix string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	walkAll(t, func(name string, text []byte) {
		w, err := z.Create(prefix + name)
		if err == nil {
			_, err = w.Write(text)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
