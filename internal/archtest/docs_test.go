package archtest

import (
	"bytes"
	"encoding/xml"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A link of Markdown, its target without a title; and the code of a page, which holds none.
var (
	link = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	code = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
)

// Links between the pages, and from them to the code, lead somewhere.
func TestLinks(t *testing.T) {
	top := root(t)
	count := 0
	walk(t, func(name string, text []byte) {
		if filepath.Ext(name) != ".md" {
			return
		}
		for _, m := range link.FindAllSubmatch(code.ReplaceAll(text, nil), -1) {
			target, _, _ := strings.Cut(string(m[1]), "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			count++
			if _, err := os.Stat(filepath.Join(top, filepath.Dir(name), target)); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", name, target)
			}
		}
	})
	if count == 0 {
		t.Error("there is no link at all")
	}
}

// The pictures of the pages are well-formed, and drawn for dark pages, too.
func TestPictures(t *testing.T) {
	count := 0
	walk(t, func(name string, text []byte) {
		if ok, _ := filepath.Match("docs/*.svg", name); !ok {
			return
		}
		count++
		if !bytes.Contains(text, []byte("prefers-color-scheme: dark")) {
			t.Errorf("%s has no colors for dark pages", name)
		}
		for d := xml.NewDecoder(bytes.NewReader(text)); ; {
			if _, err := d.Token(); err == io.EOF {
				return
			} else if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
		}
	})
	if count == 0 {
		t.Error("there is no picture at all")
	}
}

// The code of the pages on kernels is that of files which are compiled and tested, or of README's
// programs; but for the space before a line.
func TestCode(t *testing.T) {
	trim := func(text string) string {
		var b strings.Builder
		for line := range strings.Lines(text) {
			b.WriteString(strings.TrimSpace(line) + "\n")
		}
		return b.String()
	}
	pages, files := map[string]string{}, []string{}
	walk(t, func(name string, text []byte) {
		switch name {
		case "docs/kernels.md", "docs/finding-mistakes.md", "docs/migrate.md":
			pages[name] = string(text)
		}
		if ext := filepath.Ext(name); ext == ".go" || ext == ".cl" || name == "README.md" {
			files = append(files, trim(string(text)))
		}
	})
	for name, page := range pages {
		for _, m := range fence.FindAllStringSubmatch(page, -1) {
			code := strings.TrimSpace(trim(m[2]))
			if (m[1] == "go" || m[1] == "c") &&
				!slices.ContainsFunc(files, func(text string) bool { return strings.Contains(text, code) }) {
				t.Errorf("%s: in no file:\n%s", name, m[2])
			}
		}
	}
	if len(pages) != 3 {
		t.Errorf("%d pages", len(pages))
	}
}

// What stands in the columns on Go of docs/numpy.md is there: functions and types by the name of
// their package, methods of its arrays, factors and files.
func TestNumPy(t *testing.T) {
	top := root(t)
	names, methods := map[string]bool{}, map[string]bool{}
	folders := []string{"array", "exact", "linalg", "linalg/batched", "rmath"}
	packages := make([]string, len(folders))
	for i, folder := range folders {
		p := path.Base(folder)
		packages[i] = p
		files, err := filepath.Glob(filepath.Join(top, folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					if d.Recv != nil {
						methods[d.Name.Name] = true
					} else {
						names[p+"."+d.Name.Name] = true
					}
				case *ast.GenDecl:
					for _, s := range d.Specs {
						if s, ok := s.(*ast.TypeSpec); ok {
							names[p+"."+s.Name.Name] = true
						}
					}
				}
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(top, "docs", "numpy.md"))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for row := range strings.Lines(string(text)) {
		_, columns, _ := strings.Cut(strings.TrimPrefix(row, "|"), "|")
		for _, m := range regexp.MustCompile(`\b([a-z]+)\.([A-Z]\w*)`).FindAllStringSubmatch(columns, -1) {
			count++
			if is := slices.Contains(packages, m[1]); is && !names[m[0]] || !is && !methods[m[2]] {
				t.Errorf("docs/numpy.md: there is no %s", m[0])
			}
		}
	}
	if count < 150 {
		t.Errorf("only %d names", count)
	}
}

// THIRD_PARTY.md lists the modules that programs link, on every system that releases are built for,
// and no others.
func TestThirdParty(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root(t), "THIRD_PARTY.md"))
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) == 5 && strings.Contains(cells[1], ".") {
			listed = append(listed, strings.TrimSpace(cells[1]))
			if strings.TrimSpace(cells[3]) == "" {
				t.Errorf("THIRD_PARTY.md has no licence for %s", cells[1])
			}
		}
	}
	var linked []string
	for _, system := range []string{"linux", "windows", "darwin"} {
		const paths = "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}"
		cmd := exec.Command("go", "list", "-deps", "-f", paths, "./...")
		cmd.Dir = root(t)
		cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		linked = append(linked, strings.Fields(string(out))...)
	}
	slices.Sort(linked)
	slices.Sort(listed)
	if linked = slices.Compact(linked); !slices.Equal(listed, linked) {
		t.Errorf("THIRD_PARTY.md lists\n%v\nprograms link\n%v", listed, linked)
	}
}
