package archtest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// CONTRIBUTING.md names the files that a new element type touches: all that choose by type are
// among them, and they are few.
func TestElementTypes(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root(t), "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(page), "## A new element type\n")
	list, _, _ = strings.Cut(list, "\n## ")
	listed := map[string]bool{}
	for line := range strings.Lines(list) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for _, name := range strings.Split(cells[1], "`") {
				if strings.Contains(name, "/") {
					listed[name] = true
				}
			}
		}
	}
	if len(listed) == 0 || len(listed) > 9 {
		t.Errorf("CONTRIBUTING.md names %d files that a new element type touches, 1 to 9 expected", len(listed))
	}
	found := 0
	walk(t, func(name string, text []byte) {
		product := filepath.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go")
		if !product || !bytes.Contains(text, []byte("ByType(")) {
			return
		}
		found++
		if !listed[name] {
			t.Errorf("%s chooses by element type: CONTRIBUTING.md does not list it", name)
		}
	})
	if found < 4 {
		t.Errorf("only %d files choose by element type", found)
	}
	for name := range listed {
		if _, err := os.Stat(filepath.Join(root(t), name)); err != nil {
			t.Errorf("CONTRIBUTING.md lists %s: %v", name, err)
		}
	}
}
