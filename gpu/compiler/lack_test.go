package compiler

import (
	"strings"
	"testing"
)

// textOf is the text of the kernels in a package of one file, or why it is refused.
func textOf(t *testing.T, kernels string) (string, error) {
	t.Helper()
	dir := newModule(t, map[string]string{"kernels.go": "package main\n\n" + kernels + "\n\nfunc main() {}\n"})
	list, err := Instances(dir)
	text := ""
	for _, k := range list {
		_, body, _ := strings.Cut(k.Source.Text, "/* "+k.Name)
		text += body
	}
	return text, err
}

// Infinities and NaN take no float64 in kernels of float32.
func TestSpecialsFloat32(t *testing.T) {
	text, err := textOf(t, `import (
	"math"

	"github.com/tandem-gpu/tandem/gpu"
)

var worst = float32(math.Inf(-1))

//tandem:kernel float32
func least[T gpu.Float](it gpu.Item, out, x []T) {
	low := T(math.Inf(1))
	for _, v := range x {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) || math.Signbit(float64(v)) {
			v = T(math.NaN())
		}
		low = max(min(low, v), T(worst))
	}
	out[it.Global(0)] = low
}`)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, "f64") || !strings.Contains(text, "1 / 0.0f") {
		t.Error(text)
	}
}

// An instance has nothing of what its constants leave out, whose problems are told all the same.
func TestLeftOut(t *testing.T) {
	const kernels = `import "github.com/tandem-gpu/tandem/gpu"

type (
	kind interface{ on() bool }
	less struct{}
)

func (less) on() bool { return false }

func wider(x float32) float64 { return float64(x) }

//tandem:kernel less
func twice[K kind](it gpu.Item, k K, out []float32) {
	if !k.on() {
		out[0] = 2
		return
	}
	out[0] = float32(wider(out[1]))/**/
}`
	text, err := textOf(t, kernels)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, "wider") || strings.Contains(text, "if (") {
		t.Error(text)
	}
	_, err = textOf(t, strings.Replace(kernels, "/**/", "\n\tprintln()", 1))
	if err == nil || !strings.Contains(err.Error(), "a kernel has no println") {
		t.Errorf("of what is left out: %v", err)
	}
}

// A kernel that takes more local memory or larger groups than many devices have is a warning with
// its place.
func TestWarnings(t *testing.T) {
	dir := newModule(t, map[string]string{"kernels.go": `package main

import "github.com/tandem-gpu/tandem/gpu"

func main() {}

//tandem:kernel float32 float64
func wide[T gpu.Float](it gpu.Item, out []T) {
	s, t := gpu.Local[[6144]T](it), gpu.Local[[6143]T](it)
	s[it.Local(0)], t[it.Local(0)] = 1, T(it.Local(0))
	it.Barrier()
	out[it.Global(0)] = s[0] + t[0]
}

//tandem:kernel float32 float64
func agreed[T gpu.Float](it gpu.Item, out []T) {
	s := gpu.Local[[6144]T](it)
	s[it.Local(0)] = 1
	out[it.Global(0)] = gpu.Uniform(it, s[0])
}

//tandem:kernel
//tandem:group 512 2
func fits(it gpu.Item, out []int32) { out[it.Global(0)] = 1 }

//tandem:kernel
//tandem:group 4096
func large(it gpu.Item, out []int32) { out[it.Global(0)] = 1 }

//tandem:kernel
func long(it gpu.Item, out []int32) { out[0] = last(131072) }

func last(n int) int32 {
	var x [131073]int32
	x[n] = 3
	return x[131072]
}
`})
	var log strings.Builder
	_, err := Compile(dir, Options{Log: &log})
	got := strings.Split(strings.TrimSpace(log.String()), "\n")
	if err != nil || len(got) != 4 {
		t.Fatalf("%v, warnings %q", err, got)
	}
	for i, want := range []string{
		"kernels.go:8:6: warning: wide[float64] takes 98296 bytes of local memory",
		"kernels.go:16:6: warning: agreed[float64] takes 49160 bytes",
		"kernels.go:28:6: warning: large has groups of 4096 work-items, and most devices take at most 1024",
		"kernels.go:31:6: warning: long has a variable of 524292 bytes, and GPUs give a work-item 524288 in all",
	} {
		if !strings.Contains(got[i], want) {
			t.Errorf("warning %q, want %q", got[i], want)
		}
	}
}
