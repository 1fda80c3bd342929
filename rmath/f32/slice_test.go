package f32

import (
	"flag"
	"math"
	"strconv"
	"strings"
	"testing"
)

var every = flag.Bool("every", false, "compare vector functions with scalar ones for all 2^32 arguments")

// Slices have the bits of the scalar functions, whatever lies side by side in them. With -every,
// -run 'TestApply/Exp$' compares one function for all arguments, in a minute or two.
func TestApply(t *testing.T) {
	for _, d := range definitions {
		t.Run(d.name, func(t *testing.T) { d.apply(t) })
	}
}

func (d *definition) apply(t *testing.T) {
	x, y := make([]float32, 1<<16), make([]float32, 1<<16)
	check := func(y, x []float32) {
		t.Helper()
		want := make([]float32, len(x))
		for i := range x {
			want[i] = d.f(x[i])
		}
		Apply(d.f, y, x)
		for i := range y {
			if !sameBits(y[i], want[i]) {
				t.Fatalf("element %d is %v in a slice, want %v", i, y[i], want[i])
			}
		}
	}
	for block := range uint32(1 << 16) {
		if !*every && block%8191 != 0 {
			continue
		}
		for i := range x {
			x[i] = math.Float32frombits(block<<16 | uint32(i))
		}
		check(y, x)
	}
	for i := range x { // all kinds of arguments beside each other
		x[i] = math.Float32frombits(uint32(i) * 0x9e3779b1)
	}
	check(y, x)
	for i := range x { // few that are treated apart
		x[i] = float32(i%5000)/100 + 0.001
	}
	for i, h := range hardArguments(t, d.name) {
		x[100*i] = h
	}
	check(y, x)
	for n := range 10 {
		check(y[:n], x[:n])
	}
	check(x, x)
}

func hardArguments(t *testing.T, name string) (x []float32) {
	for _, line := range readLines(t, hardFile) {
		if c := strings.Fields(line); c[0] == name {
			bits, err := strconv.ParseUint(c[1], 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			x = append(x, math.Float32frombits(uint32(bits)))
		}
	}
	return x
}

func TestApplyPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("slices of different lengths are taken")
		}
	}()
	Apply(Sin, make([]float32, 3), make([]float32, 4))
}
