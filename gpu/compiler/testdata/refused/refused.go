// Package refused is what kernels do not have: each mark says what the compiler answers there.
package refused

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"sync"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/gpu"
)

type point struct {
	x, y float32
	next *point
}

type shape interface{ area() float32 }

var counter int

var table = [3]int{1, 2, int(math.Sin(1))} // want "use rmath.Sin"

var dynamic, same = pair() // want "not constant"

func pair() (float32, float32) { return 1, 2 }

func bump() { counter++ }

//tandem:kernel
func (p point) method(it gpu.Item) {} // want "not a method"

//tandem:kernel
func noItem(x []float32) {} // want "first parameter"

//tandem:kernel
func result(it gpu.Item, x []float32) float32 { return x[0] } // want "has no results"

//tandem:kernel
func noTypes[T gpu.Number](it gpu.Item, x []T) {} // want "list the types"

//tandem:kernel float32
func notGeneric(it gpu.Item, x []float32) {} // want "no type parameters"

//tandem:kernel float32 string
func badType[T gpu.Number](it gpu.Item, x []T) {} // want "does not satisfy|leave it out"

//tandem:kernel float32 real
func noType[T gpu.Number](it gpu.Item, x []T) {} // want "is no type"

//tandem:kernel float32 float32
func twice[T gpu.Number](it gpu.Item, x []T) {} // want "listed twice"

//tandem:kernel
func mapParam(it gpu.Item, m map[int]int) {} // want "slice or an array that an integer indexes"

//tandem:kernel
func stringParam(it gpu.Item, s string) {} // want "slice of bytes"

//tandem:kernel
func chanParam(it gpu.Item, c chan int) {} // want "local memory"

//tandem:kernel
func interfaceParam(it gpu.Item, s shape) {} // want "type parameter"

//tandem:kernel
func pointerParam(it gpu.Item, p *float32) {} // want "takes no pointers"

//tandem:kernel
func structParam(it gpu.Item, p struct{ a [65]int }) {} // want "more than 64 numbers"

//tandem:kernel
func hiddenParam(it gpu.Item, p rand.PCG) {} // want "not exported"

//tandem:kernel
func sliceOfSlices(it gpu.Item, p [][]float32) {} // want "keep indices"

//tandem:kernel
func complexParam(it gpu.Item, z []complex64) {} // want "struct of two floats"

//tandem:kernel
func recursive(it gpu.Item, x []int) {
	x[0] = fib(x[1])
}

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2) // want "no recursion"
}

//tandem:kernel
func statements(it gpu.Item, x []float32) {
	go bump()           // want "no goroutines"
	defer bump()        // want "no defer"
	y := make([]int, 3) // want "allocates nothing"
	_ = y
	p := new(int) // want "allocates nothing"
	_ = p
	x = append(x, 1) // want "allocates nothing"
	copy(x, x)       // want "write a loop"
	panic(1)         // want "error number"
	goto end         // want "no goto"
end:
	for range "text" { // want "no values of type"
	}
	var s shape       // want "type parameter"
	switch s.(type) { // want "no interfaces"
	}
	ch := make(chan int)             // want "allocates nothing"
	ch <- 1                          // want "no channels"
	f := func() float32 { return 1 } // want "assigned again"
	f = func() float32 { return 2 }  // want "function as a value"
	var e error                      // want "type parameter"
	_ = e
	for i := range 3 {
		it.Local(i)                    // want "constant 0, 1 or 2"
		a := gpu.Local[[4]float32](it) // want "several times"
		_ = a
	}
	b := gpu.Local[float32](it) // want "array of constant size"
	_ = b
	z := 1 + 2i // want "struct of two floats"
	_ = z
	v := x[0:1:2] // want "no capacity"
	_ = v
	_ = cap(x)     // want "use len"
	var q *float32 // want "leads nowhere"
	_ = q
	_ = fmt.Sprint(1)                       // want "no counterpart"
	x[0] = float32(math.Sin(float64(x[1]))) // want "use rmath.Sin, which"
	var m sync.Mutex
	m.Lock()    // want "sync.Mutex..Lock has no counterpart"
	counter = 1 // want "changes at"
	x[0] = float32(table[0])
	x[0] = dynamic
	var big [1 << 40]float32 // want "too large"
	_ = big
	var sum float32
	gpu.Run(backend.Grid{}, nil) // want "not for kernels"
	var n int32
	gpu.AtomicAdd(&n, 1) // want "private variable"
	r := &sum            // want "assigned again"
	r = &x[0]            // want "assigned again"
	_, _ = r, f
}

//tandem:kernel
func divergent(it gpu.Item, x []float32) {
	if it.Local(0) < 3 {
		it.Barrier() // want "only some work-items may reach: at refused.go:[0-9]+"
	}
	for i := range it.Global(0) {
		x[i] = 1
		it.Barrier() // want "only some work-items"
	}
	if it.Global(0) > 2 || it.Any(x[1] > 0) { // want "only some work-items"
		x[0] = gpu.Uniform(it, x[1]) // want "only some work-items"
	}
	if x[0] > 0 {
		return
	}
	it.Barrier() // want "only some work-items"
}

//tandem:kernel
func divergentBreak(it gpu.Item, x []float32) {
	for i := range 4 {
		if x[i] > 0 {
			break
		}
		it.Barrier() // want "only some work-items"
	}
}

//tandem:kernel
func divergentValue(it gpu.Item, x []float32, n int) {
	m := n
	if it.Local(1) == 0 {
		m = 3
	}
	for range m {
		helper(it)
	}
}

type tour struct {
	own, left int
	sub       struct{ own, left int }
	list      [2]int
}

func (t tour) more() bool { return t.left > 0 }
func (t *tour) step()     { t.left-- }

func tourOf(own, left int) tour { return tour{own: own, left: left} }

func fill(s []int, v int) { s[0] = v }

//tandem:kernel
func divergentSlices(it gpu.Item) {
	var filled, written [4]int
	fill(filled[:], it.Local(0))
	if filled[1] > 0 {
		it.Barrier() // want "only some work-items"
	}
	s := written[1:3]
	s[1] = it.Local(0)
	for range written[2] {
		it.Barrier() // want "only some work-items"
	}
}

//tandem:kernel
func divergentFields(it gpu.Item, x []float32, n int) {
	t := tour{own: it.Local(0), left: n}
	if t.left > 0 {
		it.Barrier()
	}
	if t.own > 0 {
		it.Barrier() // want "only some work-items"
	}
	if t.more() { // which gets all of it
		it.Barrier() // want "only some work-items"
	}
	literal := tour{n, it.Local(0), t.sub, t.list}
	if literal.left > 0 {
		it.Barrier() // want "only some work-items"
	}
	assigned := tour{left: n}
	assigned.left += it.Local(0)
	if assigned.left > 0 {
		it.Barrier() // want "only some work-items"
	}
	copied := t
	copied.left = t.left / 2
	if copied.left > 0 {
		it.Barrier()
	}
	if copied.own > 0 {
		it.Barrier() // want "only some work-items"
	}
	var replaced tour
	if replaced = assigned; replaced.left > 0 {
		it.Barrier() // want "only some work-items"
	}
	if replaced.list[0] > 0 {
		it.Barrier()
	}
	apart := tour{left: n}
	if x[0] > 0 {
		apart.left = 3
	}
	if apart.own > 0 {
		it.Barrier()
	}
	if apart.left > 0 {
		it.Barrier() // want "only some work-items"
	}
	reset := tour{left: n}
	if x[0] > 0 {
		reset = tour{}
	}
	if reset.list[0] > 0 {
		it.Barrier() // want "only some work-items"
	}
	of := tourOf(it.Local(0), n)
	if of.left > 0 {
		it.Barrier() // want "only some work-items"
	}
}

//tandem:kernel
func divergentParts(it gpu.Item, x []float32, n int) {
	t := tour{left: n}
	t.sub.own = it.Local(0)
	t.list[it.Local(0)&1] = 1
	if t.left > 0 {
		it.Barrier()
	}
	if t.sub.left > 0 {
		it.Barrier() // want "only some work-items"
	}
	if t.list[0] > 0 {
		it.Barrier() // want "only some work-items"
	}
	stepped := tour{own: it.Local(0), left: n}
	stepped.step() // by its address
	if stepped.left > 0 {
		it.Barrier() // want "only some work-items"
	}
	var all [2]tour
	all[0].own = it.Local(0)
	if all[0].left > 0 {
		it.Barrier() // want "only some work-items"
	}
	for later := (tour{left: n}); later.left > 0; later.left-- {
		it.Barrier() // want "only some work-items"
		if later.left = later.own; x[0] > 0 {
			later.own++
		}
	}
}

func helper(it gpu.Item) { it.Barrier() } // want "only some work-items"

//tandem:kernel []float32
func sliceOfT[S ~[]float32](it gpu.Item, x S) {} // want "stands for"

//tandem:kernel uint8 byte
func sameTwice[T gpu.Number](it gpu.Item, x []T) {} // want "listed twice"

type likeMatrix struct {
	Data               []float32
	Rows, Cols, Stride int
}

//tandem:kernel
func notMatrix(it gpu.Item, m likeMatrix) {} // want "a struct with a slice in it"

//tandem:kernel
func twoItems(it, other gpu.Item) {} // want "one item"

type scaled struct{ by float32 }

func (s scaled) apply(x float32) float32 { return x * s.by }

type holder[Op any] struct {
	n  int
	op Op
}

//tandem:kernel scaled
func fieldsOfT[Op interface{ apply(float32) float32 }](it gpu.Item, op Op, x []float32) {} // want "struct itself"

//tandem:kernel scaled
func heldOfT[Op interface{ apply(float32) float32 }](it gpu.Item, h holder[Op], x []float32) {} // want "stands for"

type empty struct{}

//tandem:kernel
func noPlace(it gpu.Item, x []empty) {} // want "keep indices"

func areaOf(s shape) float32 { return s.area() } // want "through an interface.*type parameter"

type square struct{ a float32 }

func (s square) area() float32 { return s.a }

type inItem struct{ it gpu.Item }

//tandem:kernel
func library(it gpu.Item, x []float64) {
	var s square
	x[0] = float64(areaOf(s))
	x[0] = math.Pow(x[1], 2)       // want "use rmath.Pow"
	x[0] = math.RoundToEven(x[1])  // want "use rmath.RoundToEven"
	x[0] = math.Gamma(x[1])        // want "bits differ between devices; compute it before"
	x[0], x[1] = math.Sincos(x[1]) // want "rmath.Sin and rmath.Cos"
	x[0] = math.Max(x[1], x[2])    // want "use max"
	x[0], x[1] = math.Modf(x[1])   // want "no counterpart on devices"
	q, r := bits.Div64(1, 2, 3)    // want "math/bits.Div64 has no counterpart"
	_, _ = q, r
	var t inItem // want "parameter of its own"
	_ = t
}

//tandem:kernel
func memoryDecides(it gpu.Item, x []float32, off []int) {
	for i := 0; i < off[it.Group(0)]; i++ {
		it.Barrier() // want "which memory .* may not: gpu.Uniform"
	}
}

//tandem:group 16
func noKernel(it gpu.Item) {} // want "the size of a kernel's groups"

//tandem:kernel
//tandem:group 8
//tandem:group 16
func twoGroups(it gpu.Item) {} // want "stands here 2 times"

// tandem: kernel // want "has no blanks"
func parted(it gpu.Item) {}

//tandem:kernal // want "there is no //tandem:kernal"
func misspelt(it gpu.Item, x []float32) {}

// tandem:kernel float32 // want "has no blanks"
func spaced(it gpu.Item, x []float32) {}

//tandem:kernel // want "marks no function"

func apart(it gpu.Item, x []float32) {}

type duo struct{ x, y float32 }

//tandem:kernel
func ofMap(it gpu.Item, out []int64) {
	m := map[int64]int64{1: 2} // want "no values of type map"
	out[0] = m[1]
	for k := range m {
		out[k] = m[k]
	}
	go bump() // want "no goroutines"
}

//tandem:kernel
func afterMap(it gpu.Item, out []int64) { copy(out, out[1:]) } // want "write a loop"

//tandem:map
func ofStructs(p duo) float32 { return p.x } // want "of numbers and bools"

//tandem:map
func ofItem(it gpu.Item, x float32) float32 { return x } // want "of numbers and bools"

//tandem:map
func mapNoTypes[T gpu.Float](x T) T { return x } // want "^mapNoTypes has .*: //tandem:map float32 float64"

//tandem:map float32
func mapNotGeneric(x float32) float32 { return x } // want "^mapNotGeneric has no .*; write //tandem:map alone"

//tandem:map float32 string
func mapBadType[T gpu.Float](x T) T { return x } // want "^mapBadType for string: "

var looked = [3]int32{1, 2, 3}

//tandem:kernel
func slicedTable(it gpu.Item, x []int32) { x[0] = looked[1:][0] } // want "may change, as its address is taken at"

func ownMemory(n int32) []int32 {
	a := [4]int32{n}
	return a[:] // want "memory of the function's own"
}

//tandem:kernel
func leadsOut(it gpu.Item, x []int32) { x[0] = ownMemory(3)[1] }

func upTo(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := 0; i < n && yield(i); i++ {
		}
	}
}

//tandem:kernel
func rangeFunc(it gpu.Item, x []int32) {
	for i := range upTo(3) { // want "a range over func"
		x[i] = 1
	}
}

func sum(x ...int32) int32 { return int32(len(x)) }

type twin struct{ x, y float32 }

type other struct{ x, y float32 }

func (t twin) get() float32 { return t.x }

//tandem:kernel
func unsupported(it gpu.Item, x []int32, y []float32) {
	x[0] = sum(1, 2)        // want "variable number of arguments"
	y[0] = other(twin{}).y  // want "conversion"
	x[1] = [4]int32(x)[1]   // want "conversion"
	y[1] = twin.get(twin{}) // want "method expression"
	var none [0]int32       // want "arrays without elements"
	x[2] = int32(len(none))
}

//tandem:kernel
func itemAsValue(it gpu.Item, x []int32) {
	_ = it
	x[itself(it).Global(0)] = 1 // want "an item is only passed on"
	p := &it                    // want "an item is only passed on"
	var other gpu.Item          // want "an item is only passed on"
	two := [2]gpu.Item{it, it}  // want "has one item"
	it = gpu.Item{}             // want "allocates nothing"
	_, _, _ = p, other, two
}

func itself(it gpu.Item) gpu.Item { return it }

//tandem:kernel
func itemAgain(it gpu.Item, x []int32) {
	same := it
	it = same // want "an item is assigned again"
}
