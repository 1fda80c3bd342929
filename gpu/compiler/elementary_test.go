package compiler

import (
	"strings"
	"testing"
)

// Go on the cpu device calls elementary functions where they are, whatever the package calls its
// own; those with an int are printed.
func TestElementaryCalls(t *testing.T) {
	dir := newModule(t, map[string]string{"main.go": `package main

import (
	"github.com/tandem-gpu/tandem/gpu"
	math64 "github.com/tandem-gpu/tandem/rmath"
)

var rmath, f32 struct{ Exp, Ldexp int }

//tandem:kernel float32 float64
func k[T gpu.Float](it gpu.Item, x []T) { x[0] = gpu.Exp(x[0]) + T(math64.Ldexp(math64.Exp(2), it.Global(0))) }

func main() { _, _ = rmath, f32 }
`})
	out, err := compile(dir, Options{NoLaunch: true, NoNative: true})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir+"/"+FileName, string(out.text))
	writeFile(t, dir+"/"+PTXName, "")
	if out, err := goTool(t, dir, "vet", "."); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for want, count := range map[string]int{
		"gpu_f32.Exp(": 1, "gpu_rmath.Exp(": 3, "func gpu_Exp": 0, "func gpu_Ldexp(": 1,
	} {
		if got := strings.Count(string(out.text), want); got != count {
			t.Errorf("%q is there %d times, want %d", want, got, count)
		}
	}
}
