package ptxtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Committed is a file with a table of what compilers make of kernels. Its first line says which
// compilers, and each of the others ends with the key of what they made it of: the same compilers
// make the same of the same, so that a test compiles, and checks, what has another key.
type Committed struct {
	tool, file, title string
	update            bool
	first, table      string // of the file
}

// ReadCommitted reads file, whose first line is to be title; tool is what TANDEM_REQUIRE calls the
// compiler. To update is to compile everything, and to write the file.
func ReadCommitted(t *testing.T, tool, file, title string, update bool) *Committed {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !update {
		t.Fatal(err)
	}
	c := &Committed{tool: tool, file: file, title: title, update: update}
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) // a checkout on Windows
	c.first, c.table, _ = strings.Cut(string(text), "\n")
	return c
}

// Key identifies all that a line is made of.
func Key(of ...any) string {
	h := sha256.Sum256(fmt.Appendf(nil, "%q", of))
	return hex.EncodeToString(h[:6])
}

// Lines is the lines with a key, "" where they have to be made.
func (c *Committed) Lines(key string) (lines string) {
	if c.update || c.first != c.title {
		return ""
	}
	for line := range strings.Lines(c.table) {
		if strings.HasSuffix(line, " "+key+"\n") {
			lines += line
		}
	}
	return lines
}

// Compare fails t where the file has another table; to update writes this one where they differ.
// The numbers of other tools are others: then the test is skipped, or fails where TANDEM_REQUIRE
// asks for the tool, so that the tools and the file change together.
func (c *Committed) Compare(t *testing.T, table string) {
	t.Helper()
	diff := changed(c.table, table)
	if c.update && !t.Failed() && (c.first != c.title || diff != "") {
		if err := os.WriteFile(c.file, []byte(c.title+"\n"+table), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if c.first != c.title {
		Missing(t, c.tool, fmt.Sprintf("%s is by other tools: it begins with %q, and these are %q; run make generate",
			c.file, c.first, c.title))
	}
	if diff != "" {
		t.Errorf("the kernels, or the resources that they take, are others than %s says; run make generate, "+
			"and see by git diff whether they may be:\n%s", c.file, diff)
	}
}

// changed is the lines of either table that have no line like them in the other.
func changed(old, now string) string {
	var b strings.Builder
	for _, side := range []struct{ mark, text, other string }{{"-", old, now}, {"+", now, old}} {
		others := strings.Split(side.other, "\n")
		for _, line := range strings.Split(side.text, "\n") {
			if !slices.ContainsFunc(others, func(other string) bool { return alike(line, other) }) {
				b.WriteString(side.mark + line + "\n")
			}
		}
	}
	return b.String()
}

// sharedColumn is the last column of the table before those of registers.
const sharedColumn = 2

// alike reports whether two lines of tables say the same, but for one allotment of registers on a
// GPU. NVIDIA's compilers do not decide alike on every machine: the same versions have made 64
// registers and 72 of one kernel.
func alike(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i] == y[i] {
			continue
		}
		m, err1 := strconv.Atoi(x[i])
		n, err2 := strconv.Atoi(y[i])
		if i <= sharedColumn || err1 != nil || err2 != nil || max(m-n, n-m) > 8 {
			return false
		}
	}
	return true
}
