package compiler

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Go's order of evaluation, its copies, names and constants, on each device as in plain Go.
func TestMeaning(t *testing.T) {
	if testing.Short() {
		t.Skip("runs programs on the simulated GPU")
	}
	var cases, terms, ands []string
	for i := range 300 {
		cases = append(cases, fmt.Sprintf("case %d:\n\t\t\tout[%d]++", i, 5+i%20))
		terms = append(terms, fmt.Sprintf(" + x%%%d", i+1))
		ands = append(ands, fmt.Sprintf(" && x != %d", -i-1))
	}
	fill := strings.NewReplacer("/*CASES*/", strings.Join(cases, "\n\t\t"), "/*TERMS*/", strings.Join(terms, ""),
		"/*NESTED*/", strings.Repeat(" + square(1", 60)+strings.Repeat(")", 60), "/*ANDS*/", strings.Join(ands, ""))
	files := map[string]string{}
	for _, name := range []string{"kernels.go", "main.go"} {
		text, err := os.ReadFile(filepath.Join("testdata", "meaning", name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = fill.Replace(string(text))
	}
	dir := newModule(t, files)
	if err := Write(dir, Options{PTX: Clang(), Native: ownMachine()}); err != nil {
		t.Fatal(err)
	}
	for _, checked := range []string{"", "1"} {
		if t.Setenv("CHECKED", checked); checked != "" && os.Getenv("TANDEM_NVRTC") == "" {
			continue // the simulated GPU compiles anew
		}
		if out, err := goTool(t, dir, "run", "."); err != nil || out != "done\n" {
			t.Errorf("checked %q: %v\n%s", checked, err, out)
		}
	}
}
