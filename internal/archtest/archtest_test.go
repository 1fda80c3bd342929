// Package archtest holds the repository to its own rules: which package may import which, how generated files are marked, and that no
// file tells where it was built.
package archtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/tandem-gpu/tandem"

// A rule says what the files of a package may import, apart from the standard library. Packages of the module are named from its root.
// "x/..." is x and all below it.
type rule struct {
	pkg  string
	may  []string // packages of the module
	mods []string // packages of other modules
}

// rules are the arrows of the design, from the bottom up. The last rule that fits a package holds, and every package needs one.
var rules = []rule{
	{pkg: "backend"},           // the contract imports the standard library alone
	{pkg: "internal/host/..."}, // generators
	{pkg: "internal/host", mods: []string{"golang.org/x/sys/cpu"}},                                       // the bits that every device must produce
	{pkg: "internal/dl/...", mods: []string{"github.com/ebitengine/purego", "golang.org/x/sys/windows"}}, // the only importer of purego
	{pkg: "internal/diskcache"},
	{pkg: "internal/hugepage", mods: []string{"golang.org/x/sys/unix"}},
	{pkg: "internal/archtest"},
	{pkg: "scripts/mutate"},
	{pkg: "internal/ptxgen/...", may: []string{"backend", "internal/ptxgen"}}, // for generators and tests

	// Drivers never import each other, kernels or linalg. They alone import internal/diskcache.
	{pkg: "backend/cpu/...", may: []string{"backend", "internal/host", "internal/diskcache", "internal/hugepage"}, mods: []string{"golang.org/x/sys/..."}},
	{pkg: "backend/opencl/...", may: []string{"backend", "backend/opencl/...", "internal/dl/...", "internal/diskcache", "internal/hugepage"}},
	{pkg: "backend/opencl/cl", may: []string{"backend/opencl/internal/...", "internal/dl/..."}}, // of use without the rest
	{pkg: "backend/opencl/internal/...", may: []string{"backend/opencl/internal/...", "internal/dl/..."}},
	{pkg: "backend/cuda/...", may: []string{"backend", "backend/cuda/...", "internal/dl/...", "internal/diskcache"}},
	{pkg: "backend/cuda/ptxsim/...", may: []string{"backend/cuda/ptxsim/...", "internal/host"}},

	{pkg: "backend/backendtest", may: []string{"backend", "conformance"}},
	{pkg: "backend/backendtest/internal/ptxgen", may: []string{"backend", "internal/ptxgen"}},
	{pkg: "kernels/...", may: []string{"backend", "internal/host", "kernels/..."}},
	{pkg: "kernels/internal/ptxgen", may: []string{"kernels", "internal/ptxgen"}},
	{pkg: "conformance", may: []string{"backend", "kernels", "internal/host"}},

	{pkg: "internal/npy/header"},
	{pkg: "linalg", may: []string{"backend", "kernels", "internal/host", "internal/npy/header"}, mods: []string{"gonum.org/v1/gonum/..."}},
	{pkg: "linalg/gonumblas", may: []string{"backend", "kernels", "linalg", "internal/host"}, mods: []string{"gonum.org/v1/gonum/..."}},
	{pkg: "internal/faulttest", may: []string{"backend", "linalg/..."}, mods: []string{"gonum.org/v1/gonum/..."}}, // for tests
	{pkg: "internal/npy", may: []string{"linalg", "internal/npy/header"}, mods: []string{"github.com/kshedden/gonpy"}},

	{
		pkg: "bench/...", may: []string{"backend", "kernels", "conformance", "linalg/...", "bench/...", "internal/dl/...", "internal/host"},
		mods: []string{"gonum.org/v1/gonum/...", "gonum.org/v1/plot/..."},
	},
	{
		pkg: "cmd/...", may: []string{"backend", "backend/backendtest", "kernels", "conformance", "linalg/...", "bench/...", "internal/npy", "cmd/..."},
		mods: []string{"github.com/spf13/cobra", "github.com/schollz/progressbar/v3", "golang.org/x/term", "golang.org/x/sys/..."},
	},
	{
		pkg: "examples/...", may: []string{"backend", "backend/...", "kernels", "conformance", "linalg/...", "internal/npy", "examples/..."},
		mods: []string{"gonum.org/v1/gonum/..."},
	},
}

// fileRules give single files what their package must not have: linalg pulls in the drivers at one place.
var fileRules = map[string][]string{
	"linalg/drivers.go": {"backend/cpu", "backend/cuda", "backend/opencl"},
}

// Tests may import what they need, drivers too, except the tests of these packages.
var strictTests = []string{"backend"}

// A source is a Go file and what it imports.
type source struct {
	pkg, file string // from the root of the module, with slashes
	imports   []string
}

func (s source) test() bool { return strings.HasSuffix(s.file, "_test.go") }

// matches tells whether a pattern of a rule stands for an import path.
func matches(pattern, importPath string) bool {
	if base, below := strings.CutSuffix(pattern, "/..."); below {
		return importPath == base || strings.HasPrefix(importPath, base+"/")
	}
	return importPath == pattern
}

func anyMatches(patterns []string, importPath string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, importPath) })
}

func find(pkg string) *rule {
	for i := len(rules) - 1; i >= 0; i-- {
		if matches(rules[i].pkg, pkg) {
			return &rules[i]
		}
	}
	return nil
}

// violations lists what the files import against the rules.
func violations(files []source) []string {
	var bad []string
	for _, f := range files {
		r := find(f.pkg)
		if r == nil {
			bad = append(bad, fmt.Sprintf("%s: package %s has no rule here: say what it may import", f.file, f.pkg))
			continue
		}
		for _, imp := range f.imports {
			if why := refuse(f, r, imp); why != "" {
				bad = append(bad, fmt.Sprintf("%s imports %s: %s", f.file, imp, why))
			}
		}
	}
	return bad
}

// refuse says why file f of a package with rule r must not import imp; "" if it may.
func refuse(f source, r *rule, imp string) string {
	own, ours := strings.CutPrefix(imp, module+"/")
	standard := !ours && !strings.Contains(strings.Split(imp, "/")[0], ".")
	switch {
	case imp == "C":
		return "there is no cgo here; use internal/dl"
	case matches("github.com/ebitengine/purego/...", imp) && !matches("internal/dl/...", f.pkg):
		return "internal/dl alone imports purego"
	case standard:
		return ""
	case f.test() && !anyMatches(strictTests, f.pkg):
		return ""
	case ours && (anyMatches(r.may, own) || anyMatches(fileRules[f.file], own)):
		return ""
	case ours && own == f.pkg && f.test(): // an external test of its own package
		return ""
	case !ours && anyMatches(r.mods, imp):
		return ""
	}
	return fmt.Sprintf("the rule of %s does not have it", r.pkg)
}

func TestImports(t *testing.T) {
	for _, v := range violations(sources(t)) {
		t.Error(v)
	}
}

// root is the directory of go.mod.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err == nil {
		_, err = os.Stat(filepath.Join(dir, "go.mod"))
	}
	if err != nil {
		t.Fatalf("the test must run in its own directory: %v", err)
	}
	return dir
}

// sources reads the imports of all Go files of all packages, whatever system and tags they are for.
func sources(t *testing.T) []source {
	t.Helper()
	dir := root(t)
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,GoFiles,CgoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles", "./...")
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, &stderr)
	}
	var files []source
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p struct {
			ImportPath, Dir                                              string
			GoFiles, CgoFiles, IgnoredGoFiles, TestGoFiles, XTestGoFiles []string
		}
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		pkg := strings.TrimPrefix(p.ImportPath, module+"/")
		if matches("build/...", pkg) {
			continue
		}
		for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles, p.TestGoFiles, p.XTestGoFiles) {
			f := source{pkg: pkg, file: path.Join(pkg, name)}
			parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, spec := range parsed.Imports {
				imp, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				f.imports = append(f.imports, imp)
			}
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		t.Fatalf("%v lists no files", cmd)
	}
	return files
}

// The checker must see what it is for: each of these made-up files breaks a rule, or none.
func TestRules(t *testing.T) {
	const m = module + "/"
	for _, c := range []struct {
		pkg, name string
		imp       string
		want      string // part of the complaint; "" if the import is fine
	}{
		{"backend", "a.go", "crypto/sha256", ""},
		{"backend", "a.go", m + "internal/host", "the rule of backend"},
		{"backend", "a.go", "golang.org/x/sys/cpu", "the rule of backend"},
		{"backend", "a_test.go", m + "backend", ""},
		{"backend", "a_test.go", m + "backend/cpu", "the rule of backend"},
		{"backend/cpu", "a.go", m + "backend", ""},
		{"backend/cpu", "a.go", m + "backend/opencl", "the rule of backend/cpu"},
		{"backend/cpu", "a.go", m + "kernels", "the rule of backend/cpu"},
		{"backend/cpu", "a.go", m + "linalg", "the rule of backend/cpu"},
		{"backend/cpu", "a_test.go", m + "backend/backendtest", ""},
		{"backend/opencl", "a.go", m + "backend/opencl/cl", ""},
		{"backend/opencl", "a.go", m + "internal/diskcache", ""},
		{"backend/opencl", "a.go", m + "backend/cpu", "the rule of backend/opencl"},
		{"backend/opencl", "a.go", m + "backend/cuda", "the rule of backend/opencl"},
		{"backend/opencl", "a.go", m + "linalg", "the rule of backend/opencl"},
		{"backend/opencl", "a.go", "github.com/ebitengine/purego", "internal/dl alone"},
		{"backend/opencl", "a_test.go", "github.com/ebitengine/purego", "internal/dl alone"},
		{"backend/opencl/cl", "a.go", m + "backend", "the rule of backend/opencl/cl"},
		{"backend/opencl/cl", "a.go", m + "internal/dl", ""},
		{"backend/cuda", "a.go", m + "backend/cuda/ptxsim", ""},
		{"backend/cuda", "a.go", m + "backend/opencl", "the rule of backend/cuda"},
		{"backend/cuda", "a.go", m + "kernels", "the rule of backend/cuda"},
		{"backend/cuda/ptxsim", "a.go", m + "internal/host", ""},
		{"backend/cuda/ptxsim", "a.go", m + "backend/cuda", "the rule of backend/cuda/ptxsim"},
		{"backend/backendtest", "a.go", m + "conformance", ""},
		{"backend/backendtest", "a.go", m + "backend/cpu", "the rule of backend/backendtest"},
		{"backend/backendtest", "a_test.go", m + "backend/cpu", ""},
		{"backend/new", "a.go", "fmt", "has no rule"},
		{"internal/dl", "a.go", "github.com/ebitengine/purego", ""},
		{"internal/dl", "a.go", m + "backend", "the rule of internal/dl"},
		{"internal/host", "a.go", m + "backend", "the rule of internal/host"},
		{"internal/diskcache", "a.go", m + "internal/dl", "the rule of internal/diskcache"},
		{"kernels", "a.go", m + "internal/host", ""},
		{"kernels", "a.go", m + "linalg", "the rule of kernels"},
		{"kernels", "a.go", m + "backend/cpu", "the rule of kernels"},
		{"kernels", "a.go", m + "internal/diskcache", "the rule of kernels"},
		{"conformance", "a.go", "testing", ""},
		{"conformance", "a.go", m + "linalg", "the rule of conformance"},
		{"linalg", "drivers.go", m + "backend/opencl", ""},
		{"linalg", "session.go", m + "backend/opencl", "the rule of linalg"},
		{"linalg", "session.go", m + "internal/diskcache", "the rule of linalg"},
		{"linalg", "session.go", m + "linalg/gonumblas", "the rule of linalg"},
		{"linalg/gonumblas", "a.go", m + "linalg", ""},
		{"linalg/gonumblas", "drivers.go", m + "backend/cpu", "the rule of linalg/gonumblas"},
		{"cmd/tandem", "a.go", m + "conformance", ""},
		{"cmd/tandem", "a.go", m + "backend/cpu", "the rule of cmd"},
		{"cmd/tandem", "a.go", m + "internal/diskcache", "the rule of cmd"},
		{"cmd/tandem", "a.go", "example.com/other", "the rule of cmd"},
		{"examples/driver", "a.go", m + "backend/opencl", ""},
		{"kernels", "a.go", "C", "no cgo"},
		{"kernels", "a_test.go", "C", "no cgo"},
	} {
		got := violations([]source{{pkg: c.pkg, file: c.pkg + "/" + c.name, imports: []string{"fmt", c.imp}}})
		switch {
		case c.want == "" && len(got) > 0:
			t.Errorf("%s/%s may import %s, but: %q", c.pkg, c.name, c.imp, got)
		case c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)):
			t.Errorf("%s/%s imports %s: complaints %q, want one with %q", c.pkg, c.name, c.imp, got, c.want)
		}
	}
}

// walk calls f for every text file of the repository, with its path from the root.
func walk(t *testing.T, f func(name string, text []byte)) {
	t.Helper()
	dir := root(t)
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if name == ".git" || name == "build" {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil // .git is a file in a work tree
		}
		if !d.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(p)
		if os.IsNotExist(err) {
			return nil // a test of another package cleaned up after itself
		}
		if err != nil {
			return err
		}
		if !bytes.Contains(text[:min(len(text), 8000)], []byte{0}) {
			f(name, text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The words are put together here, so that this file is not found by its own test.
var (
	generatedWords = "Code " + "generated"
	marker         = regexp.MustCompile(`(?m)^// ` + generatedWords + ` .* DO NOT EDIT\.$`)
	claim          = regexp.MustCompile(`(?m)^[ \t]*(//|/\*|#|;)[ \t]*` + generatedWords)
	buildPath      = regexp.MustCompile(`(^|[^\w.-])/(` + "wor" + `k|` + "roo" + `t)/`)
)

// unmarked tells whether a file says that it is generated, but not in the line that tools look for, before its code.
func unmarked(name string, text []byte) bool {
	if path.Ext(name) == ".go" {
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
		if err != nil {
			return false // the compiler will say so
		}
		for _, group := range f.Comments {
			for _, c := range group.List {
				if claim.MatchString(c.Text) {
					return !ast.IsGenerated(f)
				}
			}
		}
		return false
	}
	said := claim.FindIndex(text)
	return said != nil && !marker.Match(text[:endOfLine(text, said[0])])
}

// endOfLine is where the line of text that starts at i ends.
func endOfLine(text []byte, i int) int {
	if n := bytes.IndexByte(text[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(text)
}

func TestGeneratedFiles(t *testing.T) {
	walk(t, func(name string, text []byte) {
		if unmarked(name, text) {
			t.Errorf("%s: the marker must be a line of its own before the code: // %s by PROGRAM. DO NOT EDIT.", name, generatedWords)
		}
	})
}

func TestUnmarked(t *testing.T) {
	good := "// " + generatedWords + " by x. DO NOT EDIT.\n"
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"a.go", "package a\n", false},
		{"a.go", good + "\npackage a\n", false},
		{"a.go", "//go:build x\n\n" + good + "\npackage a\n", false},
		{"a.go", "// " + generatedWords + " by x; do not edit.\n\npackage a\n", true},
		{"a.go", "package a\n\n" + good, true},
		{"a.go", "/* " + generatedWords + " by x. DO NOT EDIT. */\n\npackage a\n", true},
		{"a.go", "package a\n\nconst head = `\n" + good + "`\n", false}, // a generator
		{"a.ptx", good + ".version 4.2\n", false},
		{"a.ptx", "// " + generatedWords + "\n.version 4.2\n", true},
		{"a.s", "# " + generatedWords + " by x. DO NOT EDIT.\n", true},
	} {
		if got := unmarked(c.name, []byte(c.text)); got != c.want {
			t.Errorf("%s with %q: %t, want %t", c.name, c.text, got, c.want)
		}
	}
}

func TestNoBuildPaths(t *testing.T) {
	walk(t, func(name string, text []byte) {
		if at := buildPath.FindIndex(text); at != nil {
			line := 1 + bytes.Count(text[:at[0]], []byte("\n"))
			t.Errorf("%s:%d: %q names a directory of the machine that it was made on", name, line, bytes.TrimSpace(text[at[0]:endOfLine(text, at[1])]))
		}
	})
}

func TestBuildPath(t *testing.T) {
	for text, want := range map[string]bool{
		"see /wor" + "k/main": true, "\"/roo" + "t/go\"": true, "a\n/roo" + "t/x": true,
		"net/wor" + "k/x": false, "https://example.com/roo" + "t/": false, "/works/": false, "wor" + "k/": false,
	} {
		if got := buildPath.MatchString(text); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
}
