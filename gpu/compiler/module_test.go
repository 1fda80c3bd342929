package compiler

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// newModule makes a module that requires this one, as a user's does, of files by name.
func newModule(t testing.TB, files map[string]string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	const path = "github.com/tandem-gpu/tandem"
	text := strings.Replace(string(mod), "module "+path, "module example.com/user", 1) +
		"\nrequire " + path + " v0.0.0\n\nreplace " + path + " => " + root + "\n"
	dir := t.TempDir()
	write := func(name, text string) {
		writeFile(t, filepath.Join(dir, name), text)
	}
	write("go.mod", text)
	write("go.sum", string(sum))
	for name, text := range files {
		write(name, text)
	}
	return dir
}

// goTool runs the go command in dir.
func goTool(t testing.TB, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod "+os.Getenv("GOFLAGS"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// writeFile writes a file, and makes its folder.
func writeFile(t testing.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
