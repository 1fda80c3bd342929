package array

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/array/internal/sorting"
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/inside"
	"github.com/tandem-gpu/tandem/linalg"
)

// A Metric is a distance of two vectors q and p. It is made of their product q·p and of q·q and
// p·p, each a chain as docs/contract.md has it, and is never NaN where these are finite.
type Metric int

const (
	// SquaredEuclidean is max(fma(-2, q·p, q·q + p·p), 0). That of a vector to itself is 0. Where
	// q·q + p·p is beyond the type it is +Inf. Its error is that of q·q + p·p: of vectors that are
	// far from 0 and near each other subtract the mean first.
	SquaredEuclidean Metric = Metric(sorting.SquaredEuclidean)
	// InnerProduct is 0 - q·p, so that the largest product is the nearest.
	InnerProduct Metric = Metric(sorting.InnerProduct)
	// Cosine is 1 - min(max((q·p)·r·s, -1), 1) with r = 1/sqrt(q·q) and s = 1/sqrt(p·p), each step
	// rounded. r or s is 0 for a vector whose squares come to 0, which is at 1 from all; where they
	// come to +Inf, so does the distance.
	Cosine Metric = Metric(sorting.Cosine)
)

// String is the metric's name.
func (m Metric) String() string {
	switch m {
	case SquaredEuclidean:
		return "SquaredEuclidean"
	case InnerProduct:
		return "InnerProduct"
	case Cosine:
		return "Cosine"
	}
	return fmt.Sprintf("Metric(%d)", int(m))
}

// Points are vectors to be found, with what a metric needs of each: four bytes. Distances D are
// float32, or int32, which are exact, of int8. [NewPoints] makes them.
type Points[D float32 | int32, T Single | int8] struct {
	a      *Array[T]
	metric Metric
	norms  *Array[D] // a column
}

// NewPoints makes points of the rows of a, which it does not copy: while they are in use a must
// not change. Numbers of 16 bits count as the float32 that they are. Of int8 products are int32;
// distances of int32 are exact, and there is none for Cosine, while for float32 the products are
// rounded to that first. A row of int8 has up to 32768 columns, for which int32 is enough. Free
// frees what is beside a.
func NewPoints[D float32 | int32, T Single | int8](a *Array[T], metric Metric) (*Points[D, T], error) {
	const op, mostBytes = "NewPoints", 1 << 15
	s, rows, cols, err := dims(op, "a", a)
	_, exact := any(*new(D)).(int32)
	_, bytes := any(*new(T)).(int8)
	switch {
	case err != nil:
		return nil, err
	case metric < SquaredEuclidean || metric > Cosine:
		return nil, argument(op, "there is no "+metric.String())
	case exact && !bytes:
		return nil, argument(op, fmt.Sprintf("distances of %T are float32, not int32", *new(T)))
	case exact && metric == Cosine:
		return nil, argument(op, "distances of Cosine are float32, not int32")
	case rows > math.MaxInt32:
		return nil, fmt.Errorf("%w: %s: a is %s, of more rows than an int32 counts", linalg.ErrShape, op, a)
	case bytes && cols > mostBytes:
		return nil, fmt.Errorf("%w: %s: a is %s, and points of int8 have up to %d columns", linalg.ErrShape, op, a,
			mostBytes)
	}
	p := &Points[D, T]{a: a, metric: metric}
	if p.norms, err = linalg.NewArray[D](s, rows, 1); err != nil {
		return nil, err
	}
	if err := setNorms(p.norms, a, metric); err != nil {
		return nil, errors.Join(err, p.Free())
	}
	return p, nil
}

// Free frees what belongs to the points, but not the array that they are the rows of.
func (p *Points[D, T]) Free() error { return p.norms.Free() }

// Nearest makes each row of index the numbers of the points that are nearest to that row of
// queries, as many as index has columns, and each row of dist their distances, from the nearest on.
// Those at equal distances ascend, and NaN are last, so that there is one result, on every device,
// however points and queries are split up. More columns than points are ErrShape.
//
// It works on blocks of 1024 queries and 2048 points, or on a GPU 4096 and 8192, and takes the
// memory of their products, 8 MiB or 128, 16 bytes for each element of index of a block, and where
// elements are of 16 bits those of a block as float32.
func (p *Points[D, T]) Nearest(index *Array[int32], dist *Array[D], queries *Array[T]) error {
	rows, k, err := p.check(index, dist, queries)
	if err != nil || rows == 0 || k == 0 {
		return err
	}
	_, cols := queries.Dims()
	height, _ := nearestBlock(queries.Session())
	for i := 0; i < rows; i += height {
		end := min(i+height, rows)
		err := p.search(index.Slice(i, end, 0, k), dist.Slice(i, end, 0, k), queries.Slice(i, end, 0, cols))
		if err != nil {
			return err
		}
	}
	return nil
}

// check checks the operands of Nearest, and gives the shape of index.
func (p *Points[D, T]) check(index *Array[int32], dist *Array[D], queries *Array[T]) (rows, k int, err error) {
	const op = "Nearest"
	if p == nil || p.a == nil {
		return 0, 0, argument(op, "the points are nil, or NewPoints has not made them")
	}
	s := p.a.Session()
	n, cols := p.a.Dims()
	if err := cmp.Or(check(op, "queries", queries, s), check(op, "index", index, s)); err != nil {
		return 0, 0, err
	}
	rows, c := queries.Dims()
	_, k = index.Dims()
	if c != cols {
		return 0, 0, fmt.Errorf("%w: %s: queries is %s, and points have %d columns", linalg.ErrShape, op, queries, cols)
	}
	if k > n {
		return 0, 0, fmt.Errorf("%w: %s: index is %s, and there are %d points", linalg.ErrShape, op, index, n)
	}
	err = cmp.Or(checkShape(op, "index", index, s, rows, k), checkShape(op, "dist", dist, s, rows, k))
	switch {
	case err != nil:
		return 0, 0, err
	case overlap(index, dist):
		return 0, 0, fmt.Errorf("%w: %s: index and dist", linalg.ErrOverlap, op)
	case overlap(dist, queries):
		return 0, 0, fmt.Errorf("%w: %s: dist and queries", linalg.ErrOverlap, op)
	case overlap(dist, p.a):
		return 0, 0, fmt.Errorf("%w: %s: dist and points", linalg.ErrOverlap, op)
	}
	return rows, k, nil
}

// nearestBlock is the queries and points whose products are computed together: on a processor as
// many as its caches have room for.
func nearestBlock(s *linalg.Session) (queries, points int) {
	if s.Info().Host {
		return 1024, 2048
	}
	return 4096, 8192
}

// search is Nearest of a block of queries.
func (p *Points[D, T]) search(index *Array[int32], dist *Array[D], queries *Array[T]) error {
	s := queries.Session()
	rows, k := index.Dims()
	n, cols := p.a.Dims()
	_, width := nearestBlock(s)
	return inside.WithScratch(s, rows, 1, func(norms *Array[D]) error {
		return inside.WithScratch(s, rows, min(width, n), func(products *Array[D]) error {
			return sorting.WithRows(s, rows, k, func(r *sorting.Rows[uint64]) error {
				if err := cmp.Or(setNorms(norms, queries, p.metric), Fill(r.Pairs, math.MaxUint64)); err != nil {
					return err
				}
				for j := 0; j < n; j += width {
					end := min(j+width, n)
					c, near := products.Slice(0, rows, 0, end-j), p.norms.Slice(j, end, 0, 1)
					if err := multiply(1, c, queries, p.a.Slice(j, end, 0, cols)); err != nil {
						return err
					}
					err := sorting.LaunchNearest[D](s, sorting.NearestGrid(rows), r.Pairs, c, norms, near,
						sorting.Metric(p.metric), j, k)
					if err != nil {
						return err
					}
				}
				r.Sort(0, 64, false)
				return cmp.Or(r.Err(), sorting.LaunchApart[D](s, backend.GridFor(k, rows), index, dist, r.Pairs))
			})
		})
	})
}

// setNorms makes norms, a column, what a metric needs of each row of a.
func setNorms[D float32 | int32, T Single | int8](norms *Array[D], a *Array[T], metric Metric) error {
	rows, cols := a.Dims()
	_, block := nearestBlock(a.Session())
	for i := 0; i < rows; i += block {
		end := min(i+block, rows)
		x := a.Slice(i, end, 0, cols)
		if err := multiply(end-i, norms.Slice(i, end, 0, 1), x, x); err != nil {
			return err
		}
	}
	if norms, ok := any(norms).(*Array[float32]); ok && metric == Cosine {
		return sorting.LaunchInverse(a.Session(), norms, norms)
	}
	return nil
}

// multiply makes c count products a*bᵀ of matrices below each other.
func multiply[D float32 | int32, T Single | int8](count int, c *Array[D], a, b *Array[T]) error {
	if bytes, ok := any(a).(*Array[int8]); ok {
		return multiplyBytes(count, c, bytes, any(b).(*Array[int8]))
	}
	floats := any(c).(*Array[float32])
	return asFloats(a, func(a *Array[float32]) error {
		return asFloats(b, func(b *Array[float32]) error {
			return floats.Gemm(1, blas.NoTrans, a, blas.Trans, b, 0, linalg.Batch(count))
		})
	})
}

func multiplyBytes[D float32 | int32](count int, c *Array[D], a, b *Array[int8]) error {
	if c, ok := any(c).(*Array[int32]); ok {
		return linalg.GemmInt8Arrays(blas.NoTrans, a, blas.Trans, b, 0, c, linalg.Batch(count))
	}
	rows, cols := c.Dims()
	return inside.WithScratch(c.Session(), rows, cols, func(x *Array[int32]) error {
		return cmp.Or(linalg.GemmInt8Arrays(blas.NoTrans, a, blas.Trans, b, 0, x, linalg.Batch(count)), Convert(c, x))
	})
}

// asFloats calls f with a, or with its elements as float32.
func asFloats[T Single | int8](a *Array[T], f func(x *Array[float32]) error) error {
	if a, ok := any(a).(*Array[float32]); ok {
		return f(a)
	}
	rows, cols := a.Dims()
	return inside.WithScratch(a.Session(), rows, cols, func(x *Array[float32]) error {
		return cmp.Or(Convert(x, a), f(x))
	})
}
