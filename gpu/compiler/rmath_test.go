package compiler

import (
	"bytes"
	"fmt"
	"os"
	"path"
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
	"github.com/tandem-gpu/tandem/PATH"
)

//tandem:kernel
func all(it gpu.Item, out, x []TYPE) {
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
	x := []TYPE{0, 1, -1}
	for _, v := range []float64{math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1)} {
		x = append(x, TYPE(v))
	}
	INPUTS
	grid := backend.Grid1(4, 64)
	want := make([]TYPE, functions*len(x))
	gpu.Run(grid, func(it gpu.Item) { all(it, want, x) })
	for _, spec := range []string{"cpu", "opencl", "cudasim"} {
		s, err := linalg.Open(spec)
		if err != nil {
			fmt.Println(err)
			continue
		}
		check[float32](s)
		check[float64](s)
		got := make([]TYPE, len(want))
		for i := range got {
			got[i] = -12345
		}
		if err := launchAll(s, grid, got, x); err != nil {
			fmt.Println(spec, err)
		}
		for i, y := range got {
			if math.BITS(y) != math.BITS(want[i]) && (y == y || want[i] == want[i]) {
				fmt.Printf("%s: function %d of %v: %v, want %v\n", spec, i/len(x), x[i%len(x)], y, want[i])
			}
		}
	}
	fmt.Println("done")
}
`

// An rmathCase is a package of elementary functions, and what they are computed of.
type rmathCase struct{ path, typ, bits, inputs string }

// Kernels call every function of packages f32 and rmath, and have the bits that plain Go has. A
// device without float64 refuses those of f32 by name.
func TestElementaryFunctions(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs programs on the simulated GPU")
	}
	for _, c := range []rmathCase{
		{"rmath/f32", "float32", "Float32bits", `for i := range uint32(1000) {
		x = append(x, math.Float32frombits(i*0x41c64e6d), (float32(i)-500)/16)
	}`},
		{"rmath", "float64", "Float64bits", `for i := range uint64(100) {
		x = append(x, math.Float64frombits(i*0x9e3779b97f4a7c15), (float64(i)-50)/3, (float64(i)-50)/50,
			(float64(i)-50)*7.1)
	}`},
	} {
		t.Run(c.typ, func(t *testing.T) {
			t.Parallel()
			c.test(t)
		})
	}
}

func (c *rmathCase) test(t *testing.T) {
	pkg := path.Base(c.path)
	calls := []string{
		"\t\tout[i] = " + pkg + ".Ldexp(x[i], i%601-300)",
		"\t\tfrac, exp := " + pkg + ".Frexp(x[i])",
		"\t\tout[n+i] = frac",
		"\t\tout[2*n+i] = " + c.typ + "(exp)",
	}
	rows := 3
	var names []string
	files, err := filepath.Glob("../../" + c.path + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	exported := regexp.MustCompile(`(?m)^func ([A-Z]\w*)\((x|x, y|y, x) ` + c.typ + `\) ` + c.typ + ` {`)
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
			calls = append(calls, fmt.Sprintf("\t\tout[%d*n+i] = %s.%s(%s)", rows, pkg, m[1], args))
			rows++
			if !exact.Match(m[1]) {
				names = append(names, "f32."+string(m[1]))
			}
		}
	}
	if rows < 30 {
		t.Fatalf("only %d functions", rows)
	}
	replacer := strings.NewReplacer("CALLS", strings.Join(calls, "\n"), "COUNT", fmt.Sprint(rows), "PATH", c.path,
		"TYPE", c.typ, "BITS", c.bits, "INPUTS", c.inputs)
	dir := newModule(t, map[string]string{"main.go": replacer.Replace(rmathKernel)})
	if err := Write(dir, Options{PTX: Clang()}); err != nil {
		t.Fatal(err)
	}
	if out, err := goTool(t, dir, "run", "."); err != nil || out != "done\n" {
		t.Errorf("%v\n%.3000s", err, out)
	}
	if c.typ == "float32" {
		wantRefusal(t, filepath.Join(dir, FileName), names)
	}
}

// wantRefusal looks for the names of the functions for which the text refuses a device.
func wantRefusal(t *testing.T, file string, names []string) {
	t.Helper()
	generated, err := os.ReadFile(file)
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
