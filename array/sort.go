package array

import (
	"cmp"
	"fmt"
	"math"
	"unsafe"

	"github.com/tandem-gpu/tandem/array/internal/sorting"
	"github.com/tandem-gpu/tandem/array/internal/sums"
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/inside"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

// orderOf is the order of the bits of T, whose two zeros may be the same, and whether T has 64
// bits.
func orderOf[T Element](same bool) (o sorting.Order, wide bool) {
	switch any(*new(T)).(type) {
	case float32:
		return sorting.Float(32, 23, same), false
	case float64:
		return sorting.Float(64, 52, same), true
	}
	return sorting.Signed(), false
}

func narrow[T any](a *Array[T]) *Array[uint32] { return (*Array[uint32])(a) }
func wide[T any](a *Array[T]) *Array[uint64]   { return (*Array[uint64])(a) }

// Sort makes each row of c that of a, sorted: -0 is before +0, and NaN is last. With axis 0 it
// sorts columns, in a transposed copy. c may share elements with a. Like all functions here that
// sort, it takes 16 bytes of the device's memory for an element while it runs, which the session
// may keep for later calls; Sort of float32 and int32 takes 8, but, on other devices than the cpu
// device, for rows of up to 64, or on a GPU of up to 256.
func Sort[T Element](c, a *Array[T], axis ...int) error {
	return along("Sort", axis, c, a, sortEach[T])
}

func sortEach[T Element](c, a *Array[T]) error {
	_, rows, cols, err := sameDims("Sort", "a", a, "c", c)
	if err != nil {
		return err
	}
	return sortTo(c, a, rows, cols, false)
}

// sortTo makes c rows of n elements, those of a in its order, each sorted. The two zeros may be the
// same.
func sortTo[T Element](c, a *Array[T], rows, n int, same bool) error {
	switch o, is64 := orderOf[T](same); {
	case is64:
		return sortRows[uint64](wide(c), wide(a), rows, n, o, 64)
	case sorting.ByRank(a.Session(), n):
		return sortRows[uint64](narrow(c), narrow(a), rows, n, o, 32)
	default:
		return sortRows[uint32](narrow(c), narrow(a), rows, n, o, 32)
	}
}

// sortRows sorts keys that are P.
func sortRows[P sorting.Pair, E uint32 | uint64](c, a *Array[E], rows, n int, o sorting.Order, bits uint) error {
	a, c = flat(a), flat(c)
	return sorting.WithRows(a.Session(), rows, n, func(r *sorting.Rows[P]) error {
		sorting.Put(r, a, 0, o, 0)
		r.Sort(0, bits, false)
		_, pitch := c.Dims()
		sorting.Get(r, c, r.Pairs, pitch, o)
		return nil
	})
}

// ArgSort makes each row of index the columns of a's elements in the order of [Sort]; those of
// equal elements ascend. With axis 0 each column of index has rows.
func ArgSort[T Element](index *Array[int32], a *Array[T], axis ...int) error {
	return along("ArgSort", axis, index, a, argSortEach[T])
}

func argSortEach[T Element](index *Array[int32], a *Array[T]) error {
	s, rows, cols, err := sameDims("ArgSort", "a", a, "index", index)
	switch {
	case err != nil:
		return err
	case cols == 1:
		return Fill(index, 0)
	}
	return sorting.WithRows(s, rows, cols, func(r *sorting.Rows[uint64]) error {
		if o, is64 := orderOf[T](false); is64 {
			sorting.Arrange(r, wide(a), o)
		} else {
			sorting.Arrange(r, narrow(a), o)
		}
		sorting.Get(r, narrow(index), r.Pairs, cols, sorting.Order{})
		return nil
	})
}

// TopK makes each row of c the largest elements of that of a, as many as c has columns, and index
// the columns that they have in a: from the largest down, which is the order of [Sort] turned
// round, but for NaN, which is last here, too. The columns of equal elements ascend. c may share
// elements with a. With axis 0 it is the largest of each column, and index has their rows.
func TopK[T Element](c *Array[T], index *Array[int32], a *Array[T], axis ...int) error {
	down, err := columns("TopK", axis)
	switch {
	case err != nil:
		return err
	case !down || a == nil || c == nil || index == nil:
		return topOfEach(c, index, a)
	}
	return transposed(a, func(a *Array[T]) error {
		return transposing(c, func(c *Array[T]) error {
			return transposing(index, func(index *Array[int32]) error { return topOfEach(c, index, a) })
		})
	})
}

func topOfEach[T Element](c *Array[T], index *Array[int32], a *Array[T]) error {
	s, rows, cols, err := dims("TopK", "a", a)
	if err == nil {
		err = check("TopK", "c", c, s)
	}
	if err != nil {
		return err
	}
	_, k := c.Dims()
	if k > cols {
		return fmt.Errorf("%w: TopK: the %d largest of %d elements", linalg.ErrShape, k, cols)
	}
	err = cmp.Or(checkShape("TopK", "c", c, s, rows, k), checkShape("TopK", "index", index, s, rows, k))
	switch {
	case err != nil:
		return err
	case overlap(index, a):
		return fmt.Errorf("%w: TopK: index and a", linalg.ErrOverlap)
	case overlap(index, c):
		return fmt.Errorf("%w: TopK: index and c", linalg.ErrOverlap)
	}
	o, is64 := orderOf[T](false)
	if is64 {
		return topRows(wide(c), index, wide(a), o.Down())
	}
	return topRows(narrow(c), index, narrow(a), o.Down())
}

func topRows[E uint32 | uint64](c *Array[E], index *Array[int32], a *Array[E], o sorting.Order) error {
	_, k := c.Dims()
	return sorting.WithFirst(a, k, o, func(r *sorting.Rows[uint64], n int) error {
		sorting.Get(r, narrow(index), r.Pairs, n, sorting.Order{})
		sorting.PutAgain(r, r.Pairs, a, o, 0)
		sorting.Get(r, c, r.Pairs, n, o)
		return nil
	})
}

// Unique writes the different elements of a, in the order of [Sort], to the first elements of c,
// and how often a has each to those of counts, unless that is nil. +0 and -0 are one element, +0,
// and all NaN are one. c and counts are rows or columns; where they are too short it is ErrShape,
// and nothing is written. c may share elements with a. Unique waits, and returns how many there
// are.
func Unique[T Element](c *Array[T], counts *Array[int32], a *Array[T]) (n int, err error) {
	s, rows, cols, err := dims("Unique", "a", a)
	if err == nil {
		_, err = checkVector("Unique", "c", c, s, 0)
	}
	if err == nil && counts != nil {
		_, err = checkVector("Unique", "counts", counts, s, 0)
	}
	switch {
	case err != nil:
		return 0, err
	case rows*cols > math.MaxInt32:
		return 0, fmt.Errorf("%w: Unique: a is %s, of more elements than an int32 counts", linalg.ErrShape, a)
	case counts != nil && overlap(counts, c):
		return 0, fmt.Errorf("%w: Unique: counts and c", linalg.ErrOverlap)
	}
	err = inside.WithScratch(s, 1, rows*cols, func(x *Array[T]) error {
		if err := sortTo(x, a, 1, rows*cols, true); err != nil {
			return err
		}
		return inside.WithScratch(s, 1, rows*cols+1, func(places *Array[int32]) (err error) {
			n, err = different(c, counts, x, places)
			return err
		})
	})
	return n, err
}

// different writes to c the different elements of x, which are sorted, and to counts how many there
// are of each. It waits, and returns how many they are. places has room for one more than x.
func different[T Element](c *Array[T], counts *Array[int32], x *Array[T], places *Array[int32]) (n int, err error) {
	_, all := x.Dims()
	err = inside.WithScratch(x.Session(), 1, all, func(first *Array[bool]) (err error) {
		if err = markFirsts(first, x); err == nil {
			n, err = Nonzero(places, first)
		}
		return err
	})
	if err == nil {
		_, err = checkVector("Unique", "c", c, x.Session(), n)
	}
	if err == nil && counts != nil {
		_, err = checkVector("Unique", "counts", counts, x.Session(), n)
	}
	if err != nil || n == 0 {
		return n, err
	}
	if counts != nil {
		if err := distances(head(counts, n), places, all); err != nil {
			return n, err
		}
	}
	return n, takeElements(head(c, n), x, places.Slice(0, 1, 0, n))
}

// markFirsts makes first whether elements of x, which are sorted, differ from those before.
func markFirsts[T Element](first *Array[bool], x *Array[T]) error {
	s := x.Session()
	info := s.Info()
	_, n := x.Dims()
	switch grid := kernels.ElementwiseGrid(&info, 1, int64(n)); {
	case n == 0:
		return nil
	case unsafe.Sizeof(*new(T)) == 8:
		return sorting.LaunchFirsts[uint64](s, grid, (*Array[uint8])(first), wide(x))
	default:
		return sorting.LaunchFirsts[uint32](s, grid, (*Array[uint8])(first), narrow(x))
	}
}

// distances makes counts how far each of the places is from the next, the last one from end.
func distances(counts, places *Array[int32], end int) error {
	rows, cols := counts.Dims()
	n := rows * cols
	if err := places.Slice(0, 1, n, n+1).CopyFrom(linalg.NewMatrix(1, 1, []int32{int32(end)})); err != nil {
		return err
	}
	from, err := places.Slice(0, 1, 0, n).Reshape(rows, cols)
	if err != nil {
		return err
	}
	to, err := places.Slice(0, 1, 1, n+1).Reshape(rows, cols)
	return cmp.Or(err, counts.Sub(to, from))
}

// Quantile makes element (i, j) of c the quantile p[j] of row i of a, for which p[j] is from 0 to
// 1: with h = p*(n-1), its whole part k and f = h-k it lies f of the way from s[k] to s[k+1], where
// s is the row as [Sort] has it. So 0.5 gives the median. c has a column for each p. It is computed
// in float64, which the device needs, as docs/contract.md says, and rounded to T: it never leaves
// the row's range, nor falls where p rises. Of a row with a NaN all are NaN. c may share elements
// with a.
func Quantile[T Float](c, a *Array[T], p ...float64) error {
	s, rows, n, err := dims("Quantile", "a", a)
	if err == nil {
		err = checkShape("Quantile", "c", c, s, rows, len(p))
	}
	switch {
	case err != nil:
		return err
	case n == 0:
		return fmt.Errorf("%w: Quantile of no elements", linalg.ErrShape)
	}
	for _, p := range p {
		if !(p >= 0 && p <= 1) {
			return argument("Quantile", fmt.Sprintf("p is %v, and must be from 0 to 1", p))
		}
	}
	return inside.WithScratch(s, rows, n, func(row *Array[T]) error {
		if err := Sort(row, a); err != nil {
			return err
		}
		last := row.Slice(0, rows, n-1, n) // NaN come last
		return inside.WithScratch(s, rows, 1, func(hasNaN *Array[bool]) error {
			err := IsNaN(hasNaN, last)
			for j, p := range p {
				to := c.Slice(0, rows, j, j+1)
				err = cmp.Or(err, quantileOf(to, row, p), Where[T](to, hasNaN, last, to))
			}
			return err
		})
	})
}

// quantileOf makes c the quantile p of rows that are sorted.
func quantileOf[T Float](c, sorted *Array[T], p float64) error {
	rows, n := sorted.Dims()
	h := p * float64(n-1)
	k := int(h)
	low, f := sorted.Slice(0, rows, k, k+1), h-float64(k)
	if f == 0 {
		return c.Scale(1, low)
	}
	return launchBetween[T](c.Session(), c, low, sorted.Slice(0, rows, k+1, k+2), Value(f))
}

// between is what lies f of the way from x to y, which is not below x. Around 0 a difference could
// overflow; on either side of it what is nearer is the one to start from, and what comes from y is
// not below what has come from x.
//
//tandem:map float32 float64
func between[T Float](x, y T, f float64) T {
	a, b := float64(x), float64(y)
	d := b - a
	switch {
	case a == b:
		return x
	case a <= 0 && b >= 0 || d > math.MaxFloat64:
		return T(float64((1-f)*a) + float64(f*b))
	case f < 0.5:
		return T(a + float64(f*d))
	}
	return T(max(a+d/2, b-float64((1-f)*d)))
}

// SearchSorted makes each element of index how many elements of sorted are less than that of a. The
// elements of sorted, a row or a column, ascend; +0 and -0 are equal, and NaN is behind all
// numbers.
func SearchSorted[T Element](index *Array[int32], sorted, a *Array[T]) error {
	return searchSorted("SearchSorted", index, sorted, a, before)
}

// SearchSortedRight makes each element of index how many elements of sorted are at or below that of
// a: NumPy's side='right'. The rest is as for [SearchSorted].
func SearchSortedRight[T Element](index *Array[int32], sorted, a *Array[T]) error {
	return searchSorted("SearchSortedRight", index, sorted, a, upTo)
}

func searchSorted[T Element](op string, index *Array[int32], sorted, a *Array[T], what finding) error {
	s, rows, cols, err := dims(op, "a", a)
	if err == nil {
		_, err = checkVector(op, "sorted", sorted, s, 0)
	}
	if err == nil {
		err = checkShape(op, "index", index, s, rows, cols)
	}
	switch {
	case err != nil:
		return err
	case overlap(index, a):
		return fmt.Errorf("%w: %s: index and a", linalg.ErrOverlap, op)
	case overlap(index, sorted):
		return fmt.Errorf("%w: %s: index and sorted", linalg.ErrOverlap, op)
	}
	return search(index, sorted, a, what)
}

// IsIn makes each element of mask, which has the shape of a, whether set, of any shape, has the
// element of a. +0 and -0 are equal, and so are all NaN, as in [Unique]. It takes the memory of
// [Sort] for set, and 8 bytes for each element of a.
func IsIn[T Element](mask *Array[bool], a, set *Array[T]) error {
	s, rows, cols, err := sameDims("IsIn", "a", a, "mask", mask)
	if err == nil {
		err = check("IsIn", "set", set, s)
	}
	if err != nil {
		return err
	}
	m, n := set.Dims()
	switch {
	case m*n > math.MaxInt32:
		return fmt.Errorf("%w: IsIn: set is %s, of more elements than an int32 counts", linalg.ErrShape, set)
	case m*n == 0 || rows*cols == 0:
		return Fill(mask, false)
	}
	return inside.WithScratch(s, 1, m*n, func(sorted *Array[T]) error {
		return inside.WithScratch(s, rows, cols, func(from *Array[int32]) error {
			return inside.WithScratch(s, rows, cols, func(to *Array[int32]) error {
				return cmp.Or(sortTo(sorted, set, 1, m*n, true), search(from, sorted, a, before),
					search(to, sorted, a, upTo), Less(mask, from, to))
			})
		})
	})
}

// Histogram makes element i of counts how many x of a have edges[i] <= x < edges[i+1], or, for the
// last one, x <= edges[i+1]. counts and edges are rows or columns, of which edges has one element
// more; where it falls, or has a NaN, it is backend.ErrArgument. Histogram waits until it has seen
// that. NaN is in no bin.
func Histogram[T Element](counts *Array[int32], edges, a *Array[T]) error {
	s, rows, cols, err := dims("Histogram", "a", a)
	n := 0
	if err == nil {
		n, err = checkVector("Histogram", "edges", edges, s, 2)
	}
	if err == nil {
		var bins int
		if bins, err = checkVector("Histogram", "counts", counts, s, n-1); err == nil && bins != n-1 {
			err = fmt.Errorf("%w: Histogram: counts is %s, and %d edges have %d bins", linalg.ErrShape, counts, n, n-1)
		}
	}
	switch {
	case err != nil:
		return err
	case rows*cols > math.MaxInt32:
		return fmt.Errorf("%w: Histogram: a is %s, of more elements than an int32 counts", linalg.ErrShape, a)
	case overlap(counts, a):
		return fmt.Errorf("%w: Histogram: counts and a", linalg.ErrOverlap)
	case overlap(counts, edges):
		return fmt.Errorf("%w: Histogram: counts and edges", linalg.ErrOverlap)
	}
	if err := checkEdges(edges); err != nil {
		return err
	}
	return cmp.Or(counts.Sub(counts, counts), search(counts, edges, a, bins))
}

// checkEdges names the first of the edges that is not at or above the one before.
func checkEdges[T Element](edges *Array[T]) error {
	m, err := edges.Download()
	if err != nil {
		return err
	}
	last := m.Data[0]
	for i, e := range m.Data {
		switch {
		case e != e:
			return argument("Histogram", fmt.Sprintf("edges[%d] is NaN", i))
		case e < last:
			return argument("Histogram", fmt.Sprintf("edges[%d] is %v, below edges[%d], which is %v", i, e, i-1, last))
		}
		last = e
	}
	return nil
}

// A finding is what search makes of each element.
type finding int

const (
	before finding = iota // how many edges are below it
	upTo                  // how many are not above it
	bins                  // one more in its bin
)

func search[T Element](c *Array[int32], edges, a *Array[T], what finding) error {
	count, right := what == bins, what == upTo
	switch {
	case sums.IsNarrow(a):
		return fromPacked(a, func(a *Array[T]) error { return search(c, edges, a, what) })
	case !count && sums.IsNarrow(c):
		return toPacked(c, func(c *Array[int32]) error { return search(c, edges, a, what) })
	}
	if count {
		a = flat(a)
	} else {
		c, a = sums.Flat(c, a)
	}
	rows, cols := a.Dims()
	if rows == 0 || cols == 0 {
		return nil
	}
	const each, most = 4096, 1 << 15 // elements of a group, so that its own counts are few of all
	grid := backend.Grid2(min((cols+each-1)/each, most), min(rows, most), 256, 1)
	o, is64 := orderOf[T](true)
	if is64 {
		return sorting.LaunchSearch[uint64](a.Session(), grid, c, wide(edges), wide(a), o, count, right)
	}
	return sorting.LaunchSearch[uint32](a.Session(), grid, c, narrow(edges), narrow(a), o, count, right)
}
