package main

import (
	"os"
	"strings"
	"testing"
)

// A module with a file for Windows alone, whose test does not fit it.
var module = map[string]string{
	"go.mod":            "module example.com/a\n\ngo 1.25\n",
	"a.go":              "package a\n\nimport \"os\"\n\nvar Args = os.Args\n",
	"a_windows.go":      "package a\n\nfunc F() int { return 1 }\n",
	"a_test.go":         "package a\n\nimport \"testing\"\n\nfunc Test(t *testing.T) { t.Log(Args) }\n",
	"b_windows_test.go": "package a_test\n\nimport \"example.com/a\"\n\nvar s string = a.F()\n",
}

func TestCheck(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("GOFLAGS", "")
	for name, text := range module {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for goos, want := range map[string]string{"linux": "", "windows": "b_windows_test.go:5:16: cannot use a.F()"} {
		pkgs, err := list(goos, "amd64", "", []string{"./..."})
		if err != nil {
			t.Fatal(err)
		}
		err = check(pkgs, "amd64")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", goos, err, want)
		}
	}
}
