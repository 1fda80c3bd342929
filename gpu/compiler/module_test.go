package compiler

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tandem-gpu/tandem/gpu/compiler/internal/front"
)

// What go list says of packages of Go's and of this module is the same for all tests, but for those
// with a folder of what is vendored.
func init() {
	list := front.GoList
	var said sync.Map
	front.GoList = func(dir string, args ...string) ([]byte, error) {
		_, err := os.Stat(filepath.Join(dir, "vendor"))
		own := func(arg string) bool { return strings.Contains(arg, ".") && !strings.HasPrefix(arg, modulePath) }
		if err == nil || slices.ContainsFunc(args, own) {
			return list(dir, args...)
		}
		key := strings.Join(args, " ")
		if out, ok := said.Load(key); ok {
			return out.([]byte), nil
		}
		out, err := list(dir, args...)
		if err == nil {
			said.Store(key, out)
		}
		return out, err
	}
}

const modulePath = "github.com/tandem-gpu/tandem"

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
	text := strings.Replace(string(mod), "module "+modulePath, "module example.com/user", 1) +
		"\nrequire " + modulePath + " v0.0.0\n\nreplace " + modulePath + " => " + root + "\n"
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
