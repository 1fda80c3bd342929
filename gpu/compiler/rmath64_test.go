package compiler

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const rmath64Kernel = `package main

import (
	"fmt"
	"math"

	"github.com/tandem-gpu/tandem/backend"
	_ "github.com/tandem-gpu/tandem/backend/cudasim"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
	"github.com/tandem-gpu/tandem/rmath"
)

//tandem:kernel
func all(it gpu.Item, out, x []float64) {
	n := len(x)
	for i := it.Global(0); i < n; i += it.GlobalSize(0) {
CALLS
	}
}

const functions = COUNT

func main() {
	x := []float64{0, math.Copysign(0, -1), 1, -1, math.NaN(), math.Inf(1), math.Inf(-1)}
	for i := range uint64(100) {
		x = append(x, math.Float64frombits(i*0x9e3779b97f4a7c15), (float64(i)-50)/3, (float64(i)-50)/50,
			(float64(i)-50)*7.1)
	}
	grid := backend.Grid1(4, 64)
	want := make([]float64, functions*len(x))
	gpu.Run(grid, func(it gpu.Item) { all(it, want, x) })
	for _, spec := range []string{"cpu", "opencl", "cudasim"} {
		s, err := linalg.Open(spec)
		if err != nil {
			fmt.Println(err)
			continue
		}
		got := make([]float64, len(want))
		for i := range got {
			got[i] = -12345
		}
		if err := launchAll(s, grid, got, x); err != nil {
			fmt.Println(spec, err)
		}
		for i, y := range got {
			if math.Float64bits(y) != math.Float64bits(want[i]) && (y == y || want[i] == want[i]) {
				fmt.Printf("%s: function %d of %v: %v, want %v\n", spec, i/len(x), x[i%len(x)], y, want[i])
			}
		}
	}
	fmt.Println("done")
}
`

// Kernels call every function of package rmath, and have the bits that plain Go has.
func TestElementaryFunctions64(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs programs on the simulated GPU")
	}
	var calls []string
	files, err := filepath.Glob("../../rmath/*.go")
	if err != nil {
		t.Fatal(err)
	}
	exported := regexp.MustCompile(`(?m)^func ([A-Z]\w*)\((x|x, y|y, x) float64\) float64 {`)
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, m := range exported.FindAllSubmatch(text, -1) {
			args := "x[i]"
			if len(m[2]) > 1 {
				args = "x[i], x[(i*7+1)%n]"
			}
			calls = append(calls, fmt.Sprintf("\t\tout[%d*n+i] = rmath.%s(%s)", len(calls), m[1], args))
		}
	}
	if len(calls) < 10 {
		t.Fatalf("only %d functions", len(calls))
	}
	// Ldexp and Frexp take or give an int.
	calls = append(calls, "\t\tf, e := rmath.Frexp(x[i])",
		fmt.Sprintf("\t\tout[%d*n+i] = rmath.Ldexp(f, e*2)", len(calls)))
	replacer := strings.NewReplacer("CALLS", strings.Join(calls, "\n"), "COUNT", fmt.Sprint(len(calls)-1))
	dir := newModule(t, map[string]string{"main.go": replacer.Replace(rmath64Kernel)})
	if err := Write(dir, Options{PTX: Clang()}); err != nil {
		t.Fatal(err)
	}
	if out, err := goTool(t, dir, "run", "."); err != nil || out != "done\n" {
		t.Errorf("%v\n%.3000s", err, out)
	}
}
