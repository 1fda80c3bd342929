package compiler

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const rmathKernel = `package main

import (
	"fmt"
	"math"

	"github.com/tandem-gpu/tandem/backend"
	_ "github.com/tandem-gpu/tandem/backend/cudasim"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
	"github.com/tandem-gpu/tandem/rmath/f32"
)

//tandem:kernel
func all(it gpu.Item, out, x []float32) {
	n := len(x)
	for i := it.Global(0); i < n; i += it.GlobalSize(0) {
CALLS
	}
}

const functions = COUNT

// generic calls the functions that choose by type.
//
//tandem:kernel float32 float64
func generic[T gpu.Float](it gpu.Item, y, x []T) {
	for i := it.Global(0); i < len(x); i += it.GlobalSize(0) {
		y[i] = gpu.Exp(x[i]) + gpu.Atan2(x[i], gpu.Floor(2*x[i]))
	}
}

func check[T float32 | float64](s *linalg.Session) {
	x, got, want := make([]T, 500), make([]T, 500), make([]T, 500)
	for i := range x {
		x[i] = T(i-250) / 7
	}
	grid := backend.Grid1(2, 64)
	gpu.Run(grid, func(it gpu.Item) { generic(it, want, x) })
	if err := launchGeneric[T](s, grid, got, x); err != nil {
		fmt.Println(err)
	}
	for i := range x {
		if got[i] != want[i] {
			fmt.Printf("%T %v: %v, want %v\n", x[i], x[i], got[i], want[i])
		}
	}
}

func main() {
	x := []float32{0, float32(math.Copysign(0, -1)), 1, -1}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		x = append(x, float32(v))
	}
	for i := range uint32(1000) {
		x = append(x, math.Float32frombits(i*0x41c64e6d), (float32(i)-500)/16)
	}
	grid := backend.Grid1(4, 64)
	want := make([]float32, functions*len(x))
	gpu.Run(grid, func(it gpu.Item) { all(it, want, x) })
	for _, spec := range []string{"cpu", "opencl", "cudasim"} {
		s, err := linalg.Open(spec)
		if err != nil {
			fmt.Println(err)
			continue
		}
		check[float32](s)
		check[float64](s)
		got := make([]float32, len(want))
		for i := range got {
			got[i] = -12345
		}
		if err := launchAll(s, grid, got, x); err != nil {
			fmt.Println(spec, err)
		}
		for i, y := range got {
			if math.Float32bits(y) != math.Float32bits(want[i]) && (y == y || want[i] == want[i]) {
				fmt.Printf("%s: function %d of %v: %v, want %v\n", spec, i/len(x), x[i%len(x)], y, want[i])
			}
		}
	}
	fmt.Println("done")
}
`

// Kernels call every function of package f32, and have the bits that plain Go has. A device without
// float64 refuses them by name.
func TestElementaryFunctions(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs programs on the simulated GPU")
	}
	calls := []string{
		"\t\tout[i] = f32.Ldexp(x[i], i%601-300)",
		"\t\tfrac, exp := f32.Frexp(x[i])",
		"\t\tout[n+i] = frac",
		"\t\tout[2*n+i] = float32(exp)",
	}
	rows := 3
	var names []string
	files, err := filepath.Glob("../../rmath/f32/*.go")
	if err != nil {
		t.Fatal(err)
	}
	exported := regexp.MustCompile(`(?m)^func ([A-Z]\w*)\((x|x, y|y, x) float32\) float32 {`)
	exact := regexp.MustCompile(`^(Trunc|Floor|Ceil|Round|RoundToEven|Mod)$`) // need no float64
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
				args = "x[i], x[(7*i+i/7)%n]"
			}
			calls = append(calls, fmt.Sprintf("\t\tout[%d*n+i] = f32.%s(%s)", rows, m[1], args))
			rows++
			if !exact.Match(m[1]) {
				names = append(names, "f32."+string(m[1]))
			}
		}
	}
	if rows < 30 {
		t.Fatalf("only %d functions", rows)
	}
	replacer := strings.NewReplacer("CALLS", strings.Join(calls, "\n"), "COUNT", fmt.Sprint(rows))
	text := replacer.Replace(rmathKernel)
	dir := newModule(t, map[string]string{"main.go": text})
	if err := Write(dir, Options{PTX: Clang()}); err != nil {
		t.Fatal(err)
	}
	if out, err := goTool(t, dir, "run", "."); err != nil || out != "done\n" {
		t.Errorf("%v\n%.3000s", err, out)
	}
	generated, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	refusal := regexp.MustCompile(`(?m)^#error (.*): needs float64, which this device does not have$`)
	message := refusal.FindSubmatch(generated)
	if message == nil {
		t.Fatal("the text does not refuse devices without float64")
	}
	for _, name := range names {
		if !bytes.Contains(message[1], []byte(name)) {
			t.Errorf("%q does not name %s", message[0], name)
		}
	}
}
