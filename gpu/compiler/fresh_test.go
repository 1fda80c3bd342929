package compiler

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/internal/racetest"
)

var freshFiles = map[string]string{
	"k 1.go": `package main

import (
	"math"

	"example.com/user/params"
	"github.com/tandem-gpu/tandem/gpu"
)

const (
	half = 2
	tile = 2 * half
)

type pair struct {
	sum   float32
	count [tile]int32
}

type number interface{ gpu.Number }

type real float32

func (r real) twice() real { return r + r }
func (r real) String() string { return "real" }

var weights = [tile]float32{1, 2, 3, 4}

var factor float32 = 3

var none float32

//tandem:kernel
func add(it gpu.Item, out []pair, in []params.Pair, p params.Pair) {
	i := it.Global(0)
	out[i].sum += weights[i%tile] * factor * float32(in[i].X*params.Scale) + params.Table[i&1] + none
	out[i].sum = float32(math.Sqrt(float64(out[i].sum)))
}

//tandem:kernel real
func twice[T interface{ ~float32; twice() T }](it gpu.Item, out []T) {
	i := it.Global(0)
	out[i] = out[i].twice()
}
`,
	"other.go": `package main

import "fmt"

func other() {}

func main() {
	other()
	fmt.Println(addKernel.Fresh())
}
`,
	"params/params.go": `package params

const Scale = 2

const Unused = 2

type Pair struct { X, Y int32 }

var Table = [2]float32{1, 2}
`,
}

// After an edit that changes what the kernels are, the program says so; after any other it does
// not.
func TestFresh(t *testing.T) {
	racetest.Skip(t, "one goroutine does it")
	t.Parallel()
	dir := newModule(t, freshFiles)
	if err := Write(dir, Options{NoLaunch: true}); err != nil {
		t.Fatal(err)
	}
	run := func(what, want string) {
		t.Helper()
		if out, err := goTool(t, dir, "run", "."); err != nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v\n%s", what, err, out)
		}
	}
	replaced := func(text, from, to string) string {
		t.Helper()
		edited := strings.Replace(text, from, to, 1)
		if edited == text {
			t.Fatalf("no %q in\n%s", from, text)
		}
		return edited
	}
	run("without an edit", "<nil>")
	harmless := maps.Clone(freshFiles)
	for _, e := range []struct{ file, from, to string }{
		{"k 1.go", `return "real"`, `return "a real"`},
		{"k 1.go", "\ttile = ", "\t// of a tile\n\ttile = "},
		{"k 1.go", "gpu.Number }", "~float32 | ~float64 }"}, // that no kernel uses
		{"other.go", "func other() {}", "func other() { other2() }\n\nfunc other2() {}"},
		{"params/params.go", "Unused = 2", "Unused = 3"},
	} {
		harmless[e.file] = replaced(harmless[e.file], e.from, e.to)
		writeFile(t, filepath.Join(dir, e.file), harmless[e.file])
	}
	run("with harmless edits", "<nil>")
	for file, text := range freshFiles {
		writeFile(t, filepath.Join(dir, file), text)
	}
	for _, c := range []struct{ file, from, to, want string }{
		{"k 1.go", "half = 2", "half = 4 / 2", "stale: `const (`"},
		{"k 1.go", "half = 2", "half = 4", "stale: `const (`"},
		{
			"k 1.go", "\tsum   float32\n\tcount [tile]int32\n", "\tcount [tile]int32\n\tsum   float32\n",
			"stale: `type pair struct {`",
		},
		{"k 1.go", "[tile]int32", "[half]int32", "stale: `type pair struct {`"},
		{"k 1.go", "return r + r", "return r + r + r", "stale: `func (r real) twice()"},
		{"k 1.go", "1, 2, 3, 4", "1, 2, 3, 5", "stale: variable weights"},
		{"k 1.go", "//tandem:kernel real", "//tandem:kernel real\n//tandem:group 4", "stale: `func twice"},
		{"k 1.go", "\t\"math\"\n", "\tmath \"example.com/user/params\"\n", "stale: `\"math\"`"},
		{"k 1.go", "var none float32", "var none float32 = 1", "stale: variable none"},
		{"other.go", "\tother()", "\tweights[1] = 7", "stale: variable weights"},
		{"other.go", "\tother()", "\tp := &factor\n\t*p++", "stale: variable factor"},
		{"other.go", "\tother()", "\tnone--", "stale: variable none"},
		{"params/params.go", "Scale = 2", "Scale = 3", "stale: example.com/user/params.Scale is int 3, and was int 2"},
		{"params/params.go", "Scale = 2", "Scale int32 = 2", "Scale is int32 2, and was int 2"},
		{"params/params.go", "X, Y", "Y, X", "stale: example.com/user/params.Pair is struct{Y int32; X int32}"},
		{"params/params.go", "2}\n", "2}\n\nfunc init() { Table[1]++ }\n", "stale: variable params.Table"},
	} {
		name, text := filepath.Join(dir, c.file), freshFiles[c.file]
		if strings.Contains(c.to, "math \"") { // a package that has Sqrt
			extra := filepath.Join(dir, "params", "sqrt.go")
			writeFile(t, extra, "package params\n\nfunc Sqrt(x float64) float64 { return x }\n")
		}
		writeFile(t, name, replaced(text, c.from, c.to))
		run(c.file+" with "+c.to, c.want)
		writeFile(t, name, text)
	}
}

// A variable that changes after a launch is noticed by the next.
func TestChangeBetweenLaunches(t *testing.T) {
	t.Parallel()
	dir := newModule(t, map[string]string{"main.go": `package main

import (
	"errors"
	"fmt"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
)

var weights = [2]float32{1, 2}

var between = func() {}

//tandem:kernel
func fill(it gpu.Item, out []float32) { out[it.Global(0)] = weights[it.Global(0)&1] }

func main() {
	s, err := linalg.Open("cpu")
	if err != nil {
		panic(err)
	}
	out := make([]float32, 2)
	for range 2 {
		err := launchFill(s, backend.Grid1(1, 2), out)
		fmt.Println(out, err, errors.Is(err, backend.ErrBuild))
		between()
	}
}
`})
	if err := Write(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "set.go"), "package main\n\nfunc init() { between = func() { weights[1] = 3 } }\n")
	out, err := goTool(t, dir, "run", ".")
	const want = "[1 2] <nil> false\n[1 2] linalg: kernel fill_kernel: "
	if err != nil || !strings.HasPrefix(out, want) || !strings.Contains(out, "stale: variable weights has") ||
		!strings.HasSuffix(out, " true\n") {
		t.Errorf("%v\n%s", err, out)
	}
}
