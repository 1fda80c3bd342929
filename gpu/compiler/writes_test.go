package compiler

import (
	"regexp"
	"strings"
	"testing"
)

const writesText = `package main

import "github.com/tandem-gpu/tandem/gpu"

type rows struct {
	data []int32
	n    int
}

type pair struct{ a, b int32 }

func (r rows) set(i int, v int32) { r.data[i] = v }
func (r rows) get(i int) int32    { return r.data[i] }
func (p *pair) swap()             { p.a, p.b = p.b, p.a }

func fill(x []int32, v int32)     { for i := range x { x[i] = v } }
func fillSecond(x, y []int32)     { fill(y[len(x):], x[0]) }
func later(x []int32) []int32     { return x[1:] }
func both(x, y []int32) (a, b []int32) { return y, x }

func main() {}

// w is written, r is read.
//
//tandem:kernel
func plain(it gpu.Item, w, r []int32) { w[0] = r[0] + int32(len(r)) }

//tandem:kernel
func calls(it gpu.Item, w1, r1, w2, w3, w4 []int32) {
	fillSecond(r1, w1)
	later(later(w2))[0] = r1[1]
	a, b := both(w4, w3)
	a[0] = b[0]
}

//tandem:kernel
func variables(it gpu.Item, w1, w2, r1, r2 []int32) {
	s := r1
	t := w2[1:]
	if s[0] > 1 {
		s = t
	}
	for range s {
		t, w1 = w1, t
	}
	t[0] = r2[s[0]]
}

//tandem:kernel
func structs(it gpu.Item, w1 []int32, r1 gpu.Matrix[int32], w2 gpu.Matrix[int32], w3 []pair, r2 []pair, r3 []int32) {
	x := rows{data: w1, n: r1.Rows}
	x.set(0, r1.At(0, 0))
	y := rows{data: r3}
	w2.Set(0, 0, y.get(1))
	p := &w3[1]
	p.swap()
	q := r2[0] // a copy
	q.swap()
	q.a = 5
	w3[0] = q
}

func (r *rows) keep(x []int32)          { r.data = x }
func keepIn(r *rows, x, y []int32) int32 { r.data = x; return y[0] }

// A slice may go through a pointer to where it is written.
//
//tandem:kernel
func pointers(it gpu.Item, w1, w2, w3, r1 []int32) {
	var a, b, c rows
	a.keep(w1)
	a.set(0, keepIn(&b, w2, r1))
	b.data[1] = 3
	p := &c
	p.data = w3
	c.set(2, c.get(1))
}

//tandem:kernel
func atomics(it gpu.Item, w1, r1 []int32, w2, w3 []uint64) {
	gpu.AtomicAdd(&w1[r1[0]], r1[1])
	p := &w2[0]
	gpu.AtomicMax(p, 1)
	add := func() { w3[0]++ }
	add()
}

//tandem:kernel
func shared(it gpu.Item, w1, r1, r2 []int32) {
	t := gpu.Local[[4]int32](it)
	t[0] = r1[0]
	var u [4]int32
	copyTo(it, u[:], r2)
	it.Barrier()
	copyTo(it, w1, t[:])
	fill(u[:], 1)
}

func copyTo(it gpu.Item, to, from []int32) { to[it.Local(0)] = from[it.Local(0)] }
`

// A slice or matrix that a kernel only reads says so, and no other does.
func TestReadOnly(t *testing.T) {
	list, err := Instances(newModule(t, map[string]string{"kernels.go": writesText}))
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range list {
		for _, p := range k.Source.Params {
			if !p.Buffer {
				continue
			}
			if want := strings.HasPrefix(p.Name, "r"); p.ReadOnly != want {
				t.Errorf("%s: %s is only read: %t, want %t", k.Name, p.Name, p.ReadOnly, want)
			}
			constant := regexp.MustCompile("__global const \\w+ \\*" + p.Name + "_p").MatchString(k.Source.Text)
			if constant != p.ReadOnly {
				t.Errorf("%s: the text says const of %s: %t", k.Name, p.Name, constant)
			}
		}
	}
	if len(list) != 7 {
		t.Errorf("%d kernels", len(list))
	}
}
