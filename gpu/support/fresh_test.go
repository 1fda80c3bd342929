package support_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tandem-gpu/tandem/gpu/support"
	"github.com/tandem-gpu/tandem/internal/racetest"
)

// A declaration may move, and its file have other line ends, blanks and comments; once its words
// differ, it is stale, even where a comment still has the old ones.
func TestFresh(t *testing.T) {
	racetest.Skip(t, "one goroutine does it")
	const imports = "package a\n\nimport (\n\t\"fmt\"\n\tm \"math\"\n)\n\n"
	const text = "//tandem:kernel int\nfunc f() int {\n\treturn 1\n}"
	var decls []support.Decl
	for i, p := range support.Parts([]byte(imports + text)) {
		if i > 1 { // not the package, nor fmt
			decls = append(decls, support.Decl{File: "a.go", Head: "it", Hash: p.Hash})
		}
	}
	if len(decls) != 2 {
		t.Fatalf("%d declarations", len(decls))
	}
	changed := strings.Replace(text, "1", "2", 1)
	for _, c := range []struct {
		file  string
		fresh bool
	}{
		{imports + text + "\n", true},
		{imports + "var x = func() int { return 3 }\n\n" + text + "\n\nfunc g() {}\n", true},
		{"package a; import m \"math\"\n// Moved.\n" + text, true},
		{strings.ReplaceAll(imports+"// f is one.\n"+text, "\n", "\r\n"), true},
		{imports + changed + "\n", false},
		{imports + changed + "\n/*\n" + text + "\n*/\n", false},
		{imports + changed + "\nfunc g() {\n" + text + "\n}\n", false},
		{imports + strings.Replace(text, " int\n", " uint\n", 1), false},
		{strings.Replace(imports, "math", "a/math", 1) + text, false},
		{imports + "func f() int {\n", false},
		{"package a\n", false},
	} {
		files := fstest.MapFS{"a.go": {Data: []byte(c.file)}}
		if err := support.Fresh("g.go", files.ReadFile, decls, nil, nil)(); (err == nil) != c.fresh {
			t.Errorf("%s\n%v", c.file, err)
		}
	}
	if err := support.Fresh("g.go", fstest.MapFS{}.ReadFile, decls, nil, nil)(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without the file: %v", err)
	}
}

// A variable is looked at each time, all else once.
func TestFreshVariable(t *testing.T) {
	name := ""
	fresh := support.Fresh("g.go", nil, nil, nil, func() string { return name })
	for _, name = range []string{"", "x", ""} {
		if err := fresh(); (err == nil) != (name == "") {
			t.Errorf("with %q: %v", name, err)
		}
	}
}

func TestSame(t *testing.T) {
	type pair struct {
		n int8
		x int
	}
	type mirror struct {
		n_ int8
		x_ int64
	}
	v, table := [2]pair{{1, 2}, {3, 4}}, [2]mirror{{1, 2}, {3, 4}}
	if !support.Same(&v, &table) {
		t.Error("equal values differ")
	}
	if v[1].x++; support.Same(&v, &table) == (^uint(0)>>32 != 0) {
		t.Error("an element differs")
	}
}

func TestFacts(t *testing.T) {
	type node struct {
		_    int8
		X, Y float32
		Next []node
		F    map[string]func()
	}
	if got, want := support.Const('a'), "int32 97"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	const want = "[3]struct{_ int8; X float32; Y float32; Next []"
	if got := support.Type[[3]node](); !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
