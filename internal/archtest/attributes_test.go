package archtest

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// .gitattributes names all files that say that they are generated, and beside these only data.
func TestAttributes(t *testing.T) {
	data := []string{".zip", ".json", ".svg"} // have no place to say it
	generated := map[string]bool{}
	var names []string
	walk(t, func(name string, text []byte) {
		if !slices.Contains(data, filepath.Ext(name)) {
			names = append(names, name)
			generated[name] = marker.Match(text[:endOfLine(text, 0)])
		}
	})
	cmd := exec.Command("git", "check-attr", "--stdin", "linguist-generated")
	cmd.Dir, cmd.Stdin = root(t), strings.NewReader(strings.Join(names, "\n"))
	out, err := cmd.Output()
	if err != nil {
		t.Skip("no git, or no repository: ", err)
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	if len(lines) != len(names) {
		t.Fatalf("git tells of %d files, not of %d", len(lines), len(names))
	}
	for i, name := range names {
		if listed := bytes.HasSuffix(lines[i], []byte(": set")); listed != generated[name] {
			t.Errorf("%s: generated is %t, .gitattributes says %t", name, generated[name], listed)
		}
	}
}
