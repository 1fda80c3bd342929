package sums

import (
	"math"

	"github.com/tandem-gpu/tandem/gpu"
)

// A folder makes integers K of elements, of which all else than sums of floats is made: both ends
// of their order, the first of the largest, sums of integers, counts.
type folder[T float32 | float64 | int32 | bool, K int32 | int64] interface {
	none() ends[K] // of no elements
	// with is s and an element behind those of s. Order is an Order for the first of the largest,
	// not Magnitude.
	with(s ends[K], x T, index, order K) ends[K]
	kind() int
}

// Kinds of what is folded, by how two are merged.
const (
	kindEnds  = iota // the largest and the smallest key
	kindFirst        // the largest key, and its first index
	kindSum          // the sum of the keys, and nothing
)

// What elements are folded to, by kind.
type ends[K int32 | int64] struct{ a, b K }

// A state is what elements are folded to, in memory.
type state struct{ a, b int64 }

func (s state) merge(kind int, t state) state {
	switch {
	case kind == kindSum:
		return state{s.a + t.a, 0}
	case kind == kindEnds:
		return state{max(s.a, t.a), min(s.b, t.b)}
	case t.a > s.a, t.a == s.a && t.b < s.b:
		return t
	}
	return s
}

type (
	ends32   struct{}
	ends64   struct{}
	endsInt  struct{}
	endsBool struct{}
	first32  struct{}
	first64  struct{}
	firstInt struct{}
	add32    struct{}
	count    struct{}
)

func (ends32) kind() int   { return kindEnds }
func (ends64) kind() int   { return kindEnds }
func (endsInt) kind() int  { return kindEnds }
func (endsBool) kind() int { return kindEnds }
func (first32) kind() int  { return kindFirst }
func (first64) kind() int  { return kindFirst }
func (firstInt) kind() int { return kindFirst }
func (add32) kind() int    { return kindSum }
func (count) kind() int    { return kindSum }

func (ends32) none() ends[int32]   { return ends[int32]{math.MinInt32, math.MaxInt32} }
func (ends64) none() ends[int64]   { return ends[int64]{math.MinInt64, math.MaxInt64} }
func (endsInt) none() ends[int32]  { return ends[int32]{math.MinInt32, math.MaxInt32} }
func (endsBool) none() ends[int32] { return ends[int32]{math.MinInt32, math.MaxInt32} }
func (first32) none() ends[int32]  { return ends[int32]{math.MinInt32, math.MaxInt32} }
func (first64) none() ends[int64]  { return ends[int64]{math.MinInt64, math.MaxInt64} }
func (firstInt) none() ends[int32] { return ends[int32]{math.MinInt32, math.MaxInt32} }
func (add32) none() ends[int32]    { return ends[int32]{} }
func (count) none() ends[int32]    { return ends[int32]{} }

// key32 and key64 have the order of floats, -0 below +0; NaN are above and below all else.
func key32(x float32) int32 {
	b := int32(math.Float32bits(x))
	return b ^ b>>31&math.MaxInt32
}

func key64(x float64) int64 {
	b := int64(math.Float64bits(x))
	return b ^ b>>63&math.MaxInt64
}

func (ends32) with(s ends[int32], x float32, _, _ int32) ends[int32] {
	k := key32(x)
	return ends[int32]{max(s.a, k), min(s.b, k)}
}

func (ends64) with(s ends[int64], x float64, _, _ int64) ends[int64] {
	k := key64(x)
	return ends[int64]{max(s.a, k), min(s.b, k)}
}

func (endsInt) with(s ends[int32], x, _, _ int32) ends[int32] {
	return ends[int32]{max(s.a, x), min(s.b, x)}
}

func (endsBool) with(s ends[int32], x bool, _, _ int32) ends[int32] {
	k := int32(0)
	if x {
		k = 1
	}
	return ends[int32]{max(s.a, k), min(s.b, k)}
}

func (first32) with(s ends[int32], x float32, index, order int32) ends[int32] {
	k := key32(x) ^ order
	if x != x {
		k = math.MaxInt32
	}
	return above(s, k, index)
}

func (first64) with(s ends[int64], x float64, index, order int64) ends[int64] {
	k := key64(x) ^ order
	if x != x {
		k = math.MaxInt64
	}
	return above(s, k, index)
}

func (firstInt) with(s ends[int32], x, index, order int32) ends[int32] {
	return above(s, x^order, index)
}

// above is s, or a key above its own. Short rows have one in so many turns that a branch is slow.
func above[K int32 | int64](s ends[K], k, index K) ends[K] {
	more := max(k, s.a) ^ s.a
	found := (more | -more) >> 31 >> 31 >> 1 // no bit, or all
	return ends[K]{s.a ^ more, s.b ^ (s.b^index)&found}
}

func (add32) with(s ends[int32], x, _, _ int32) ends[int32] { return ends[int32]{s.a + x, 0} }

func (count) with(s ends[int32], x bool, _, _ int32) ends[int32] {
	if x {
		s.a++
	}
	return s
}

// FoldAlong folds along rows of x, a group an output: each of so many outputs is height rows of
// cols elements, in as many parts as there are groups in x. One part makes the element of c. Where
// there are more, the state of part p of output o is elements 2*p*outputs+o and (2*p+1)*outputs+o
// of parts. Indices are counted by rows, from the first element of an output.
//
//tandem:kernel float32,float32,int32,ends32,value32 float64,float64,int64,ends64,value64
//tandem:kernel float32,int32,int32,first32,index float64,int32,int64,first64,index
//tandem:kernel int32,int32,int32,endsInt,valueInt int32,int32,int32,firstInt,index int32,int32,int32,add32,total
//tandem:kernel bool,int32,int32,count,total bool,bool,int32,endsBool,truth
func FoldAlong[T, D float32 | float64 | int32 | bool, K int32 | int64, F folder[T, K], R result[D]](it gpu.Item,
	f F, r R, c gpu.Matrix[D], parts []int64, x gpu.Matrix[T], outputs, height, cols int, order K,
) {
	as, bs := gpu.Local[[maxLanes]int64](it), gpu.Local[[maxLanes]int64](it)
	l, n := it.Local(0), it.LocalSize(0)
	i0, di, j0, j1 := it.Group(0), it.Groups(0), 0, cols // parts are of the rows, or of a row
	if height == 1 {
		width := (cols + it.GlobalSize(0) - 1) / it.GlobalSize(0) * n
		i0, di, j0 = 0, 1, min(it.Group(0)*width, cols)
		j1 = min(j0+width, cols)
	}
	for o := it.Group(1); o < outputs; o += it.Groups(1) {
		e := f.none()
		for i := i0; i < height; i += di {
			for j := j0 + l; j < j1; j += n {
				e = f.with(e, x.Data[(o*height+i)*x.Stride+j], K(i*cols+j), order)
			}
		}
		var s state
		s.a, s.b = int64(e.a), int64(e.b)
		s = mergedByGroup(it, as[:], bs[:], s, f.kind())
		if l == 0 {
			if len(parts) == 0 {
				put(c, o, r.of(s, int64(order)))
			} else {
				parts[2*it.Group(0)*outputs+o], parts[(2*it.Group(0)+1)*outputs+o] = s.a, s.b
			}
		}
	}
}

// mergedByGroup is what the states of all work-items of the group, a power of two, come to.
func mergedByGroup(it gpu.Item, as, bs []int64, s state, kind int) state {
	l := it.Local(0)
	it.Barrier()
	as[l], bs[l] = s.a, s.b
	for k := it.LocalSize(0) / 2; k > 0; k /= 2 {
		it.Barrier()
		if l < k {
			s = s.merge(kind, state{as[l+k], bs[l+k]})
			as[l], bs[l] = s.a, s.b
		}
	}
	it.Barrier()
	return state{as[0], bs[0]}
}

// put makes v element o of c, which is a row or a column.
func put[D float32 | float64 | int32 | bool](c gpu.Matrix[D], o int, v D) {
	if c.Cols == 1 {
		c.Set(o, 0, v)
	} else {
		c.Set(0, o, v)
	}
}

// FoldEach folds rows of x, or, with down, columns, a work-item an output, in as many parts as
// there are groups in y. c and parts are as those of FoldAlong.
//
//tandem:kernel float32,float32,int32,ends32,value32 float64,float64,int64,ends64,value64
//tandem:kernel float32,int32,int32,first32,index float64,int32,int64,first64,index
//tandem:kernel int32,int32,int32,endsInt,valueInt int32,int32,int32,firstInt,index int32,int32,int32,add32,total
//tandem:kernel bool,int32,int32,count,total bool,bool,int32,endsBool,truth
func FoldEach[T, D float32 | float64 | int32 | bool, K int32 | int64, F folder[T, K], R result[D]](it gpu.Item,
	f F, r R, c gpu.Matrix[D], parts []int64, x gpu.Matrix[T], down bool, order K,
) {
	outputs, terms := x.Rows, x.Cols
	if down {
		outputs, terms = x.Cols, x.Rows
	}
	share := (terms + it.Groups(1) - 1) / it.Groups(1)
	from := min(it.Group(1)*share, terms)
	to := min(from+share, terms)
	for o := it.Global(0); o < outputs; o += it.GlobalSize(0) {
		e := f.none()
		for i := from; i < to; i++ {
			var y T
			if down {
				y = x.Data[i*x.Stride+o]
			} else {
				y = x.Data[o*x.Stride+i]
			}
			e = f.with(e, y, K(i), order)
		}
		var s state
		s.a, s.b = int64(e.a), int64(e.b)
		if len(parts) == 0 {
			put(c, o, r.of(s, int64(order)))
		} else {
			parts[2*it.Group(1)*outputs+o], parts[(2*it.Group(1)+1)*outputs+o] = s.a, s.b
		}
	}
}

// A result makes an element of what was folded.
type result[D float32 | float64 | int32 | bool] interface {
	of(s state, order int64) D
}

type (
	value32  struct{} // the element whose key it is
	value64  struct{}
	valueInt struct{}
	truth    struct{} // whether there is one that is true, or all are
	index    struct{} // the first index
	total    struct{} // the sum of the keys
)

func (value32) of(s state, order int64) float32 {
	if s.a > 0x7f800000 || s.b < -0x7f800001 {
		return math.Float32frombits(0x7fc00000)
	}
	k := chosen(s, order)
	return math.Float32frombits(uint32(k ^ k>>63&math.MaxInt32))
}

func (value64) of(s state, order int64) float64 {
	if s.a > 0x7ff<<52 || s.b < -0x7ff<<52-1 {
		return math.Float64frombits(0x7ff8 << 48)
	}
	k := chosen(s, order)
	return math.Float64frombits(uint64(k ^ k>>63&math.MaxInt64))
}

func (valueInt) of(s state, order int64) int32 { return int32(chosen(s, order)) }
func (truth) of(s state, order int64) bool     { return chosen(s, order) > 0 }
func (total) of(s state, _ int64) int32        { return int32(s.a) }

// chosen is the key that an order asks for. A key below 0 is the complement of that of the number
// without its sign.
func chosen(s state, order int64) int64 {
	switch Order(order) {
	case Smallest:
		return s.b
	case Magnitude:
		return max(s.a, ^s.b)
	}
	return s.a
}

// noIndex is the index of no elements, or one above. Where it stays no key is above the lowest: all
// elements are equal.
const noIndex = math.MaxInt32

func (index) of(s state, _ int64) int32 {
	if s.b >= noIndex {
		return 0
	}
	return int32(s.b)
}

// Finish makes the elements of c of the count parts that FoldAlong or FoldEach left of each, a
// group an output.
//
//tandem:kernel float32,value32 float64,value64 int32,valueInt int32,index int32,total bool,truth
func Finish[D float32 | float64 | int32 | bool, R result[D]](it gpu.Item, r R, c gpu.Matrix[D], parts []int64,
	count, kind int, order int64,
) {
	as, bs := gpu.Local[[maxLanes]int64](it), gpu.Local[[maxLanes]int64](it)
	outputs := c.Rows * c.Cols
	for o := it.Group(0); o < outputs; o += it.Groups(0) {
		first := min(it.Local(0), count-1) // a part that is merged twice changes nothing but sums
		s := state{parts[2*first*outputs+o], parts[(2*first+1)*outputs+o]}
		if it.Local(0) >= count && kind == kindSum {
			s = state{}
		}
		for p := it.Local(0) + it.LocalSize(0); p < count; p += it.LocalSize(0) {
			s = s.merge(kind, state{parts[2*p*outputs+o], parts[(2*p+1)*outputs+o]})
		}
		s = mergedByGroup(it, as[:], bs[:], s, kind)
		if it.Local(0) == 0 {
			put(c, o, r.of(s, order))
		}
	}
}
