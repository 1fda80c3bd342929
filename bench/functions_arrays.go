package bench

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/exact"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
)

// nameSlices is Go's own sort.
const nameSlices = "slices.Sort"

// arrayFunctions are functions of package array on arrays of the device, beside NumPy: elementwise
// ones and reductions of 10^5 elements, which fit a cache, of 10^7, and of rows and columns.
func arrayFunctions[T linalg.Float](r *runner) (list []build) {
	cached, long, million := 100_000, 10_000_000, 1_000_000
	shapes := [][2]int{{300, 300}, {2000, 2000}, {300_000, 3}, {3, 300_000}}
	if r.o.Quick {
		cached, long, million, shapes = 1000, 2000, 200, [][2]int{{20, 20}, {30, 3}}
	}
	for _, n := range []int{10, cached, long} {
		list = append(list, elementwiseFunctions[T](r.s, n, n == cached)...)
	}
	for _, n := range []int{1000, cached, long} {
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
	for _, rows := range []int{1, million / 100, million / 10} {
		list = append(list, sorting[T](r.s, rows, million/rows))
	}
	list = append(list, ofColumns[T](r.s, million)...)
	return append(list, randoms[T](r.s, million)...)
}

// An onArrays has arrays of the device, and the result in host memory.
type onArrays[T linalg.Float] struct {
	*function
	s   *linalg.Session
	err error
	c   *linalg.Array[T]
	out linalg.Matrix[T]
}

func newOnArrays[T linalg.Float](s *linalg.Session, name string, m, n, rows, cols int, work float64, unit string,
) *onArrays[T] {
	f := &onArrays[T]{s: s, function: newFunction[T](name, m, n, work, unit)}
	f.place, f.wait = "device", s.Wait
	f.out = linalg.NewMatrix(rows, cols, make([]T, rows*cols))
	f.bytes = backend.Bytes(f.out.Data)
	f.c, f.err = linalg.NewArray[T](s, rows, cols)
	f.reset = func() {
		fill(f.out.Data, poison[T]())
		f.c.CopyFrom(f.out)
	}
	f.fetch = func() error { return f.c.CopyTo(f.out) }
	f.free = append(f.free, func() {
		if f.c != nil {
			f.c.Free()
		}
	})
	return f
}

// operand is a named array of random numbers.
func (f *onArrays[T]) operand(name string, rows, cols int) (*linalg.Array[T], []T) {
	x := operandOf[T](f.function, name, rows, cols)
	return uploadFor(f, rows, cols, x), x
}

// uploadFor is an array that is freed with f.
func uploadFor[T linalg.Float, E any](f *onArrays[T], rows, cols int, data []E) *linalg.Array[E] {
	a, err := linalg.Upload(f.s, linalg.NewMatrix(rows, cols, data))
	f.err = cmp.Or(f.err, err)
	if a != nil {
		f.free = append(f.free, func() { a.Free() })
	}
	return a
}

// mask is a named row of bool, true where masked tells so of x.
func (f *onArrays[T]) mask(name string, x []T) *linalg.Array[bool] {
	m := make([]bool, len(x))
	for i, v := range x {
		m[i] = masked(v)
	}
	f.named = append(f.named, namedArray{name, element.Bool, 1, len(m), backend.Bytes(m)})
	return uploadFor(f, 1, len(m), m)
}

func masked[T linalg.Float](x T) bool { return x < 0.5 }

// done is the function, and the error of what was to be made ready.
func (f *onArrays[T]) done() (*function, error) { return f.function, f.err }

// want sets the check: the result is compared with what f computes when it is first needed.
func (f *onArrays[T]) want(terms int, want func() []float64) {
	var known []float64
	f.check = func() Check {
		if known == nil {
			known = want()
		}
		return compare(f.out.Data, known, looseness[T](terms))
	}
}

// elementwiseFunctions are of n elements, with the result in memory that is there, NumPy's as well.
func elementwiseFunctions[T linalg.Float](s *linalg.Session, n int, all bool) []build {
	type arrays struct {
		c, x, y, z *linalg.Array[T]
		mask       *linalg.Array[bool]
	}
	of := func(name, numPy string, moved int, call func(a arrays) error, want func(x, y, z T) T) build {
		return func() (*function, error) {
			bytes := float64(moved) * float64(n) * float64(element.TypeOf[T]().Size())
			f := newOnArrays[T](s, name, 1, n, 1, n, bytes, gigabytes)
			var a arrays
			var host [3][]T
			a.x, host[0] = f.operand("x", 1, n)
			a.y, host[1] = f.operand("y", 1, n)
			a.z, host[2] = f.operand("z", 1, n)
			a.mask = f.mask("m", host[2])
			a.c, f.numPy = f.c, numPy
			f.operand("c", 1, n) // NumPy's result
			f.fast = func() error { return call(a) }
			f.want(1, func() []float64 {
				list := make([]float64, n)
				for i := range list {
					list[i] = float64(want(host[0][i], host[1][i], host[2][i]))
				}
				return list
			})
			return f.done()
		}
	}
	add := of("add", "numpy.add(x, y, out=c)", 3, func(a arrays) error { return array.Add(a.c, a.x, a.y) },
		func(x, y, _ T) T { return x + y })
	if !all {
		return []build{add}
	}
	return []build{
		add,
		of("fma", "numpy.multiply(x, y, out=c); numpy.add(c, z, out=c)", 4,
			func(a arrays) error { return array.FMA(a.c, a.x, a.y, a.z) }, gpu.FMA[T]),
		of("mul", "numpy.multiply(x, y, out=c)", 3, func(a arrays) error { return array.Mul(a.c, a.x, a.y) },
			func(x, y, _ T) T { return x * y }),
		of("where", "c = numpy.where(m, x, y)", 3, // and a byte of the mask; numpy.copyto with a mask takes longer
			func(a arrays) error { return array.Where[T](a.c, a.mask, a.x, a.y) },
			func(x, y, z T) T {
				if masked(z) {
					return x
				}
				return y
			}),
		of("maximum", "numpy.maximum(x, y, out=c)", 3, func(a arrays) error { return array.Maximum(a.c, a.x, a.y) },
			func(x, y, _ T) T { return max(x, y) }),
		of("exp", "numpy.exp(x, out=c)", 2, func(a arrays) error { return array.Exp(a.c, a.x) },
			func(x, _, _ T) T { return gpu.Exp(x) }),
		of("tanh", "numpy.tanh(x, out=c)", 2, func(a arrays) error { return array.Tanh(a.c, a.x) },
			func(x, _, _ T) T { return gpu.Tanh(x) }),
		of("sin", "numpy.sin(x, out=c)", 2, func(a arrays) error { return array.Sin(a.c, a.x) },
			func(x, _, _ T) T { return gpu.Sin(x) }),
		of("log", "numpy.log(x, out=c)", 2, func(a arrays) error { return array.Log(a.c, a.x) },
			func(x, _, _ T) T { return gpu.Log(x) }),
	}
}

// ofColumns are functions of a column of an array of m by 4, which lies apart in memory.
func ofColumns[T linalg.Float](s *linalg.Session, m int) []build {
	of := func(name, numPy string, rows int, call func(c, a *linalg.Array[T]) error, want func(x []T) []float64) build {
		return func() (*function, error) {
			f := newOnArrays[T](s, name+" of a column", m, 4, rows, 1, float64(m), "10^9 elements/s")
			a, x := f.operand("a", m, 4)
			f.operand("c", rows, 1) // NumPy's result
			f.numPy = numPy
			f.fast = func() error { return call(f.c, a.Slice(0, m, 1, 2)) }
			f.want(m, func() []float64 { return want(columnsOf(x, 4)[m : 2*m]) })
			return f.done()
		}
	}
	exp := func(x []T) (list []float64) {
		for _, v := range x {
			list = append(list, float64(gpu.Exp(v)))
		}
		return list
	}
	return []build{
		of("copy", "c[:] = a[:, 1:2]", m, array.Copy[T, *linalg.Array[T]], parts[T]),
		of("exp", "numpy.exp(a[:, 1:2], out=c)", m, array.Exp[T, *linalg.Array[T]], exp),
		of("sum", "c = a[:, 1:2].sum()", 1, array.Sum[T], func(x []T) []float64 { return []float64{sumOf(x)} }),
	}
}

// reduction is of an array of m by n to one of rows by cols.
func reduction[T linalg.Float](s *linalg.Session, name, numPy string, m, n, rows, cols int,
	call func(c, a *linalg.Array[T]) error, want func(line []T) float64,
) build {
	switch {
	case rows > 1:
		name += " of rows"
	case cols > 1:
		name += " of columns"
	}
	return func() (*function, error) {
		bytes := float64(m) * float64(n) * float64(element.TypeOf[T]().Size())
		f := newOnArrays[T](s, name, m, n, rows, cols, bytes, gigabytes)
		a, x := f.operand("a", m, n)
		f.numPy = numPy
		f.fast = func() error { return call(f.c, a) }
		f.want(m*n, func() (list []float64) {
			if cols > 1 {
				x = columnsOf(x, n)
			}
			for line := range slices.Chunk(x, m*n/(rows*cols)) {
				list = append(list, want(line))
			}
			return list
		})
		return f.done()
	}
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
func dot[T linalg.Float](s *linalg.Session, n int) build {
	return func() (*function, error) {
		f := newOnArrays[T](s, "dot", 1, n, 1, 1, 2*float64(n)*float64(element.TypeOf[T]().Size()), gigabytes)
		a, x := f.operand("a", 1, n)
		b, y := f.operand("b", 1, n)
		f.numPy = "c = numpy.dot(a[0], b[0])"
		f.fast = func() (err error) {
			f.out.Data[0], err = array.Dot(a, b)
			return err
		}
		f.fetch = nil
		f.want(n, func() []float64 { return []float64{float64(exact.Dot(x, y))} })
		return f.done()
	}
}

// sorting is of each row, stable, and not in place.
func sorting[T linalg.Float](s *linalg.Session, m, n int) build {
	return func() (*function, error) {
		f := newOnArrays[T](s, "sort of rows", m, n, m, n, float64(m*n), "10^9 elements/s")
		a, x := f.operand("a", m, n)
		f.numPy = "c = numpy.sort(a, kind='stable')"
		f.fast = func() error { return array.Sort(f.c, a) }
		sorted := func() []T {
			copy(f.out.Data, x)
			for row := range slices.Chunk(f.out.Data, n) {
				slices.Sort(row)
			}
			return f.out.Data
		}
		f.peers = []functionPeer{{name: nameSlices, run: repeat(func() { sorted() })}}
		f.want(1, func() []float64 {
			y := slices.Clone(f.out.Data)
			z := parts(sorted())
			copy(f.out.Data, y)
			return z
		})
		return f.done()
	}
}

// randoms fill n elements; NumPy's numbers are others.
func randoms[T linalg.Float](s *linalg.Session, n int) (list []build) {
	of := func(name, numPy string, fill func(*array.Stream, *linalg.Array[T]) error, within func(v float64) bool) {
		list = append(list, func() (*function, error) {
			f := newOnArrays[T](s, name, 1, n, 1, n, float64(n), "10^9 elements/s")
			var stream array.Stream
			f.numPy = "c = " + numPy + "((1, " + strconv.Itoa(n) + "), dtype='" + element.TypeOf[T]().NumPy() + "')"
			f.fast = func() error { return fill(&stream, f.c) }
			f.check = func() Check {
				c := Check{Elements: n}
				for _, v := range f.out.Data {
					if !within(float64(v)) {
						c.Wrong++
					}
				}
				return c
			}
			return f.done()
		})
	}
	of("uniform", "rng.random", array.Uniform[T], func(v float64) bool { return v >= 0 && v < 1 })
	of("normal", "rng.standard_normal", array.Normal[T], func(v float64) bool { return math.Abs(v) < 12 })
	return list
}
