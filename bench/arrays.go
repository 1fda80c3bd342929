package bench

import (
	"math"
	"slices"
	"strconv"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/bench/internal/measure"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/exact"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
)

// nameSlices is Go's own sort.
const nameSlices = "slices.Sort"

// arrayRows are functions of package array on arrays of the device, beside NumPy: elementwise ones
// and reductions of 10^5 elements, which fit a cache, of 10^7, and of rows and columns. Sizes that
// the user chose are numbers of elements, and of rows and columns.
func arrayRows[T linalg.Float](r *runner) (list []*task) {
	cached, long, million := 100_000, 10_000_000, 1_000_000
	shapes := [][2]int{{300, 300}, {2000, 2000}, {300_000, 3}, {3, 300_000}}
	if r.o.Quick {
		cached, long, million, shapes = 1000, 2000, 200, [][2]int{{20, 20}, {30, 3}}
	}
	elements, sums, rows := []int{10, cached, long}, []int{1000, cached, long}, []int{1, million / 100, million / 10}
	if r.o.Sizes != nil {
		elements, sums, rows, shapes = r.o.Sizes, r.o.Sizes, []int{1}, nil
		for _, n := range r.o.Sizes {
			shapes = append(shapes, [2]int{n, n})
		}
		cached, million = slices.Max(r.o.Sizes), slices.Max(r.o.Sizes)
	}
	for _, n := range elements {
		list = append(list, mapRows[T](r.s, n, n == cached)...)
	}
	for _, n := range sums {
		list = append(list, reduction(r.s, "sum", "c = a.sum()", 1, n, 1, 1, array.Sum[T], sumOf[T]),
			reduction(r.s, "max", "c = a.max()", 1, n, 1, 1, array.Max[T], maxOf[T]), dot[T](r.s, n))
	}
	for _, d := range shapes {
		m, n := d[0], d[1]
		list = append(list,
			reduction(r.s, "sum", "c = a.sum(axis=1)", m, n, m, 1, array.Sum[T], sumOf[T]),
			reduction(r.s, "sum", "c = a.sum(axis=0)", m, n, 1, n, array.Sum[T], sumOf[T]),
			reduction(r.s, "mean", "c = a.mean(axis=0)", m, n, 1, n, array.Mean[T], meanOf[T]),
			reduction(r.s, "norm", "c = numpy.sqrt(numpy.einsum('ij,ij->i', a, a))", m, n, m, 1, norm[T], normOf[T]),
			reduction(r.s, "norm", "c = numpy.sqrt(numpy.einsum('ij,ij->j', a, a))", m, n, 1, n, norm[T], normOf[T]))
	}
	for _, m := range rows {
		list = append(list, sorting[T](r.s, m, million/m))
	}
	list = append(list, ofColumns[T](r.s, million)...)
	return append(list, randoms[T](r.s, million)...)
}

// An onArrays is a row whose operands and result are arrays of the device, and the same in host
// memory.
type onArrays[T linalg.Float] struct {
	*task
	s   *linalg.Session
	err error // the first one
	c   *linalg.Array[T]
	out []T
}

// arrayRow is a row on matrices of m by n, with a result of rows by cols. ready tells how to
// compute c, and sets t.Verify.
func arrayRow[T linalg.Float](s *linalg.Session, name string, m, n, rows, cols int, work float64, unit, numPy string,
	ready func(t *onArrays[T]) (enqueue func() error),
) *task {
	row := function[T](name, m, n, work, unit, func(row *task) error {
		t := &onArrays[T]{task: row, s: s, out: make([]T, rows*cols)}
		t.Reset = func() { measure.Fill(t.out, measure.Poison[T]()) }
		row.out = backend.Bytes(t.out)
		t.c = place(t, rows, cols, t.out)
		enqueue := ready(t)
		if t.err != nil {
			return t.err
		}
		t.add(measure.OnDevice(&t.Result, nameFast, s, t.c, t.out, enqueue))
		return nil
	})
	row.numPy = numPy
	return row
}

// place uploads an array that is freed with t.
func place[T linalg.Float, E any](t *onArrays[T], rows, cols int, data []E) *linalg.Array[E] {
	a, err := linalg.Upload(t.s, linalg.NewMatrix(rows, cols, data))
	if err != nil {
		if t.err == nil {
			t.err = err
		}
		return nil
	}
	t.free = append(t.free, func() { a.Free() })
	return a
}

// operand is a named array of random numbers.
func (t *onArrays[T]) operand(name string, rows, cols int) (*linalg.Array[T], []T) {
	x := random[T](t.task, name, rows, cols)
	return place(t, rows, cols, x), x
}

// want sets the check: the result is compared with what f computes when it is first needed.
func (t *onArrays[T]) want(terms int, want func() []float64) {
	var known []float64
	t.Verify = func(bool) measure.Check {
		if known == nil {
			known = want()
		}
		return measure.Compare(t.out, known, looseness[T](terms))
	}
}

// masked is where the mask of x is true.
func masked[T linalg.Float](x T) bool { return x < 0.5 }

// operands3 are what elementwise functions are computed of.
type operands3[T linalg.Float] struct {
	c, x, y, z *linalg.Array[T]
	mask       *linalg.Array[bool]
}

// mapRows are elementwise functions of n elements, with the result in memory that is there, NumPy's
// as well: one of them, or all.
func mapRows[T linalg.Float](s *linalg.Session, n int, all bool) []*task {
	of := func(name, numPy string, moved int, f func(a operands3[T]) error, want func(x, y, z T) T) *task {
		return arrayRow(s, name, 1, n, 1, n, bytesOf[T](moved*n), gigabytes, numPy, func(t *onArrays[T]) func() error {
			a, mask := operands3[T]{c: t.c}, make([]bool, n)
			var host [3][]T
			a.x, host[0] = t.operand("x", 1, n)
			a.y, host[1] = t.operand("y", 1, n)
			a.z, host[2] = t.operand("z", 1, n)
			for i, v := range host[2] {
				mask[i] = masked(v)
			}
			a.mask = place(t, 1, n, mask)
			t.operands = append(t.operands, operand{"m", element.Bool, 1, n, backend.Bytes(mask)},
				operandOf("c", 1, n, make([]T, n))) // NumPy's result
			t.want(1, func() []float64 {
				list := make([]float64, n)
				for i := range list {
					list[i] = float64(want(host[0][i], host[1][i], host[2][i]))
				}
				return list
			})
			return func() error { return f(a) }
		})
	}
	unary := func(name string, f func(c, x *linalg.Array[T]) error, want func(T) T) *task {
		return of(name, "numpy."+name+"(x, out=c)", 2, func(a operands3[T]) error { return f(a.c, a.x) },
			func(x, _, _ T) T { return want(x) })
	}
	add := of("add", "numpy.add(x, y, out=c)", 3, func(a operands3[T]) error { return array.Add(a.c, a.x, a.y) },
		func(x, y, _ T) T { return x + y })
	if !all {
		return []*task{add}
	}
	return []*task{
		add,
		of("fma", "numpy.multiply(x, y, out=c); numpy.add(c, z, out=c)", 4,
			func(a operands3[T]) error { return array.FMA(a.c, a.x, a.y, a.z) }, gpu.FMA[T]),
		of("mul", "numpy.multiply(x, y, out=c)", 3, func(a operands3[T]) error { return array.Mul(a.c, a.x, a.y) },
			func(x, y, _ T) T { return x * y }),
		of("where", "c = numpy.where(m, x, y)", 3, // and a byte of the mask; numpy.copyto with a mask takes longer
			func(a operands3[T]) error { return array.Where[T](a.c, a.mask, a.x, a.y) },
			func(x, y, z T) T {
				if masked(z) {
					return x
				}
				return y
			}),
		of("maximum", "numpy.maximum(x, y, out=c)", 3,
			func(a operands3[T]) error { return array.Maximum(a.c, a.x, a.y) },
			func(x, y, _ T) T { return max(x, y) }),
		unary("exp", array.Exp[T, *linalg.Array[T]], gpu.Exp[T]),
		unary("tanh", array.Tanh[T, *linalg.Array[T]], gpu.Tanh[T]),
		unary("sin", array.Sin[T, *linalg.Array[T]], gpu.Sin[T]),
		unary("log", array.Log[T, *linalg.Array[T]], gpu.Log[T]),
	}
}

// ofColumns are functions of a column of an array of m by 4, which lies apart in memory.
func ofColumns[T linalg.Float](s *linalg.Session, m int) []*task {
	of := func(name, numPy string, rows int, f func(c, a *linalg.Array[T]) error, want func(x []T) []float64) *task {
		return arrayRow(s, name+" of a column", m, 4, rows, 1, float64(m), gigaelements, numPy,
			func(t *onArrays[T]) func() error {
				a, x := t.operand("a", m, 4)
				t.operands = append(t.operands, operandOf("c", rows, 1, make([]T, rows))) // NumPy's result
				t.want(m, func() []float64 { return want(columnsOf(x, 4)[m : 2*m]) })
				return func() error { return f(t.c, a.Slice(0, m, 1, 2)) }
			})
	}
	exp := func(x []T) (list []float64) {
		for _, v := range x {
			list = append(list, float64(gpu.Exp(v)))
		}
		return list
	}
	return []*task{
		of("copy", "c[:] = a[:, 1:2]", m, array.Copy[T, *linalg.Array[T]], parts[T]),
		of("exp", "numpy.exp(a[:, 1:2], out=c)", m, array.Exp[T, *linalg.Array[T]], exp),
		of("sum", "c = a[:, 1:2].sum()", 1, array.Sum[T], func(x []T) []float64 { return []float64{sumOf(x)} }),
	}
}

// reduction is of an array of m by n to one of rows by cols.
func reduction[T linalg.Float](s *linalg.Session, name, numPy string, m, n, rows, cols int,
	f func(c, a *linalg.Array[T]) error, want func(line []T) float64,
) *task {
	switch {
	case rows > 1:
		name += " of rows"
	case cols > 1:
		name += " of columns"
	}
	return arrayRow(s, name, m, n, rows, cols, bytesOf[T](m*n), gigabytes, numPy, func(t *onArrays[T]) func() error {
		a, x := t.operand("a", m, n)
		t.want(m*n, func() (list []float64) {
			if cols > 1 {
				x = columnsOf(x, n)
			}
			for line := range slices.Chunk(x, m*n/(rows*cols)) {
				list = append(list, want(line))
			}
			return list
		})
		return func() error { return f(t.c, a) }
	})
}

// columnsOf is x, of n columns, column by column.
func columnsOf[T any](x []T, n int) (list []T) {
	for j := range n {
		for i := j; i < len(x); i += n {
			list = append(list, x[i])
		}
	}
	return list
}

func sumOf[T linalg.Float](line []T) float64 { return float64(exact.Sum(line)) }

// meanOf and normOf take a step of Newton's method, as the exact sum was rounded already.
func meanOf[T linalg.Float](line []T) float64 {
	var sum exact.Acc
	for _, v := range line {
		sum.Add(float64(v))
	}
	n := float64(len(line))
	mean := sum.Float64() / n
	sum.AddProduct(-mean, n)
	return mean + sum.Float64()/n
}

func normOf[T linalg.Float](line []T) float64 {
	var sum exact.Acc
	for _, v := range line {
		sum.AddProduct(float64(v), float64(v))
	}
	norm := math.Sqrt(sum.Float64())
	sum.AddProduct(-norm, norm)
	return norm + sum.Float64()/(2*norm)
}

func maxOf[T linalg.Float](line []T) float64 { return float64(slices.Max(line)) }

func norm[T linalg.Float](c, a *linalg.Array[T]) error { return array.Norm(c, a, 2) }

// dot is of n elements; it gives a number, and waits for it.
func dot[T linalg.Float](s *linalg.Session, n int) *task {
	row := function[T]("dot", 1, n, bytesOf[T](2*n), gigabytes, func(row *task) error {
		t := &onArrays[T]{task: row, s: s, out: make([]T, 1)}
		row.out = backend.Bytes(t.out)
		t.Reset = func() { t.out[0] = measure.Poison[T]() }
		a, x := t.operand("a", 1, n)
		b, y := t.operand("b", 1, n)
		t.want(n, func() []float64 { return []float64{float64(exact.Dot(x, y))} })
		t.add(t.Contender(nameFast, measure.Repeat(func() (err error) {
			t.out[0], err = array.Dot(a, b)
			return err
		}), nil, nil))
		return t.err
	})
	row.numPy = "c = numpy.dot(a[0], b[0])"
	return row
}

// sorting is of each row, stable, and not in place.
func sorting[T linalg.Float](s *linalg.Session, m, n int) *task {
	return arrayRow(s, "sort of rows", m, n, m, n, float64(m*n), gigaelements, "c = numpy.sort(a)",
		func(t *onArrays[T]) func() error {
			a, x := t.operand("a", m, n)
			sorted := func(to []T) []T {
				copy(to, x)
				for row := range slices.Chunk(to, n) {
					slices.Sort(row)
				}
				return to
			}
			t.calls = append(t.calls, call{nameSlices, measure.Repeat(func() error { sorted(t.out); return nil })})
			t.want(1, func() []float64 { return parts(sorted(make([]T, m*n))) })
			return func() error { return array.Sort(t.c, a) }
		})
}

// randoms fill n elements; NumPy's numbers are others.
func randoms[T linalg.Float](s *linalg.Session, n int) []*task {
	of := func(name, numPy string, fill func(*array.Stream, *linalg.Array[T]) error, within func(v float64) bool,
	) *task {
		numPy = "c = " + numPy + "((1, " + strconv.Itoa(n) + "), dtype='" + element.TypeOf[T]().NumPy() + "')"
		return arrayRow(s, name, 1, n, 1, n, float64(n), gigaelements, numPy, func(t *onArrays[T]) func() error {
			t.Verify = func(bool) measure.Check {
				c := measure.Check{Elements: n}
				for _, v := range t.out {
					if !within(float64(v)) {
						c.Wrong++
					}
				}
				return c
			}
			var stream array.Stream
			return func() error { return fill(&stream, t.c) }
		})
	}
	return []*task{
		of("uniform", "rng.random", array.Uniform[T], func(v float64) bool { return v >= 0 && v < 1 }),
		of("normal", "rng.standard_normal", array.Normal[T], func(v float64) bool { return math.Abs(v) < 12 }),
	}
}
