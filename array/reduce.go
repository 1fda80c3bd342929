package array

import (
	"cmp"
	"fmt"
	"math"
	"unsafe"

	"github.com/tandem-gpu/tandem/array/internal/sums"
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/internal/inside"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
	"github.com/tandem-gpu/tandem/rmath"
	"github.com/tandem-gpu/tandem/rmath/f32"
)

// Sum makes c the exact sums of a, rounded once to nearest even, as package exact has them; int32
// wraps around. The sum of nothing is +0.
//
// As in all reductions the shape of c says over what: 1x1 over all of a, 1xN over the rows of an a
// with N columns, Mx1 over the columns of an a with M rows. c shares no elements with a.
func Sum[T Element](c, a *linalg.Array[T]) error {
	if err := checkReduction("Sum", c, a); err != nil {
		return err
	}
	if reduced(c, a) == 1 {
		return Add(c, a, Value[T](0)) // -0 becomes +0
	}
	if element.TypeOf[T]().Integer() && isNarrowNumber(c, a, sums.FewColumns) {
		return fromPacked(a, func(a *Array[T]) error { return Sum(c, a) })
	}
	return sums.Enqueue(sums.Sum[T]{C: c, X: a, Over: 1})
}

// Mean makes c the exact sums of a over their numbers of elements, rounded once. The mean of
// nothing is NaN.
func Mean[T Float](c, a *linalg.Array[T]) error {
	if err := checkReduction("Mean", c, a); err != nil {
		return err
	}
	if reduced(c, a) == 1 {
		return Sum(c, a)
	}
	return sums.Enqueue(sums.Sum[T]{C: c, X: a, Over: uint64(reduced(c, a))})
}

// Var makes c the variances of a: with d = x - Mean, rounded, the exact sum of d*d over n - ddof,
// rounded once. Where n is not above ddof it is NaN. The device needs float64.
func Var[T Float](c, a *linalg.Array[T], ddof int) error { return deviation("Var", c, a, ddof, false) }

// Std makes c the standard deviations of a: the square root of what Var rounds, rounded once.
func Std[T Float](c, a *linalg.Array[T], ddof int) error { return deviation("Std", c, a, ddof, true) }

func deviation[T Float](op string, c, a *linalg.Array[T], ddof int, root bool) error {
	if err := checkReduction(op, c, a); err != nil {
		return err
	}
	if ddof < 0 {
		return argument(op, fmt.Sprintf("ddof is %d, below 0", ddof))
	}
	if isNarrowNumber(c, a, 1) {
		return fromPacked(a, func(a *Array[T]) error { return deviation(op, c, a, ddof, root) })
	}
	rows, cols := c.Dims()
	return inside.WithScratch(c.Session(), rows, cols, func(mean *Array[T]) error {
		if err := Mean(mean, a); err != nil {
			return err
		}
		over := uint64(max(0, reduced(c, a)-ddof))
		return sums.Enqueue(sums.Sum[T]{C: c, X: a, Y: a, Shift: mean, Over: over, Root: root})
	})
}

// Cov makes element (i, j) of c the covariance of rows i and j of a, which has as many rows as c
// has rows and columns: with d = x - Mean, of the row, rounded, the exact sum of d[i,k]*d[j,k] over
// n - ddof for n columns, rounded once. So the diagonal is Var. Where n is not above ddof it is
// NaN, as where an infinite d meets 0. c shares no elements with a. The device needs float64. It
// takes twice the memory of a while it runs, and for each row goes over those from it on.
func Cov[T Float](c, a *Array[T], ddof int) error {
	if _, rows, _, err := checkCovariance("Cov", c, a, ddof); err != nil || rows == 0 {
		return err
	}
	return covariance(c, a, ddof)
}

// Corr makes element (i, j) of c the correlation of rows i and j of a: with v = Cov(a, 0) it is
// v[i,j]/sqrt(v[i,i])/sqrt(v[j,j]), each step rounded, or the nearer of -1 and 1 where it is beyond
// them; NaN where all elements of a row are equal. Each row is multiplied by a power of two first,
// so that its largest element is near 1, and no square overflows or vanishes. The rest is as for
// [Cov], but that it takes three times the memory of a.
func Corr[T Float](c, a *Array[T]) error {
	s, rows, cols, err := checkCovariance("Corr", c, a, 0)
	if err != nil || rows == 0 {
		return err
	}
	return inside.WithScratch(s, rows, 1, func(column *Array[T]) error {
		err := inside.WithScratch(s, rows, cols, func(scaled *Array[T]) error {
			return cmp.Or(nearOne(scaled, a, column), covariance(c, scaled, 0))
		})
		if err != nil {
			return err
		}
		row, err := column.Reshape(1, rows)
		return cmp.Or(err, Diag(column, c), Sqrt[T](column, column), Div[T](c, c, column), Div[T](c, c, row),
			Clip[T](c, c, Value[T](-1), Value[T](1)))
	})
}

// nearOne makes scaled the rows of a times powers of two that bring their largest elements near 1,
// which changes no digit of a sum of products. scale is memory for the powers.
func nearOne[T Float](scaled, a, scale *Array[T]) error {
	most := T(1000)
	if unsafe.Sizeof(most) == 4 {
		most = 120
	}
	return cmp.Or(Norm(scale, a, math.Inf(1)), Log2[T](scale, scale), Floor[T](scale, scale), scale.Scale(-1, scale),
		Clip[T](scale, scale, Value(-most), Value(most)), Exp2[T](scale, scale), Mul[T](scaled, a, scale))
}

func checkCovariance[T Float](op string, c, a *Array[T], ddof int) (s *linalg.Session, rows, cols int, err error) {
	s, rows, cols, err = dims(op, "a", a)
	if err == nil {
		err = checkShape(op, "c", c, s, rows, rows)
	}
	switch {
	case err != nil:
	case inside.Overlap(c, a):
		err = fmt.Errorf("%w: %s: c and a", linalg.ErrOverlap, op)
	case ddof < 0:
		err = argument(op, fmt.Sprintf("ddof is %d, below 0", ddof))
	}
	return s, rows, cols, err
}

// covariance is Cov of operands that are checked, and have rows.
func covariance[T Float](c, a *Array[T], ddof int) error {
	rows, cols := a.Dims()
	s := c.Session()
	over := uint64(max(0, cols-ddof))
	return inside.WithScratch(s, rows, cols, func(d *Array[T]) error {
		return inside.WithScratch(s, rows, cols, func(other *Array[T]) error {
			mean := c.Slice(0, rows, 0, 1)
			if err := cmp.Or(Mean(mean, a), Sub[T](d, a, mean)); err != nil {
				return err
			}
			for i := range rows { // with those below, since c is symmetric
				row, x, y := d.Slice(i, i+1, 0, cols), d.Slice(i, rows, 0, cols), other.Slice(i, rows, 0, cols)
				err := cmp.Or(Copy(y, row),
					sums.Enqueue(sums.Sum[T]{C: c.Slice(i, rows, i, i+1), X: x, Y: y, Over: over}),
					c.Slice(i, i+1, i+1, rows).Transpose(c.Slice(i+1, rows, i, i+1)))
				if err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// Norm makes c the norms of a as of vectors: for kind 1 the exact sum of magnitudes, rounded once;
// for 2 the square root of the exact sum of squares, rounded once; for +Inf the largest magnitude.
// The norm of nothing is +0. Another kind is backend.ErrArgument.
// The device needs float64 for kind 2.
func Norm[T Float](c, a *linalg.Array[T], kind float64) error {
	if err := checkReduction("Norm", c, a); err != nil {
		return err
	}
	n := reduced(c, a)
	switch {
	case n == 1 && (kind == 1 || kind == 2 || math.IsInf(kind, 1)):
		return Abs(c, a)
	case isNarrowNumber(c, a, 1):
		return fromPacked(a, func(a *Array[T]) error { return Norm(c, a, kind) })
	case kind == 1:
		return sums.Enqueue(sums.Sum[T]{C: c, X: a, Abs: true, Over: 1})
	case kind == 2:
		return sums.Enqueue(sums.Sum[T]{C: c, X: a, Y: a, Over: 1, Root: true})
	case math.IsInf(kind, 1) && n == 0:
		return Fill(c, 0)
	case math.IsInf(kind, 1):
		return most("Norm", c, a, sums.Magnitude)
	}
	return argument("Norm", fmt.Sprintf("there is no norm of kind %v; 1, 2 and +Inf are", kind))
}

// Dot is the exact sum of the products of the elements of a and b, which have one shape, rounded
// once. It waits for the result. The device needs float64.
func Dot[T Float](a, b *linalg.Array[T]) (T, error) {
	if err := check("Dot", "the first operand", a, nil); err != nil {
		return 0, err
	}
	if err := check("Dot", "the second operand", b, a.Session()); err != nil {
		return 0, err
	}
	rows, cols := a.Dims()
	if r, c := b.Dims(); r != rows || c != cols {
		return 0, fmt.Errorf("%w: Dot of %s and %s", linalg.ErrShape, a, b)
	}
	return number(a.Session(), func(c *linalg.Array[T]) error {
		return sums.Enqueue(sums.Sum[T]{C: c, X: a, Y: b, Over: 1})
	})
}

// Total is the Sum of all elements of a. It waits for the result.
func Total[T Element](a *linalg.Array[T]) (T, error) {
	if err := check("Total", "the operand", a, nil); err != nil {
		return 0, err
	}
	return number(a.Session(), func(c *linalg.Array[T]) error { return Sum(c, a) })
}

// Prod makes c the products of a, over what the shape of c says, as for [Sum]. With h the half of n
// factors, rounded up, each factor k below n-h becomes its product with factor k+h, rounded, and h
// are left, until there is one: the order is the same on every device. Over all, factors are
// counted by rows. No step of floats overflows or underflows: exponents are unbounded, and the
// product is rounded once more to T at the end. int32 wraps around. The product of nothing is 1. It
// takes the memory of a while it runs, and of floats 8 bytes more for each factor.
func Prod[T Element](c, a *Array[T]) error {
	if err := checkReduction("Prod", c, a); err != nil {
		return err
	}
	m, k := c.Dims()
	if reduced(c, a) == 0 || m == 0 || k == 0 {
		return Fill(c, 1)
	}
	switch c := any(c).(type) {
	case *Array[float32]:
		return prodFloat[float32, parts32](c, any(a).(*Array[float32]))
	case *Array[float64]:
		return prodFloat[float64, parts64](c, any(a).(*Array[float64]))
	}
	rows, cols := a.Dims()
	return inside.WithScratch(c.Session(), rows, cols, func(x *Array[T]) error {
		err := Copy(x, a)
		for left := reduced(c, a); left > 1 && err == nil; left = (left + 1) / 2 {
			first, second := halves(c, x, left)
			err = Mul(first, first, second)
		}
		return cmp.Or(err, Copy(c, x.Slice(0, m, 0, k)))
	})
}

// halves are those of left factors in x that a step of Prod multiplies.
func halves[D, T any](c *Array[D], x *Array[T], left int) (first, second *Array[T]) {
	m, k := c.Dims()
	h := (left + 1) / 2
	switch {
	case m == 1 && k == 1:
		x = flat(x)
	case k > 1:
		return x.Slice(0, left-h, 0, k), x.Slice(h, left, 0, k)
	}
	return x.Slice(0, m, 0, left-h), x.Slice(0, m, h, left)
}

// prodFloat is Prod with exponents apart.
func prodFloat[T Float, F parts[T]](c, a *Array[T]) error {
	var of F
	s := c.Session()
	info := s.Info()
	m, k := c.Dims()
	rows, cols := a.Dims()
	return inside.WithScratch(s, rows, cols, func(x *Array[T]) error {
		return inside.WithScratch(s, rows, cols, func(e *Array[int64]) error {
			err := cmp.Or(Copy(x, a), Fill(e, 0))
			for left := reduced(c, a); left > 1 && err == nil; left = (left + 1) / 2 {
				first, second := halves(c, x, left)
				to, from := halves(c, e, left)
				r, n := first.Dims()
				grid := kernels.ElementwiseGrid(&info, int64(r), int64(n))
				err = launchMulApart[T](s, grid, of, first, to, second, from)
			}
			grid := kernels.ElementwiseGrid(&info, int64(m), int64(k))
			return cmp.Or(err, launchTogether[T](s, grid, of, c, x.Slice(0, m, 0, k), e.Slice(0, m, 0, k)))
		})
	})
}

// mulApart multiplies x 2^e by y 2^f: the product of mantissas is from 1/4 to 1.
//
//tandem:kernel float32,parts32 float64,parts64
func mulApart[T Float, F parts[T]](it gpu.Item, of F, x gpu.Matrix[T], e gpu.Matrix[int64],
	y gpu.Matrix[T], f gpu.Matrix[int64],
) {
	for i := it.Global(1); i < x.Rows; i += it.GlobalSize(1) {
		for j := it.Global(0); j < x.Cols; j += it.GlobalSize(0) {
			p, m := of.apart(x.At(i, j))
			q, n := of.apart(y.At(i, j))
			x.Set(i, j, p*q)
			e.Set(i, j, e.At(i, j)+f.At(i, j)+m+n)
		}
	}
}

// together makes z x 2^e, rounded once.
//
//tandem:kernel float32,parts32 float64,parts64
func together[T Float, F parts[T]](it gpu.Item, of F, z, x gpu.Matrix[T], e gpu.Matrix[int64]) {
	for i := it.Global(1); i < z.Rows; i += it.GlobalSize(1) {
		for j := it.Global(0); j < z.Cols; j += it.GlobalSize(0) {
			p, n := of.apart(x.At(i, j))
			z.Set(i, j, of.together(p, n+e.At(i, j)))
		}
	}
}

// parts are the functions of a float type for mantissas and exponents. The device needs no float64
// for parts32.
type parts[T Float] interface {
	parts32 | parts64
	apart(x T) (mantissa T, n int64)    // a mantissa from 1/2 to 1, or 0, infinite or NaN
	together(mantissa T, n int64) (x T) // rounded once
}

type (
	parts32 struct{}
	parts64 struct{}
)

func (parts32) apart(x float32) (mantissa float32, n int64) {
	mantissa, e := f32.Frexp(x)
	return mantissa, int64(e)
}

func (parts64) apart(x float64) (mantissa float64, n int64) {
	mantissa, e := rmath.Frexp(x)
	return mantissa, int64(e)
}

func (parts32) together(mantissa float32, n int64) float32 {
	n = max(-200, min(n, 200)) // beyond, all numbers become 0 or infinite
	h := n / 2
	return mantissa * math.Float32frombits(uint32(127+h)<<23) * math.Float32frombits(uint32(127+n-h)<<23)
}

func (parts64) together(mantissa float64, n int64) float64 {
	return rmath.Ldexp(mantissa, int(max(-4000, min(n, 4000))))
}

// chains is a grid of a work-item for each of n rows, where each step waits for the one before:
// the cpu device is faster row by row than with one in each lane.
func chains(s *linalg.Session, n int) backend.Grid {
	if s.Info().Host {
		return backend.Grid1(n, 1)
	}
	return backend.GridFor(n)
}

// CumSum makes each element of c the exact sum of the elements of a in its row from the first up to
// there, rounded once; int32 wraps around. With axis 0 it is in its column, from the first row
// down. c has the shape of a, which it may be; it shares elements with no other a.
func CumSum[T Element](c, a *Array[T], axis ...int) error {
	return along("CumSum", axis, c, a, cumSumEach[T])
}

func cumSumEach[T Element](c, a *Array[T]) error {
	_, _, _, err := sameDims("CumSum", "c", c, "a", a)
	if err != nil {
		return err
	}
	if err := sameOrApart("CumSum", c, a); err != nil {
		return err
	}
	return sums.CumSum(c, a)
}

// Max makes c the largest elements of a, as Go's max has them: NaN where there is one, and +0 above
// -0. Where there are none it is ErrShape.
func Max[T Element](c, a *linalg.Array[T]) error { return most("Max", c, a, sums.Largest) }

// Min makes c the smallest elements of a, as Go's min has them: NaN where there is one, and -0
// below +0. Where there are none it is ErrShape.
func Min[T Element](c, a *linalg.Array[T]) error { return most("Min", c, a, sums.Smallest) }

func most[T Element](op string, c, a *linalg.Array[T], o sums.Order) error {
	if err := checkSome(op, c, a); err != nil {
		return err
	}
	if isNarrowNumber(c, a, sums.FewColumns) {
		return fromPacked(a, func(a *Array[T]) error { return sums.Most(c, a, o) })
	}
	return sums.Most(c, a, o)
}

// ArgMax makes c the index of the first element that Max gives: its row or column, or, over all,
// its place counted by rows.
func ArgMax[T Element](c *linalg.Array[int32], a *linalg.Array[T]) error {
	return index("ArgMax", c, a, sums.Largest)
}

// ArgMin makes c the index of the first element that Min gives, as ArgMax does.
func ArgMin[T Element](c *linalg.Array[int32], a *linalg.Array[T]) error {
	return index("ArgMin", c, a, sums.Smallest)
}

func index[T Element](op string, c *linalg.Array[int32], a *linalg.Array[T], o sums.Order) error {
	if err := checkSome(op, c, a); err != nil {
		return err
	}
	if n := reduced(c, a); n > math.MaxInt32 {
		return fmt.Errorf("%w: %s of %s: an int32 has no index for %d elements", linalg.ErrShape, op, a, n)
	}
	if isNarrowNumber(c, a, sums.FewColumns) {
		return fromPacked(a, func(a *Array[T]) error { return sums.Index(c, a, o) })
	}
	return sums.Index(c, a, o)
}

// Count makes c the number of elements of a mask that are true; it wraps around as int32 does.
func Count(c *linalg.Array[int32], mask *linalg.Array[bool]) error {
	if err := checkReduction("Count", c, mask); err != nil {
		return err
	}
	if isNarrowNumber(c, mask, sums.FewColumns) {
		return fromPacked(mask, func(mask *Array[bool]) error { return sums.Count(c, mask) })
	}
	return sums.Count(c, mask)
}

// Any makes c whether an element of a mask is true.
func Any(c, mask *linalg.Array[bool]) error {
	if err := checkReduction("Any", c, mask); err != nil {
		return err
	}
	return truth(c, mask, sums.Largest)
}

// All makes c whether all elements of a mask are true, as those of nothing are.
func All(c, mask *linalg.Array[bool]) error {
	if err := checkReduction("All", c, mask); err != nil {
		return err
	}
	return truth(c, mask, sums.Smallest)
}

func truth(c, mask *linalg.Array[bool], o sums.Order) error {
	if reduced(c, mask) == 1 {
		return Copy(c, mask)
	}
	if isNarrowNumber(c, mask, sums.FewColumns) {
		return fromPacked(mask, func(mask *Array[bool]) error { return sums.Truth(c, mask, o) })
	}
	return sums.Truth(c, mask, o)
}

// number is what f leaves in an array of one element.
func number[T Element | bool](s *linalg.Session, f func(c *linalg.Array[T]) error) (v T, err error) {
	c, err := linalg.NewArray[T](s, 1, 1)
	if err != nil {
		return v, err
	}
	defer c.Free()
	if err := f(c); err != nil {
		return v, err
	}
	m := linalg.NewMatrix[T](1, 1, nil)
	err = c.CopyTo(m)
	return m.Data[0], err
}

// checkReduction checks the shapes and the sessions of a reduction of a to c.
func checkReduction[C, T any](op string, c *linalg.Array[C], a *linalg.Array[T]) error {
	if err := check(op, "the destination", c, nil); err != nil {
		return err
	}
	if err := check(op, "the operand", a, c.Session()); err != nil {
		return err
	}
	rows, cols := c.Dims()
	ar, ac := a.Dims()
	if _, err := overOf(op, c, a, rows, cols, ar, ac); err != nil {
		return err
	}
	if same, ok := any(a).(*linalg.Array[C]); ok && inside.Overlap(c, same) {
		return fmt.Errorf("%w: %s of %s", linalg.ErrOverlap, op, a)
	}
	return nil
}

// checkSome is checkReduction where each element of c needs one of a.
func checkSome[C, T any](op string, c *linalg.Array[C], a *linalg.Array[T]) error {
	if err := checkReduction(op, c, a); err != nil {
		return err
	}
	if rows, cols := c.Dims(); reduced(c, a) == 0 && rows*cols > 0 {
		return fmt.Errorf("%w: %s of %s: there is none of no elements", linalg.ErrShape, op, a)
	}
	return nil
}

// reduced is the number of elements of a that make one of c.
func reduced[C, T any](c *linalg.Array[C], a *linalg.Array[T]) int {
	rows, cols := c.Dims()
	ar, ac := a.Dims()
	if cols > 1 || cols == 0 {
		return ar
	}
	if rows > 1 || rows == 0 {
		return ac
	}
	return ar * ac
}
