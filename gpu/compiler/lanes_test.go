package compiler

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/gpu/compiler/internal/front"
	"github.com/tandem-gpu/tandem/gpu/compiler/internal/lanes"
)

// What strips of lanes do not have runs as Go; everything else has machine code.
func TestLanes(t *testing.T) {
	for _, c := range []struct{ name, body, why string }{
		{"neighbours", "if i < len(x) {\n\tx[i] *= 2\n}", ""},
		{"gather", "x[i] = x[int(x[i])&7]", ""},
		{"a slice for each", "y := x[i:]\n\tx[i] = y[0] + float32(len(y))", ""},
		{"an array for each", "var a [4]float32\n\tb := a[:]\n\tb[i&3] = x[i]\n\tx[i] = sum(b)", ""},
		{
			"a row of a table",
			"n := int(x[i])\n\tfor j := 0; j < n; j++ {\n\t\tif x[i+n*j] > 2 {\n" +
				"\t\t\tx[n*i+j+1] = min(x[n*i+j], x[n*i+j+1]) + 1\n\t\t}\n\t}",
			"a loop over elements of each work-item's own",
		},
		{
			"a sparse row",
			"s := float32(0)\n\tfor j := int(x[i]); j < int(x[i+1]); j++ {\n" +
				"\t\ts += x[j] * x[int(x[j])]\n\t}\n\tx[i] = s",
			"a loop over elements of each work-item's own",
		},
		{
			"a sparse row with conditions",
			"s := float32(0)\n\tfor j := int(x[i]); j < int(x[i+1]); j++ {\n\t\tif x[j] < 9 {\n" +
				"\t\t\ts += x[j] * x[int(x[j])]\n\t\t}\n\t}\n\tx[i] = s",
			"",
		},
		{
			"a part of an array", "var a [4]float32\n\tx[i] = sum(a[1:])",
			"a slice of an array that each work-item has for itself",
		},
		{
			"two arrays", "var a, b [4]float32\n\tc := a[:]\n\tc = b[:]\n\tx[i] = sum(c)",
			"a slice of several arrays",
		},
		{
			"much memory", "t := gpu.Local[[1 << 20]float32](it)\n\tt[i] = 1\n\tx[i] = t[i]",
			"4194304 bytes of local memory",
		},
		{"functions that call the next twice", "x[i] = f9(x[i])", ""},
		{
			"functions that call the next twice, too deep", "x[i] = f29(x[i])",
			"over 20000 statements, with functions in place of their calls",
		},
	} {
		text := "package main\n\nimport \"github.com/tandem-gpu/tandem/gpu\"\n\n" +
			"func sum(x []float32) (s float32) {\n\tfor _, v := range x {\n\t\ts += v\n\t}\n\treturn s\n}\n\n" +
			callTwice(30) + "//tandem:kernel\nfunc k(it gpu.Item, x []float32) {\n\ti := it.Global(0)\n\t" + c.body +
			"\n}\n\nfunc main() {}\n"
		dir := newModule(t, map[string]string{"main.go": text})
		loader, err := front.NewLoader(dir, FileName)
		if err != nil {
			t.Fatal(err)
		}
		err = loader.Lower(func(l *front.Lowerer, _ *front.Package, kernels []*front.KernelDecl) error {
			n := kernels[0].Instances[0]
			native, err := lanes.Text(n, l.Program)
			if c.why == "" && (err != nil || !strings.Contains(native, "KERNEL(k_kernel)")) {
				t.Errorf("%s: %v", c.name, err)
			}
			if c.why != "" && (err == nil || err.Error() != c.why) {
				t.Errorf("%s: %v, want %s", c.name, err, c.why)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// callTwice is functions f0 to f(n-1), each of which calls the one before twice.
func callTwice(n int) string {
	text := "func f0(x float32) float32 {\n\treturn x + 1\n}\n\n"
	for i := 1; i < n; i++ {
		text += fmt.Sprintf("func f%d(x float32) float32 {\n\treturn f%d(x) + f%d(-x)\n}\n\n", i, i-1, i-1)
	}
	return text
}
