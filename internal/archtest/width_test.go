package archtest

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// Widths in columns, a tab being four. The linter holds the code of Go as well.
const (
	codeWidth  = 120
	proseWidth = 100
	noLimit    = 1 << 20
)

// Lines of code are at most 120 columns wide, of comments and prose 100. What cannot be broken is
// left out: build constraints, and tables, figures and links of pages. Code that is shown in
// comments and pages has the width of code.
func TestWidth(t *testing.T) {
	count := 0
	walk(t, func(name string, text []byte) {
		limit := widthOf(name)
		if limit == nil || strings.Contains(name, "testdata/") || marker.Match(text) {
			return
		}
		count++
		for i, line := range strings.Split(string(text), "\n") {
			n := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
			if most := limit(line); n > most {
				t.Errorf("%s:%d has %d columns; %d are the limit", name, i+1, n, most)
			}
		}
	})
	if count < 300 {
		t.Errorf("only %d files were looked at", count)
	}
}

// widthOf gives the function that tells how wide each line of a file may be; it is called with all
// lines, in their order. It is nil for files that no one writes by hand.
func widthOf(name string) func(line string) int {
	switch filepath.Ext(name) {
	case ".go":
		return proseAfter("// ")
	case ".cl", ".cu", ".h":
		return widthOfC()
	case ".md":
		return widthOfPage()
	case ".sh", ".py", ".yml":
		return proseAfter("# ")
	}
	switch filepath.Base(name) {
	case "Makefile", "run":
		return proseAfter("# ")
	}
	return nil
}

func proseAfter(prefix string) func(line string) int {
	return func(line string) int {
		if strings.HasPrefix(line, "//go:build ") {
			return noLimit
		}
		if strings.HasPrefix(strings.TrimLeft(line, "\t "), prefix) {
			return proseWidth
		}
		return codeWidth
	}
}

func widthOfC() func(line string) int {
	inside := false
	return func(line string) int {
		line = strings.TrimLeft(line, "\t ")
		prose := (inside || strings.HasPrefix(line, "/*")) && !strings.HasPrefix(line, "*  ") ||
			strings.HasPrefix(line, "// ")
		if begin, end := strings.LastIndex(line, "/*"), strings.LastIndex(line, "*/"); begin != end {
			inside = begin > end
		}
		if prose {
			return proseWidth
		}
		return codeWidth
	}
}

func widthOfPage() func(line string) int {
	fenced := false
	return func(line string) int {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
			return codeWidth
		case fenced:
			return codeWidth
		case strings.HasPrefix(line, "|"), strings.HasPrefix(line, "!["), strings.Count(line, " ") < 2:
			return noLimit
		}
		return proseWidth
	}
}

// The lines of each file are those of one, in their order.
func TestWidthOf(t *testing.T) {
	type line struct {
		text string
		want int
	}
	for name, lines := range map[string][]line{
		"a.go": {{"// prose", proseWidth}, {"//\tcode", codeWidth}, {"\tx := 1 // a word", codeWidth}},
		"a.cl": {
			{"/* prose", proseWidth},
			{" * more", proseWidth},
			{" *   x = 1", codeWidth},
			{" */", proseWidth},
			{"x = 1;", codeWidth},
			{"  /* prose */", proseWidth},
			{"y = 2; /* a word */", codeWidth},
		},
		"a.md": {
			{"some more prose", proseWidth},
			{"| a cell |", noLimit},
			{"[link](elsewhere)", noLimit},
			{"```sh", codeWidth},
			{"some more code", codeWidth},
			{"```", codeWidth},
			{"prose once more", proseWidth},
		},
		"b/Makefile": {{"# prose", proseWidth}, {"all:", codeWidth}},
	} {
		limit := widthOf(name)
		for _, l := range lines {
			if got := limit(l.text); got != l.want {
				t.Errorf("%s: %q may have %d columns, want %d", name, l.text, got, l.want)
			}
		}
	}
	if widthOf("a.svg") != nil {
		t.Error("a picture has a width")
	}
}
