package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every bug still has its place, and its test still exists: the list is worth what it says.
func TestMutationsApply(t *testing.T) {
	const root = "../.."
	seen := map[string]bool{}
	for _, m := range mutations {
		if seen[m.name] || m.name == "" {
			t.Errorf("the name %q is taken, or empty", m.name)
		}
		seen[m.name] = true
		text, err := os.ReadFile(filepath.Join(root, m.file))
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
			continue
		}
		broken, err := m.mutate(text)
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
		} else if string(broken) == string(text) {
			t.Errorf("%s changes nothing", m.name)
		}
		name, _, _ := strings.Cut(m.test, "/")
		if !hasTest(t, filepath.Join(root, m.pkg), name) {
			t.Errorf("%s: %s has no test %s", m.name, m.pkg, name)
		}
	}
	if len(mutations) < 20 {
		t.Errorf("only %d mutations", len(mutations))
	}
}

func hasTest(t *testing.T, dir, name string) bool {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if regexp.MustCompile(`(?m)^func ` + name + `\([tf] \*testing\.[TF]\)`).Match(text) {
			return true
		}
	}
	return false
}

func TestFailed(t *testing.T) {
	m := mutation{test: "TestSuite/.*/Compile/Macros"}
	for out, want := range map[string]bool{
		"--- FAIL: TestSuite (0.1s)\n    --- FAIL: TestSuite/0_PoCL/Compile/Macros (0.01s)\n":             true,
		"--- FAIL: TestSuite (0.1s)\n    --- FAIL: TestSuite/0_PoCL/Compile/MacrosToo (0.01s)\n":          false,
		"panic: test timed out after 1m0s\n\trunning tests:\n\t\tTestSuite/0_PoCL/Compile/Macros (60s)\n": true,
		"FAIL github.com/tandem-gpu/tandem/backend [build failed]\n":                                      false,
	} {
		if got := m.failed(out); got != want {
			t.Errorf("failed is %v, want %v, for\n%s", got, want, out)
		}
	}
	crash := "=== RUN   TestLaunches\ncorrupted size\nsignal: aborted\nFAIL\tbackend\t0.7s\n"
	if m := (mutation{test: "TestLaunches"}); m.failed(crash) {
		t.Error("a crash counts where none is expected")
	}
	if m := (mutation{test: "TestLaunches", crashes: true}); !m.failed(crash) {
		t.Error("a crash does not count")
	}
	if got, want := m.pattern(), "^(TestSuite)$/^(.*)$/^(Compile)$/^(Macros)$"; got != want {
		t.Errorf("pattern is %s, want %s", got, want)
	}
}
