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

// install is the command for which the module must be published.
var install = regexp.MustCompile("`(go\\s+install\\s[^`]+@latest)`")

// The programs and commands of README and of the page on performance do what they say, to the
// letter: for one who has the sources beside an empty folder, and, without the line that says so,
// for one who has the published module.
func TestREADME(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs; left out by -short")
	}
	var pages []byte
	for _, name := range []string{"README.md", "docs/performance.md"} {
		page, err := os.ReadFile(filepath.Join(root(t), name))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, page...)
	}
	var programs []string
	var steps string
	for _, m := range fence.FindAllStringSubmatch(string(pages), -1) {
		switch text := m[2]; {
		case strings.HasPrefix(text, "package main"):
			programs = append(programs, text)
		case strings.HasPrefix(text, "go mod init"):
			steps = text
		}
	}
	says := []string{"[58 64] [139 154]\n", "[12 24 36] <nil>\n", " times as fast\n"}
	command := install.FindSubmatch(pages)
	before, rest, beside := strings.Cut(steps, "=../tandem\n")
	if len(programs) != len(says) || command == nil || !beside {
		t.Fatalf("%d programs, the installation %q and the steps %q", len(programs), command, steps)
	}
	lines := strings.SplitAfter(before, "\n")
	replace := lines[len(lines)-1]
	initialise := strings.TrimSuffix(before, replace)
	env := published(t)
	for i, program := range programs {
		if out := follow(t, folder(t, program), env, initialise+rest); !strings.HasSuffix(out, says[i]) {
			t.Errorf("program %d says %q, not %q", i, out, says[i])
		}
	}
	// Which files the command needs is what publishing may break; its tests compile it.
	follow(t, t.TempDir(), env, strings.Replace(strings.Join(strings.Fields(string(command[1])), " "), "install",
		"install -n", 1))
	// The sources are those of this checkout, whose packages are compiled for other tests as well.
	dir := folder(t, programs[0])
	env = append(os.Environ(), "GOWORK=off", "TANDEM_BACKEND=cpu")
	follow(t, dir, env, initialise)
	words := strings.Fields(replace)
	words[len(words)-1] += "=" + root(t) // which may have spaces
	run(t, dir, env, words)
	if out := follow(t, dir, env, rest); out != says[0] {
		t.Errorf("with the sources beside it the program says %q", out)
	}
}

// folder is a new folder with a program.
func folder(t *testing.T, program string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// follow runs the lines of a page in a folder, and returns what the last one prints.
func follow(t *testing.T, dir string, env []string, lines string) (out string) {
	t.Helper()
	for line := range strings.Lines(lines) {
		line, _, _ = strings.Cut(line, "#")
		out = run(t, dir, env, strings.Fields(line))
	}
	return out
}

// run runs a command in a folder, and returns what it prints.
func run(t *testing.T, dir string, env, words []string) string {
	t.Helper()
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Env = dir, env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v\n%s", words, err, &stderr)
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
