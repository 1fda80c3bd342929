package bench

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"time"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/bench/internal/measure"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/inside"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

// products are C = A*B between the peaks of multiply-adds, as the processor may be faster after
// them. They are squares and, unless the user chose sizes, one shape off every tile, thin ones and
// a batch.
func products[T linalg.Element](r *runner) (list []*task) {
	squares, odd := []int{8, 16, 32, 64, 128, 256, 1024, 2048}, [3]int{1023, 2049, 517}
	long, count, batch := 2048, 256, [3]int{64, 64, 64}
	switch {
	case r.o.Quick:
		squares, odd, long, count, batch = []int{32, 100}, [3]int{65, 131, 33}, 70, 5, [3]int{9, 10, 11}
	case r.s.Info().GPU:
		squares, long, count = []int{64, 256, 1024, 2048, 4096, 8192, 16384}, 8192, 4096
	}
	list = append(list, multiplyAdds[T](r))
	sizes := r.sizes(squares, squares...)
	if slices.Min(sizes) > 256 { // none begins a large one that it cannot end in time
		probe := product[T](r, 192, 192, 192)
		probe.probe = true
		list = append(list, probe)
	}
	for _, n := range sizes {
		list = append(list, product[T](r, n, n, n))
	}
	if r.o.Sizes == nil {
		list = append(list, product[T](r, odd[0], odd[1], odd[2]))
		for _, thin := range []int{1, 8} {
			list = append(list, product[T](r, thin, long, long), product[T](r, long, thin, long))
		}
		list = append(list, batches[T](r, count, batch[0], batch[1], batch[2]))
	}
	return append(list, multiplyAdds[T](r))
}

// newProduct is of count products of m by k and k by n.
func newProduct[T linalg.Element](name string, count, m, n, k int, ready func(t *task, p *measure.Product[T]) error,
) *task {
	largest := float64(count) * float64(max(m*k, k*n, m*n)) * float64(element.TypeOf[T]().Size())
	row := Row{
		Name: name, Size: fmt.Sprintf("%dx%dx%d", m, k, n), Unit: operations[T](),
		Work: 2 * float64(m) * float64(n) * float64(k) * float64(count),
	}
	return &task{Row: row, arrays: 3, bytes: largest, ready: func(t *task) error {
		p := measure.RandomProduct[T](m*count, n, k)
		if count > 1 {
			p.B = measure.RandomProduct[T](1, n, k*count).B
		} else {
			t.Result = *p.Result(measure.NewReference(p, measure.CheckOperations()).Verify)
		}
		t.operands = []operand{operandOf("a", m, k, p.A), operandOf("b", k, n, p.B)}
		t.out = backend.Bytes(p.C)
		return ready(t, p)
	}}
}

// operations is the unit of a rate.
func operations[T linalg.Element]() string {
	if element.TypeOf[T]().Integer() {
		return "Gop/s"
	}
	return gigaflops
}

// product is by all that multiply.
func product[T linalg.Element](r *runner, m, n, k int) *task {
	return newProduct("product", 1, m, n, k, func(t *task, p *measure.Product[T]) error {
		on, err := onDevices(r, t, p, func(on measure.Arrays[T]) error { return on[2].Mul(on[0], on[1]) })
		if err != nil {
			return err
		}
		typ, x := element.TypeOf[T](), on.Operands()
		args := kernels.ProductArgs(nil, m, n, k, x[0], x[1], x[2])
		textbook(r, t, nameNaive, on[2], p.C, kernels.MatMulNaive(typ), kernels.NaiveGrid(m, n), args)
		textbook(r, t, nameTiled, on[2], p.C, kernels.MatMulTiled(typ), kernels.TiledGrid(m, n), args)
		t.add(fromHost(r, t, p)...)
		t.numPy, t.product = "c = a @ b", true
		multiplyParts(r, t, p)
		return nil
	})
}

// onDevices adds what mul computes on each device, and gives the arrays on the first.
func onDevices[T linalg.Element](r *runner, t *task, p *measure.Product[T], mul func(on measure.Arrays[T]) error,
) (first measure.Arrays[T], err error) {
	for _, d := range r.devices() {
		on, err := p.Upload(d.s)
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = on
		}
		t.free = append(t.free, on.Free)
		t.add(measure.OnDevice(&t.Result, d.name, d.s, on[2], p.C, func() error { return mul(on) }))
	}
	return first, nil
}

// textbook adds a kernel that is there for comparison.
func textbook[T linalg.Element](r *runner, t *task, name string, c *linalg.Array[T], out []T, src *backend.Source,
	g backend.Grid, args []backend.Arg,
) {
	var k *backend.Kernel
	x := measure.OnDevice(&t.Result, name, r.s, c, out, func() (err error) {
		if k == nil {
			if k, err = r.s.CompileSource(src); err != nil {
				return err
			}
			t.free = slices.Insert(t.free, 0, func() { k.Release() })
		}
		return r.s.Queue().Launch(k, g, args...)
	})
	x.Limit = textbookLimit
	t.add(x)
}

// multiplyParts has other BLAS multiply, one product after the other.
func multiplyParts[T linalg.Element](r *runner, t *task, parts ...*measure.Product[T]) {
	switch parts := any(parts).(type) {
	case []*measure.Product[float32]:
		callGemm(newBLAS[blasOf[float32]](r), t, parts)
	case []*measure.Product[float64]:
		callGemm(newBLAS[blasOf[float64]](r), t, parts)
	}
}

func callGemm[T linalg.Float](b blasOf[T], t *task, parts []*measure.Product[T]) {
	b.call(t, func(l *routines[T]) {
		for _, p := range parts {
			l.Gemm(blas.NoTrans, blas.NoTrans, p.M, p.N, p.K, 1, p.A, p.K, p.B, p.N, 0, p.C, p.N)
		}
	})
}

// fromHost is linalg.MatMul, whose result is in new memory, and linalg.Gemm, which writes the same
// memory again: copies, where the device needs them.
func fromHost[T linalg.Element](r *runner, t *task, p *measure.Product[T]) []*measure.Contender {
	a, b := linalg.NewMatrix(p.M, p.K, p.A), linalg.NewMatrix(p.K, p.N, p.B)
	result, c := linalg.Matrix[T]{}, linalg.NewMatrix(p.M, p.N, p.C)
	matMul := measure.Repeat(func() (err error) {
		result, err = linalg.MatMul(a, b, linalg.On(r.s), linalg.WithContext(r.ctx))
		return err
	})
	gemm := measure.Repeat(func() error {
		return linalg.Gemm(1, blas.NoTrans, a, blas.NoTrans, b, 0, c, linalg.On(r.s), linalg.WithContext(r.ctx))
	})
	get := func() error { copy(p.C, result.Data); return nil }
	return []*measure.Contender{
		t.Contender(nameHost, matMul, nil, get), t.Contender(nameInto, gemm, nil, nil),
	}
}

// batches are many small products of one shape: in one call, and one by one.
func batches[T linalg.Element](r *runner, count, m, n, k int) *task {
	name := fmt.Sprintf("batch of %d products", count)
	return newProduct(name, count, m, n, k, func(t *task, p *measure.Product[T]) error {
		var parts []*measure.Product[T]
		var references []*measure.Reference[T]
		for i := range count {
			one := &measure.Product[T]{
				M: m, N: n, K: k, A: p.A[i*m*k:][:m*k], B: p.B[i*k*n:][:k*n], C: p.C[i*m*n:][:m*n],
			}
			parts, references = append(parts, one), append(references, measure.NewReference(one, 1e9))
		}
		t.Result = *p.Result(func(peer bool) (c measure.Check) {
			for _, ref := range references {
				c.Add(ref.Verify(peer))
			}
			return c
		})
		on, err := onDevices(r, t, p, func(on measure.Arrays[T]) error {
			return on[2].Gemm(1, blas.NoTrans, on[0], blas.NoTrans, on[1], 0, linalg.Batch(count))
		})
		if err != nil {
			return err
		}
		t.add(measure.OnDevice(&t.Result, nameEach, r.s, on[2], p.C, func() error {
			for i := range count {
				a, b := on[0].Slice(i*m, (i+1)*m, 0, k), on[1].Slice(i*k, (i+1)*k, 0, n)
				if err := on[2].Slice(i*m, (i+1)*m, 0, n).Mul(a, b); err != nil {
					return err
				}
			}
			return nil
		}))
		multiplyParts(r, t, parts...)
		return nil
	})
}

// scaling is products whose sizes rise by factors up to 512, are close from there to 1100, where
// tiles and their edges show, and rise by factors again; on the cpu device with one thread, two,
// four and so on up to all.
func scaling[T linalg.Element](r *runner) (list []*task) {
	sizes := []int{16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 513, 767, 768, 769, 1023, 1024, 1025}
	for n := 533; n <= 1100; n += 21 {
		sizes = append(sizes, n)
	}
	sizes = append(sizes, 1280, 1536, 2048, 2049, 3072, 4096)
	if r.s.Info().GPU {
		sizes = append(sizes, 6144, 8192, 12288, 16384)
	}
	for _, n := range slices.Compact(slices.Sorted(slices.Values(r.sizes([]int{16, 24, 33}, sizes...)))) {
		list = append(list, newProduct("product", 1, n, n, n, func(t *task, p *measure.Product[T]) error {
			on, err := p.Upload(r.s)
			if err != nil {
				return err
			}
			t.free = append(t.free, on.Free)
			for _, threads := range r.threadCounts() {
				c := measure.OnDevice(&t.Result, nameFast, r.s, on[2], p.C,
					func() error { return on[2].Mul(on[0], on[1]) })
				if r.s.Info().Host {
					c.Name = fmt.Sprintf("%s, threads: %d", nameFast, threads)
				}
				run := c.Run
				c.Run = func(runs int) error {
					defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
					return run(runs)
				}
				t.add(c)
			}
			return nil
		}))
	}
	return list
}

func (r *runner) threadCounts() (counts []int) {
	all := runtime.GOMAXPROCS(0)
	if r.s.Info().Host {
		for n := 1; n < all; n *= 2 {
			counts = append(counts, n)
		}
	}
	return append(counts, all)
}

// calls are what the first and the second product on a new session cost, and what each call of a
// small one on the device does, which is too short to hide its cost.
func calls[T linalg.Element](r *runner) []*task {
	n, small := 256, 64
	if r.o.Quick {
		n = 32
	}
	return []*task{
		newProduct("new session, product", 1, n, n, n, func(t *task, p *measure.Product[T]) error {
			for i, name := range []string{"first call", "second call", "third call"} {
				t.add(newSession(r, t, p, name, i))
			}
			return nil
		}),
		newProduct("call of a product", 1, small, small, small, func(t *task, p *measure.Product[T]) error {
			on, err := p.Upload(r.s)
			if err != nil {
				return err
			}
			t.free = append(t.free, on.Free)
			mul := func() error { return on[2].Mul(on[0], on[1]) }
			add := func(name string, once func() error, clock func(runs int) (time.Duration, error)) {
				c := measure.OnDevice(&t.Result, name, r.s, on[2], p.C, once)
				c.Clock = clock
				t.add(c)
			}
			add("waited for", func() error { return cmp.Or(mul(), r.s.Wait()) }, nil)
			add("pipelined", mul, nil)
			add("enqueued", mul, func(runs int) (time.Duration, error) {
				d, err := measure.Elapsed(func() error { return measure.Repeat(mul)(runs) })
				return d, cmp.Or(r.s.Wait(), err)
			})
			add("by the device's clock", mul,
				each(func() (time.Duration, error) { return inside.DeviceTime(r.s, mul) }))
			return nil
		}),
	}
}

// newSession is call number i on a session that is opened for it.
func newSession[T linalg.Element](r *runner, t *task, p *measure.Product[T], name string, i int) *measure.Contender {
	a, b, c := linalg.NewMatrix(p.M, p.K, p.A), linalg.NewMatrix(p.K, p.N, p.B), linalg.NewMatrix(p.M, p.N, p.C)
	clock := each(func() (d time.Duration, err error) {
		s, err := linalg.Open(r.o.Backend)
		if err != nil {
			return 0, err
		}
		defer s.Close()
		for range i + 1 {
			d, err = measure.Elapsed(func() error {
				return linalg.Gemm(1, blas.NoTrans, a, blas.NoTrans, b, 0, c, linalg.On(s), linalg.WithContext(r.ctx))
			})
			if err != nil {
				return 0, err
			}
		}
		return d, nil
	})
	x := t.Contender(name, func(runs int) error { _, err := clock(runs); return err }, nil, nil)
	x.Clock = clock
	return x
}

// each adds up the times of single runs.
func each(once func() (time.Duration, error)) func(int) (time.Duration, error) {
	return func(runs int) (sum time.Duration, err error) {
		for range runs {
			d, err := once()
			if err != nil {
				return 0, err
			}
			sum += d
		}
		return sum, nil
	}
}
