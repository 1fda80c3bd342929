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
