package compiler

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ir"
)

// A variable of a package that any of the code read changes is refused, whatever way it goes.
func TestWrites(t *testing.T) {
	const kernels = `package main

import (
	"example.com/user/params"
	"github.com/tandem-gpu/tandem/gpu"
)

type total struct{ n int64 }

func (t *total) add(n int64) { t.n += n }
func (t total) get() int64   { return t.n }

type outer struct{ total }

func set[T any](p *T, v T) { *p = v }

var (
	value, paren, expr, promoted, read total
	field, taken, key, slice, kept     [4]int64
	each, generic                      int64
	nested                             outer
)

//tandem:kernel
func use(it gpu.Item, out []int64) {
	out[0] = value.n
	out[1] = paren.n
	out[2] = expr.n
	out[3] = nested.n
	out[4] = params.Field[0]
	out[5] = params.Scale
	out[6] = field[1]
	out[7] = taken[1]
	out[8] = key[1]
	out[9] = slice[1]
	out[10] = each
	out[11] = generic
	out[12] = read.n + kept[1] + params.Kept
}

func writes() {
	f := value.add
	f(37)
	((paren).add)(1)
	(*total).add(&expr, 1)
	nested.add(1)
	params.Field[1] = 2
	params.Scale++
	(field)[1] = 2
	p := &(taken[1])
	*p = 2
	for key[1] = range 3 {
	}
	s := (slice)[:]
	s[0]++
	for _, (each) = range s {
	}
	set(&generic, 3)
	read.get()
	g := read.get
	_ = kept[1] + g() + params.Kept
}
`
	dir := newModule(t, map[string]string{
		"kernels.go":       kernels,
		"main.go":          "package main\n\nfunc main() { writes() }\n",
		"params/params.go": "package params\n\nvar Field [2]int64\n\nvar Scale, Kept int64 = 2, 3\n",
	})
	_, err := Compile(dir, Options{NoLaunch: true})
	var problems ir.Problems
	if !errors.As(err, &problems) {
		t.Fatalf("Compile gives %v", err)
	}
	re := regexp.MustCompile(`kernels.go:(\d+):.*variable \w+ of the package (?:changes at|may change)`)
	got := map[string]bool{}
	for _, m := range re.FindAllStringSubmatch(err.Error(), -1) {
		got[m[1]] = true
	}
	for i, line := range strings.Split(kernels, "\n") {
		want := strings.HasPrefix(line, "\tout[") && !strings.Contains(line, "out[12]")
		if n := fmt.Sprint(i + 1); got[n] != want {
			t.Errorf("line %s: %s: refused %t", n, line, got[n])
		}
	}
}

// Each work-item has its own of a parameter that it changes, and a slice may be sliced again.
func TestOwnParameters(t *testing.T) {
	t.Parallel()
	dir := newModule(t, map[string]string{"main.go": `package main

import (
	"fmt"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
)

type total struct{ n int64 }

func (t *total) add(n int64) int64 {
	t.n += n
	return t.n
}

//tandem:kernel
func add(it gpu.Item, out []int64, a, b total, c [2]int64) {
	i := it.Global(0)
	(a.add)(1)
	d := (c)[1:]
	d[0] += int64(i)
	e := c[:]
	out[i] = a.n + (&b).add(10) + e[1:][0]
}

func main() {
	s, err := linalg.Open("cpu")
	if err != nil {
		panic(err)
	}
	out := make([]int64, 4)
	fmt.Println(launchAdd(s, backend.Grid1(2, 2), out, total{100}, total{1000}, [2]int64{3, 4}), out)
}
`})
	if err := Write(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	if out, err := goTool(t, dir, "run", "."); err != nil || out != "<nil> [1115 1116 1117 1118]\n" {
		t.Errorf("%v\n%s", err, out)
	}
}
