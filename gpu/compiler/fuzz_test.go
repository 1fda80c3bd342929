package compiler

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/gpu/compiler/internal/front"
	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ir"
	"github.com/tandem-gpu/tandem/internal/racetest"
)

var mutants = flag.Int("mutants", 60, "how many `mutated` packages TestMutants compiles")

const depsFile = `package main

import (
	_ "embed"
	_ "fmt"
	_ "math"
	_ "math/bits"
	_ "sync"
	_ "unsafe"

	_ "github.com/tandem-gpu/tandem/backend"
	_ "github.com/tandem-gpu/tandem/gpu/support"
	_ "github.com/tandem-gpu/tandem/gpu/launch"
	_ "github.com/tandem-gpu/tandem/linalg"
	_ "github.com/tandem-gpu/tandem/rmath/f32"
)

func main() {}
`

// A mutator compiles changed packages.
type mutator struct {
	loader *front.Loader
	tokens []string // of the package that is changed
	name   string
	good   int
}

func newMutator(t testing.TB, kernels string) *mutator {
	dir := newModule(t, map[string]string{"kernels.go": kernels, "deps.go": depsFile})
	t.Setenv("GOFLAGS", "-mod=mod")
	l, err := front.NewLoader(dir, FileName)
	if err != nil {
		t.Fatal(err)
	}
	m := &mutator{loader: l, name: filepath.Join(l.Root.Dir, "kernels.go")}
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(kernels)), []byte(kernels), nil, scanner.ScanComments)
	for {
		_, tok, lit := s.Scan()
		if tok == token.EOF {
			return m
		}
		if tok == token.COMMENT {
			lit += "\n"
		} else if lit == "" {
			lit = tok.String()
		}
		m.tokens = append(m.tokens, lit)
	}
}

// mutate changes a few tokens: for others of the file, twice, away, or in another order.
func (m *mutator) mutate(r *rand.Rand) string {
	list := append([]string(nil), m.tokens...)
	for range 1 + r.IntN(3) {
		i, j := r.IntN(len(list)), r.IntN(len(list))
		switch r.IntN(6) {
		case 0:
			list = append(list[:i], list[i+1:]...)
		case 1:
			list[i], list[j] = list[j], list[i]
		case 2:
			list[i] = list[i] + " " + list[i]
		default:
			for class(list[i]) != class(list[j]) {
				j = r.IntN(len(list))
			}
			list[i] = list[j]
		}
	}
	return strings.Join(list, " ")
}

// class is what kind of token s is: a name, a number, or one of the operators.
func class(s string) int {
	switch {
	case token.IsIdentifier(s):
		return 0
	case '0' <= s[0] && s[0] <= '9':
		return 1
	case token.IsKeyword(s) || strings.ContainsAny(s, "(){}[];,:\n\""):
		return int(s[0])
	}
	return 2
}

// compile compiles text; what comes of it must compile.
func (m *mutator) compile(t testing.TB, text string, o Options) {
	for _, err := range m.errors(t, text, o) {
		os.WriteFile(filepath.Join(os.TempDir(), "mutant.go"), []byte(text), 0o644)
		t.Errorf("the generated file does not compile: %v", err)
	}
}

// errors compiles text, and gives what the Go compiler would say of the result.
func (m *mutator) errors(t testing.TB, text string, o Options) (list []error) {
	o.NoNative = true // its package would have to be there
	l := m.loader
	l.Overlay = map[string][]byte{m.name: []byte(text)}
	l.Fset, l.Source = token.NewFileSet(), map[string]bool{}
	defer func() {
		if v := recover(); v != nil {
			os.WriteFile(filepath.Join(os.TempDir(), "mutant.go"), []byte(text), 0o644)
			t.Fatalf("the compiler panics: %v (see mutant.go in %s)", v, os.TempDir())
		}
	}()
	out, err := compileLoaded(l, o)
	if err != nil {
		if _, ok := err.(ir.Problems); !ok && !strings.Contains(err.Error(), "has no kernels") {
			if _, ok := err.(scanner.ErrorList); !ok {
				os.WriteFile(filepath.Join(os.TempDir(), "mutant.go"), []byte(text), 0o644)
				t.Errorf("a mistake of the compiler: %v", err)
			}
		}
		return nil
	}
	m.good++
	files := append([]*ast.File(nil), l.Loaded[l.Root.ImportPath].Files...)
	generated, err := parser.ParseFile(l.Fset, FileName, out.text, 0)
	if err != nil {
		t.Fatal(err)
	}
	config := types.Config{Importer: l, Error: func(err error) { list = append(list, err) }}
	config.Check(l.Root.ImportPath, l.Fset, append(files, generated), nil)
	return list
}

func corpus(t testing.TB) []string {
	text, err := os.ReadFile(filepath.Join("testdata", "semantics", "kernels.go"))
	if err != nil {
		t.Fatal(err)
	}
	g := &generator{r: rand.New(rand.NewPCG(3, 4))}
	return []string{string(text), g.file(4)}
}

// Packages with a few tokens changed never make the compiler panic, nor write a file that does not
// compile.
func TestMutants(t *testing.T) {
	racetest.Skip(t, "one goroutine does it")
	for i, text := range corpus(t) {
		m := newMutator(t, text)
		for n := range *mutants {
			var o Options
			if n%50 == 49 {
				o.PTX = Clang()
			}
			m.compile(t, m.mutate(rand.New(rand.NewPCG(*seed, uint64(n)))), o)
			if t.Failed() {
				t.Fatalf("corpus %d, mutant %d", i, n)
			}
		}
		if t.Logf("%d of %d mutants compile", m.good, *mutants); m.good < *mutants/20 {
			t.Errorf("only %d of %d mutants compile: the test shows little", m.good, *mutants)
		}
	}
}

func FuzzCompile(f *testing.F) {
	m := newMutator(f, corpus(f)[0])
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) { m.compile(t, m.mutate(rand.New(rand.NewPCG(a, b))), Options{}) })
}
