// Package mistakes has kernels with one mistake each, for the tests of the checked mode.
package mistakes

import "github.com/tandem-gpu/tandem/gpu"

//go:generate go run github.com/tandem-gpu/tandem/gpu/compile -ptx=false

// Each kernel makes its mistake where a line says so, in the work-item of global id 5 alone.

//tandem:kernel
func Right(it gpu.Item, out []int32) { out[it.Global(0)] = int32(it.Global(0)) }

//tandem:kernel float32 int64
func Stores[T gpu.Number](it gpu.Item, out []T) {
	i := it.Global(0)
	if i == 5 {
		i = len(out) + 2
	}
	out[i] = T(7) // mistake
}

//tandem:kernel
func Loads(it gpu.Item, out, x []int32) {
	i := it.Global(0)
	out[i] = x[out[i]] // mistake: element 5 is -3
}

//tandem:kernel
func Empties(it gpu.Item, out, x []int32) {
	if i := it.Global(0); i == 5 {
		out[i] = x[0] // mistake
	}
}

//tandem:kernel
func Rows(it gpu.Item, m gpu.Matrix[int32]) {
	i := it.Global(0)
	row := i / 4
	if i == 5 {
		row = m.Rows
	}
	m.Set(row, i%4, 7) // mistake
}

//tandem:kernel
func Columns(it gpu.Item, out []int32, m gpu.Matrix[int32]) {
	i := it.Global(0)
	if i == 5 {
		out[i] = m.At(0, m.Cols) // mistake
	}
}

//tandem:kernel
func Shared(it gpu.Item, out []int32) {
	s := gpu.Local[[8]int32](it)
	i := it.Global(0)
	s[(i+1)%8] = int32(i)
	it.Barrier()
	v := int32(0)
	for j := range 3 {
		if i == 5 {
			v += s[i+j+1] // mistake
		}
		it.Barrier()
	}
	out[i] = v
}

//tandem:kernel
func Private(it gpu.Item, out []int32) {
	var a [4][2]int32
	i := it.Global(0)
	n := min(i%4, 2)
	if i == 5 {
		n = 2
	}
	a[i/2][n&1] = 1
	if i == 5 {
		a[3][n] = 2 // mistake
	}
	out[i] = a[3][0]
}

//tandem:kernel
func Slices(it gpu.Item, out, x []int32) {
	i := it.Global(0)
	if i == 5 {
		part := x[3 : len(x)+1] // mistake
		out[i] = part[0]
	}
}

//tandem:kernel
func Reversed(it gpu.Item, out, x []int32) {
	i := it.Global(0)
	if i == 5 {
		part := x[i:2] // mistake
		out[i] = part[0]
	}
}

//tandem:kernel
func Divides(it gpu.Item, out, x []int32) {
	i := it.Global(0)
	out[i] = 100 / (int32(i) - 5) // mistake
}

// Searches would go on for ever, were a failed work-item to read some other element.
//
//tandem:kernel
func Searches(it gpu.Item, out, x []int32) {
	i := it.Global(0)
	if i == 5 {
		n := 0
		for x[n] != 0 { // mistake
			n++
		}
		out[i] = int32(n)
	}
}

//tandem:kernel
func Counts(it gpu.Item, out []int32) {
	i := it.Global(0)
	n := 0
	if i == 5 {
		n = 9
	}
	gpu.AtomicAdd(&out[n], 1) // mistake
}

// A Body has an array in it.
type Body struct {
	Mass float32
	At   [3]int32
}

func (b *Body) move(axis, by int) int32 {
	b.At[axis] += int32(by) // mistake
	return b.At[0]
}

//tandem:kernel
func Moves(it gpu.Item, out []int32, s []Body) {
	i := it.Global(0)
	axis := 0
	if i == 5 {
		axis = 3
	}
	out[i] = s[i].move(axis, i)
}

//tandem:kernel
func Elsewhere(it gpu.Item, out []int32) {
	i := it.Global(0)
	if i == 5 {
		out[i] = second(out, 8)
	}
}

// Two work-items make a mistake; one is reported.
//
//tandem:kernel
func Many(it gpu.Item, out []int32) {
	i := it.Global(0)
	out[i+4] = 7 // mistake
}

// Grouped is for groups of four.
//
//tandem:kernel
//tandem:group 4
func Grouped(it gpu.Item, out []int32) {
	s := gpu.Local[[4]int32](it)
	s[it.Local(0)] = 1
	it.Barrier()
	out[it.Global(0)] = s[3-it.Local(0)]
}

// Roomy takes more local memory than devices have.
//
//tandem:kernel
func Roomy(it gpu.Item, out []int32) {
	s := gpu.Local[[64 << 20]int32](it)
	i := it.Global(0)
	s[i*1000] = int32(i)
	it.Barrier()
	out[i] = s[(i^1)*1000]
}

// Pairs is for some pairs of types.
//
//tandem:kernel float32,int32 int32,float32
func Pairs[A, B gpu.Number](it gpu.Item, a []A, b []B) {
	a[it.Global(0)] += A(b[it.Global(0)])
}

// Words takes elements of the host's size.
//
//tandem:kernel
func Words(it gpu.Item, x []int) { x[it.Global(0)]++ }

// Longer takes as much of out as x is long.
//
//tandem:kernel
func Longer(it gpu.Item, out, x []int32) {
	i := it.Global(0)
	if i == 5 {
		part := out[:len(x)] // mistake
		part[0] = 1
	}
}

// Converts has floats that an integer does not have.
//
//tandem:kernel
func Converts(it gpu.Item, out []int64, x []float64) {
	if i := it.Global(0); i < len(x) {
		out[4*i], out[4*i+1] = int64(int32(x[i])), int64(uint8(x[i]))
		out[4*i+2], out[4*i+3] = int64(x[i]), int64(uint64(x[i])>>1)
	}
}

// Waits goes on until one work-item of a group has found 2 or 6: that of 6 makes a mistake.
//
//tandem:kernel
func Waits(it gpu.Item, out, x []int32) {
	i := it.Global(0)
	at := i
	if i == 5 {
		at = 8
	}
	found := false
	for !it.Any(found) {
		found = x[at]%4 == 2 // mistake
	}
	out[i] = 1
}

// Agrees goes on until one work-item of a group has counted to 8: that of the second group makes a
// mistake, and counts no more.
//
//tandem:kernel
func Agrees(it gpu.Item, out, x []int32) {
	i := it.Global(0)
	n := gpu.Local[[1]int32](it)
	if i%4 == 1 {
		n[0] = 0
	}
	if i == 5 {
		out[i] = x[8] // mistake
	}
	it.Barrier()
	for gpu.Uniform(it, n[0]) < 8 {
		it.Barrier()
		if i%4 == 1 {
			n[0]++
		}
		it.Barrier()
	}
	out[i] = 1
}

// Races has neighbours that write one element.
//
//tandem:kernel
func Races(it gpu.Item, out []int32) {
	i := it.Global(0)
	out[i/2] = int32(max(i, 2)) // mistake
}

// Views has a matrix of more rows than there are elements for.
//
//tandem:kernel
func Views(it gpu.Item, out, x []int32) {
	m := gpu.Matrix[int32]{Data: x, Rows: 3, Cols: 4, Stride: 4}
	i := it.Global(0)
	if i == 5 {
		m.Set(2, 1, 7) // mistake
	}
	out[i] = m.At(i/4, i%4)
}
