package compiler

import (
	"go/build"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/internal/racetest"
)

// Packages whose names meet those that the generated file needs: what is written builds.
func TestNames(t *testing.T) {
	racetest.Skip(t, "one goroutine does it")
	const head = "package main\n\nimport (\n\t\"github.com/tandem-gpu/tandem/backend\"\n" +
		"\t\"github.com/tandem-gpu/tandem/gpu\"\n)\n\nvar _ backend.Grid\n\nfunc main() {}\n"
	packages := map[string]map[string]string{
		"universe": {"k.go": head + `
func min(a, b int) int { return a - b }

func max(a, b float32) float32 { return 1 }

type real struct{ x, y float32 }

//tandem:kernel
func k(it gpu.Item, out []real, in []int) {
	for i := it.Global(0); i < len(out); i += it.GlobalSize(0) {
		out[i].x, out[i].y = float32(min(in[i], 2)), max(2, 3)
	}
}
`},
		"kernelmin": {"k.go": head + `
//tandem:kernel
func min(it gpu.Item, out []int) {
	for i := it.Global(0); i < len(out); i += it.GlobalSize(0) {
		out[i] = max(i, 3)
	}
}
`},
		"instances": {"k.go": head + `
//tandem:kernel float32 float64
func add[T gpu.Float](it gpu.Item, out []T) { out[0]++ }

//tandem:kernel
func addFloat32(it gpu.Item, out []float32) { out[0]++ }

//tandem:kernel
func addKernels(it gpu.Item, out []float32) { out[0]++ }

//tandem:kernel int32,int64
func sub[A, B gpu.Integer](it gpu.Item, out []A, x []B) { out[0] -= A(x[0]) }

//tandem:kernel int64
func sub_int32[A gpu.Integer](it gpu.Item, out []A) { out[0]-- }

func addFloat64Go() {}

var kernelsText, kernelsFresh, addFloat64Plain int

var _ = launchAdd[float32, []float32]
`},
		"letters": {"k.go": head + `
//tandem:kernel
func état(it gpu.Item, out []float32) { out[0] = 1 }

//tandem:kernel
func u00e9tat(it gpu.Item, out []float32) { out[0] = 2 }

//tandem:kernel
func 世界(it gpu.Item, out []float32) { out[0] = 3 }

//tandem:kernel
func init_(it gpu.Item, out []float32) { out[0] = 4 }

var _, _, _ = launchÉtat[[]float32], launch世界[[]float32], launchInit_[[]float32]
`},
		"imports": {
			"k.go": `package main

import (
	gpus "github.com/tandem-gpu/tandem/gpu"

	"example.com/user/imports/grid"
	m "example.com/user/imports/math"
	other "example.com/user/imports/other/math"
	"example.com/user/imports/params"
)

type (
	it   struct{ a float32 }
	args struct{ b float32 }
	s    float64
	arg3 int64
	call int64
)

func bits() {}

var math, support, linalg, backend, embed, gpu int

//tandem:kernel
func lo(item gpus.Item, x []m.T, params []params.T, y []other.T, z grid.T, a it, b args, c s, d []call, e arg3) {
	x[0].A += float32(y[0].B + z.C*params[0].D) * a.a * b.b + gpus.FMA(float32(c), 2, float32(d[0])) + float32(e)
}

//tandem:kernel
func hi(item gpus.Item, x []s, m gpus.Matrix[float32]) { x[0] = s(gpus.FMA(float32(x[0]), 2, m.At(0, 0))) }

func main() {}
`,
			"math/m.go":       "package math\n\ntype T struct{ A float32 }\n",
			"other/math/m.go": "package math\n\ntype T struct{ B float64 }\n",
			"grid/g.go":       "package grid\n\ntype T struct{ C float64 }\n",
			"params/p.go":     "package params\n\ntype T struct{ D float64 }\n",
		},
		"types": {"k.go": head + `
type T float32

type grid int32

//tandem:kernel T
func k[backend gpu.Float](it gpu.Item, out []backend, x backend) { out[0] += x }

//tandem:kernel T float64
func l[T gpu.Float](it gpu.Item, out gpu.Matrix[T], x T) { out.Set(0, 0, x) }

//tandem:kernel grid,T
func m[s gpu.Integer, call gpu.Float](it gpu.Item, out []s, x call, grid s, lo s) { out[0] += s(x) + grid + lo }
`},
		"tables": {"k.go": head + `
var a, b [4]int8

var flag, none = true, false

var zero float32

//tandem:kernel
func k(it gpu.Item, out []int8, f []float32) {
	if flag && !none {
		out[0] = a[f32(f)&3] + b[1]
	}
}

func f32(f []float32) int { return int(f[0] + zero) }
`},
		"space": {"a kernel [1].go": head + `
//tandem:kernel
func k(it gpu.Item, out []float32) { out[0] = 1 }
`},
		"line": {"k.go": head + `
//line grammar.y:10
//tandem:kernel
func k(it gpu.Item, out []float32) {
	out[0] = 1
//line other/grammar.y:100
	out[1] = 1
}
`},
		"system": {
			"k_linux.go": "//go:build amd64 || arm64\n\n" + head + `
//tandem:kernel
func k(it gpu.Item, out []float32) { out[0] = f() }
`,
			"f.go":         "//go:build !plan9\n\npackage main\n\nfunc f() float32 { return 2 }\n",
			"k_windows.go": "package main\n\nfunc main() {}\n",
		},
		"cgo": {
			"k.go": head + `
//tandem:kernel
func k(it gpu.Item, out []float32) { out[0] = f() }
`,
			"c.go": "package main\n\n// int one(void) { return 1; }\nimport \"C\"\n\n" +
				"func f() float32 { return 2 }\n\nfunc g() int { return int(C.one()) }\n\nvar _ = g\n",
		},
	}
	if _, err := exec.LookPath("cc"); err != nil || !build.Default.CgoEnabled {
		delete(packages, "cgo")
	}
	files := map[string]string{}
	for name, list := range packages {
		for file, text := range list {
			files[filepath.Join(name, file)] = text
		}
	}
	dir := newModule(t, files)
	for name := range packages {
		if err := Write(filepath.Join(dir, name), Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if err := Check(filepath.Join(dir, name), Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		list, err := Instances(filepath.Join(dir, name))
		entries := map[string]string{}
		for _, k := range list {
			if other := entries[k.Source.Name]; other != "" {
				t.Errorf("%s: %s and %s are both %s", name, other, k.Name, k.Source.Name)
			}
			entries[k.Source.Name] = k.Name
		}
		if err != nil || len(list) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if out, err := goTool(t, dir, "vet", "./..."); err != nil {
		t.Error(err, out)
	}
	t.Setenv("GOOS", "windows")
	if out, err := goTool(t, dir, "list", "-f", "{{.GoFiles}}", "./system"); out != "[f.go k_windows.go]\n" {
		t.Errorf("on Windows: %v %s", err, out)
	}
}

// A map's result may have a name, and its package a min of its own, which is not Go's.
func TestMapNames(t *testing.T) {
	dir := newModule(t, map[string]string{"main.go": `package main

import (
	"fmt"

	"github.com/tandem-gpu/tandem/linalg"
)

func min(a, b int) int { return a }

//tandem:map
func less(x int32) (r int32) {
	r = x - int32(min(1, 0))
	return
}

func main() {
	s, err := linalg.Open("cpu")
	if err != nil {
		panic(err)
	}
	x := make([]int32, 1030) // more than a group takes at a time
	fmt.Println(launchLess(s, x, x), x[0], x[1029], s.Close())
}
`})
	if err := Write(dir, Options{NoPTX: true}); err != nil {
		t.Fatal(err)
	}
	if got, err := goTool(t, dir, "run", "."); err != nil || got != "<nil> -1 -1 <nil>\n" {
		t.Errorf("it prints %s%v", got, err)
	}
}

// Names that the kernel of a map hides are refused where they stand, and so are two results.
func TestMapNamesRefused(t *testing.T) {
	dir := newModule(t, map[string]string{"main.go": `package main

//tandem:map
func end(x float32) float32 { return x }

//tandem:map float32
func local[z ~float32](x z) z { return x }

//tandem:map
func two(x float32) (a, b float32) { return x, x }
`})
	_, err := Compile(dir, Options{})
	for _, want := range []string{
		"main.go:4:6: the kernel of a map has variables", "main.go:7:6: the kernel of a map has variables",
		"main.go:10:6: a map gives one element",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Compile gives %v, want %s", err, want)
		}
	}
}

// A map's types may be of a package whose path ends in a version, and of one that is imported with
// a dot.
func TestMapImports(t *testing.T) {
	dir := newModule(t, map[string]string{
		"kinds/v2/kinds.go": "package kinds\n\ntype Real interface{ float32 | float64 }\n",
		"maps.go": `package maps

import (
	"math"

	. "github.com/tandem-gpu/tandem/gpu"

	"example.com/user/kinds/v2"
)

//tandem:map float32
func twice[T kinds.Real](x T) T { return x + x }

//tandem:map int32
func thrice[T Integer](x T) T { return 3 * x }

//tandem:map
func root(x float64) float64 { return math.Sqrt(x) }
`,
	})
	if err := Write(dir, Options{NoLaunch: true}); err != nil {
		t.Error(err)
	}
}
