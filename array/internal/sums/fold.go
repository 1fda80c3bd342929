package sums

import (
	"math"

	"github.com/tandem-gpu/tandem/gpu"
)

// A folder makes integers of elements, of which all else than sums of floats is made: sums of
// integers, counts, and the first of the largest.
type folder[T float32 | float64 | int32 | bool] interface {
	key(x T, mask, flip int64) int64
	sum() bool // keys are added up; else the largest counts, and the first index that has it
}

type (
	add32   struct{}
	count   struct{}
	most32  struct{}
	most64  struct{}
	mostInt struct{}
)

func (add32) sum() bool                          { return true }
func (add32) key(x int32, _, _ int64) int64      { return int64(x) }
func (count) sum() bool                          { return true }
func (most32) sum() bool                         { return false }
func (most64) sum() bool                         { return false }
func (mostInt) sum() bool                        { return false }
func (mostInt) key(x int32, _, flip int64) int64 { return int64(x) ^ flip }

func (count) key(x bool, _, _ int64) int64 {
	if x {
		return 1
	}
	return 0
}

// A float's key has its order, -0 below +0, and NaN above all; flip is -1 for the order's reverse,
// which NaN stays above, and mask takes the sign away.
func (most32) key(x float32, mask, flip int64) int64 {
	if x != x {
		return math.MaxInt64
	}
	b := int64(int32(math.Float32bits(x))) & mask
	return b ^ b>>63&(1<<31-1) ^ flip
}

func (most64) key(x float64, mask, flip int64) int64 {
	if x != x {
		return math.MaxInt64
	}
	b := int64(math.Float64bits(x)) & mask
	return b ^ b>>63&(1<<63-1) ^ flip
}

// A state is what a folder has made of some elements: the largest key and its first index, or the
// sum of the keys.
type state struct{ key, index int64 }

// no is the state of no elements.
func no(sum bool) state {
	if sum {
		return state{}
	}
	return state{key: math.MinInt64, index: math.MaxInt64}
}

func (s state) merge(sum bool, t state) state {
	switch {
	case sum:
		return state{key: s.key + t.key}
	case t.key > s.key, t.key == s.key && t.index < s.index:
		return t
	}
	return s
}

// FoldAlong folds along rows of x: each output height rows of cols elements, in as many parts as
// there are groups in x. The key and the index of part p of output o are elements 2*p*outputs+o and
// (2*p+1)*outputs+o of parts. Indices are counted by rows, from the first element of an output.
//
//tandem:kernel float32,most32 float64,most64 int32,mostInt int32,add32 bool,count
func FoldAlong[T float32 | float64 | int32 | bool, F folder[T]](it gpu.Item, f F, parts []int64, x gpu.Matrix[T],
	outputs, height, cols int, mask, flip int64,
) {
	keys, indices := gpu.Local[[Lanes]int64](it), gpu.Local[[Lanes]int64](it)
	l, n := it.Local(0), it.LocalSize(0)
	i0, di, j0, dj := it.Group(0), it.Groups(0), 0, n // parts are of the rows, or of a row
	if height == 1 {
		i0, di, j0, dj = 0, 1, it.Group(0)*n, it.GlobalSize(0)
	}
	for o := it.Group(1); o < outputs; o += it.Groups(1) {
		s := no(f.sum())
		for i := i0; i < height; i += di {
			for j := j0 + l; j < cols; j += dj {
				key := f.key(x.Data[(o*height+i)*x.Stride+j], mask, flip)
				s = s.merge(f.sum(), state{key, int64(i*cols + j)})
			}
		}
		keys[l], indices[l] = s.key, s.index
		it.Barrier()
		if l == 0 {
			for k := 1; k < n; k++ {
				s = s.merge(f.sum(), state{keys[k], indices[k]})
			}
			parts[2*it.Group(0)*outputs+o], parts[(2*it.Group(0)+1)*outputs+o] = s.key, s.index
		}
		it.Barrier()
	}
}

// FoldAcross folds columns of x, a work-item each, in as many parts as there are groups in y; parts
// are as FoldAlong leaves them.
//
//tandem:kernel float32,most32 float64,most64 int32,mostInt int32,add32 bool,count
func FoldAcross[T float32 | float64 | int32 | bool, F folder[T]](it gpu.Item, f F, parts []int64, x gpu.Matrix[T],
	mask, flip int64,
) {
	for o := it.Global(0); o < x.Cols; o += it.GlobalSize(0) {
		s := no(f.sum())
		for i := it.Group(1); i < x.Rows; i += it.Groups(1) {
			s = s.merge(f.sum(), state{f.key(x.Data[i*x.Stride+o], mask, flip), int64(i)})
		}
		parts[2*it.Group(1)*x.Cols+o], parts[(2*it.Group(1)+1)*x.Cols+o] = s.key, s.index
	}
}

// FoldFew makes the elements of c of a few terms each, a work-item each, as FoldAlong or FoldAcross
// and Finish do: of a row of x, or, with down, of a column.
//
//tandem:kernel float32,float32,most32,value32 float64,float64,most64,value64 int32,int32,mostInt,valueInt
//tandem:kernel float32,int32,most32,index float64,int32,most64,index int32,int32,mostInt,index
//tandem:kernel int32,int32,add32,total bool,int32,count,total bool,bool,count,reached
func FoldFew[T, D float32 | float64 | int32 | bool, F folder[T], R result[D]](it gpu.Item, f F, r R, c gpu.Matrix[D],
	x gpu.Matrix[T], down bool, mask, flip int64,
) {
	outputs, terms := x.Rows, x.Cols
	if down {
		outputs, terms = x.Cols, x.Rows
	}
	for o := it.Global(0); o < outputs; o += it.GlobalSize(0) {
		s := no(f.sum())
		for i := range terms {
			var y T
			if down {
				y = x.Data[i*x.Stride+o]
			} else {
				y = x.Data[o*x.Stride+i]
			}
			s = s.merge(f.sum(), state{f.key(y, mask, flip), int64(i)})
		}
		if c.Cols == 1 {
			c.Set(o, 0, r.of(s, flip))
		} else {
			c.Set(0, o, r.of(s, flip))
		}
	}
}

// A result makes an element of what was folded.
type result[D float32 | float64 | int32 | bool] interface {
	of(s state, flip int64) D
}

type (
	value32  struct{} // the element whose key it is
	value64  struct{}
	valueInt struct{}
	index    struct{} // the first index
	total    struct{} // the sum of the keys
	reached  struct{} // whether the sum is at least flip
)

func (value32) of(s state, flip int64) float32 {
	if s.key == math.MaxInt64 {
		return math.Float32frombits(0x7fc00000)
	}
	b := s.key ^ flip
	return math.Float32frombits(uint32(b ^ b>>63&(1<<31-1)))
}

func (value64) of(s state, flip int64) float64 {
	if s.key == math.MaxInt64 {
		return math.Float64frombits(0x7ff8 << 48)
	}
	b := s.key ^ flip
	return math.Float64frombits(uint64(b ^ b>>63&(1<<63-1)))
}

func (valueInt) of(s state, flip int64) int32 { return int32(s.key ^ flip) }
func (index) of(s state, _ int64) int32       { return int32(s.index) }
func (total) of(s state, _ int64) int32       { return int32(s.key) }
func (reached) of(s state, least int64) bool  { return s.key >= least }

// Finish makes the elements of c of the count parts that FoldAlong or FoldAcross left of each.
//
//tandem:kernel float32,value32 float64,value64 int32,valueInt int32,index int32,total bool,reached
func Finish[D float32 | float64 | int32 | bool, R result[D]](it gpu.Item, r R, c gpu.Matrix[D], parts []int64,
	count int, sum bool, flip int64,
) {
	outputs := c.Rows * c.Cols
	for o := it.Global(0); o < outputs; o += it.GlobalSize(0) {
		s := no(sum)
		for p := range count {
			s = s.merge(sum, state{parts[2*p*outputs+o], parts[(2*p+1)*outputs+o]})
		}
		if c.Cols == 1 {
			c.Set(o, 0, r.of(s, flip))
		} else {
			c.Set(0, o, r.of(s, flip))
		}
	}
}
