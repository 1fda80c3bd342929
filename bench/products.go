package bench

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

// products measures C = A*B with A of m by k and B of k by n.
func products[T linalg.Element](r *runner, d shape) error {
	t, m, n, k := element.TypeOf[T](), d.m, d.n, d.k
	row := Row{
		Experiment: "product", Type: t.String(), M: m, N: n, K: k,
		Work: 2 * float64(m) * float64(n) * float64(k), Unit: operations(t),
	}
	if !r.step(row.Title()) {
		return nil
	}
	if largest := float64(max(m*k, k*n, m*n)) * float64(t.Size()); !r.fits(3, largest) {
		r.note("%s: left out, as it does not fit the memory", row.Title())
		return nil
	}
	p := randomProblem[T](m, n, k)
	ref := newReference(p, checkOperations())
	list, err := productContenders(r, p, ref, row.Work)
	defer func() { closeAll(list) }()
	if err != nil {
		return r.setupFailed(&r.report.Products, row, err)
	}
	if err := r.addProduct(row, list); err != nil {
		return err
	}
	r.learn(&r.report.Products[len(r.report.Products)-1])
	return nil
}

// addProduct measures a row of products, and adds it to the report.
func (r *runner) addProduct(row Row, list []*contender) error {
	if err := r.measure(r.ctx, &row, list); err != nil {
		return err
	}
	r.noteSpread(&row)
	r.report.Products = append(r.report.Products, row)
	return nil
}

// noteSpread says where samples were to be steady and are not.
func (r *runner) noteSpread(row *Row) {
	if list := row.unsteady(); r.steady && list != "" {
		r.note("%s: after %d rounds the quartiles still differ: %s", row.Title(), 4*r.rounds, list)
	}
}

// setupFailed notes a row that could not be made ready: one for which the device has too little
// memory is left out, anything else is a failure.
func (r *runner) setupFailed(rows *[]Row, row Row, err error) error {
	switch {
	case r.ctx.Err() != nil:
		return r.ctx.Err()
	case errors.Is(err, backend.ErrOutOfMemory):
		r.note("%s: left out: %v", row.Title(), err)
		return nil
	}
	e := Entry{Name: nameFast, Place: "device"}
	e.fail(Failed, err.Error())
	row.Entries = []Entry{e}
	*rows = append(*rows, row)
	return nil
}

// probe finds out how fast the contenders are on a small product, so that none begins a large one
// that it cannot end in time.
func probe[T linalg.Element](r *runner) error {
	const n = 192
	p := randomProblem[T](n, n, n)
	row := Row{Type: element.TypeOf[T]().String(), M: n, N: n, K: n, Work: 2 * n * n * n}
	list, err := productContenders(r, p, newReference(p, 0), row.Work)
	defer func() { closeAll(list) }()
	if err != nil {
		return r.ctx.Err() // the rows that follow report it
	}
	t := timing{rounds: 1, sample: time.Millisecond, limit: time.Minute}
	if err := t.measure(r.ctx, &row, list); err != nil {
		return err
	}
	r.learn(&row)
	return nil
}

// operations is the unit of a rate.
func operations(t element.Type) string {
	if t.Integer() {
		return "Gop/s"
	}
	return "GFLOP/s"
}

// randomProblem has operands between -1 and 1, of int32 any.
func randomProblem[T linalg.Element](m, n, k int) problem[T] {
	p := problem[T]{m: m, n: n, k: k, a: make([]T, m*k), b: make([]T, k*n), c: make([]T, m*n)}
	rng := rand.New(rand.NewPCG(uint64(m)<<32|uint64(n), uint64(k)))
	for _, s := range [][]T{p.a, p.b} {
		for i := range s {
			s[i] = random[T](rng)
		}
	}
	return p
}

func random[T linalg.Element](rng *rand.Rand) T {
	if element.TypeOf[T]().Integer() {
		return T(int32(rng.Uint32()))
	}
	return T(2*rng.Float64() - 1)
}

// The names of Tandem's contenders.
const (
	nameNaive = "naive"
	nameTiled = "tiled"
	nameFast  = "fast"
	nameHost  = "linalg.MatMul"
	nameInto  = "linalg.Gemm"
	nameCPU   = "cpu device"
	nameTwin  = "through OpenCL" // the same GPU
)

// productContenders are all that multiply. After an error those that it returns must be closed,
// too.
func productContenders[T linalg.Element](
	r *runner, p problem[T], ref *reference[T], work float64,
) (list []*contender, err error) {
	t := element.TypeOf[T]()
	d, err := newOnDevice(r.s, p, ref)
	if err != nil {
		return nil, err
	}
	naive := d.contender(nameNaive, d.launch(kernels.MatMulNaive(t), kernels.NaiveGrid(p.m, p.n)))
	tiled := d.contender(nameTiled, d.launch(kernels.MatMulTiled(t), kernels.TiledGrid(p.m, p.n)))
	list = append(list, naive, tiled, d.contender(nameFast, d.mul), hostToHost(r, p, ref), into(r, p, ref))
	naive.close = d.free
	for _, c := range []*contender{naive, tiled} {
		if err := predictWithin[T](r, c, work, min(r.limit, textbookLimit)); err != nil {
			return list, err
		}
	}
	for _, o := range r.others() {
		h, err := newOnDevice(o.s, p, ref)
		if err != nil {
			return list, err
		}
		c := h.contender(o.name, h.mul)
		c.close = h.free
		list = append(list, c)
		if err := predict[T](r, c, work); err != nil {
			return list, err
		}
	}
	for _, l := range r.libs {
		c, err := ofLibrary(r, l, p, ref, work)
		if err != nil {
			return list, err
		}
		if c != nil {
			list = append(list, c)
		}
	}
	return list, nil
}

// onDevice is a product whose operands and result stay on a device.
type onDevice[T linalg.Element] struct {
	s       *linalg.Session
	p       problem[T]
	ref     *reference[T]
	a, b, c *linalg.Array[T]
	kernels []*backend.Kernel
}

func newOnDevice[T linalg.Element](s *linalg.Session, p problem[T], ref *reference[T]) (*onDevice[T], error) {
	d := &onDevice[T]{s: s, p: p, ref: ref}
	for _, op := range []struct {
		array **linalg.Array[T]
		cols  int
		data  []T
	}{{&d.a, p.k, p.a}, {&d.b, p.n, p.b}, {&d.c, p.n, p.c}} { // the matrices of a batch lie below each other
		var err error
		if *op.array, err = linalg.Upload(s, linalg.NewMatrix(len(op.data)/op.cols, op.cols, op.data)); err != nil {
			d.free()
			return nil, err
		}
	}
	return d, nil
}

// operand is a as the functions for arguments of package kernels take it.
func operand[T linalg.Element](a *linalg.Array[T]) kernels.Operand {
	return kernels.Operand{Buffer: a.Buffer(), Offset: int64(a.Offset()), Stride: int64(a.Stride())}
}

func (d *onDevice[T]) free() {
	for _, k := range d.kernels {
		k.Release()
	}
	for _, a := range []*linalg.Array[T]{d.a, d.b, d.c} {
		if a != nil {
			a.Free()
		}
	}
}

// mul enqueues the product as a user of linalg does.
func (d *onDevice[T]) mul() error { return d.c.Mul(d.a, d.b) }

// launch enqueues one of the kernels that are there for comparison.
func (d *onDevice[T]) launch(src *backend.Source, g backend.Grid) func() error {
	var k *backend.Kernel
	return func() (err error) {
		if k == nil {
			if k, err = d.s.CompileSource(src); err != nil {
				return err
			}
			d.kernels = append(d.kernels, k)
		}
		args := kernels.ProductArgs(nil, d.p.m, d.p.n, d.p.k, operand(d.a), operand(d.b), operand(d.c))
		return d.s.Queue().Launch(k, g, args...)
	}
}

func (d *onDevice[T]) contender(name string, enqueue func() error) *contender {
	run := queued(enqueue, d.s.Wait)
	check := func() (Check, error) {
		c := linalg.NewMatrix(len(d.p.c)/d.p.n, d.p.n, d.p.c)
		fill(d.p.c, poison[T]())
		if err := d.c.CopyFrom(c); err != nil {
			return Check{}, err
		}
		if err := run(1); err != nil {
			return Check{}, err
		}
		fill(d.p.c, poison[T]())
		err := d.c.CopyTo(c)
		return d.ref.exact(d.p.c), err
	}
	return &contender{name: name, place: "device", check: check, run: run}
}

// hostToHost is linalg.MatMul: copies, where the device needs them, and the result in new memory.
func hostToHost[T linalg.Element](r *runner, p problem[T], ref *reference[T]) *contender {
	a, b := linalg.NewMatrix(p.m, p.k, p.a), linalg.NewMatrix(p.k, p.n, p.b)
	return &contender{
		name: nameHost, place: "host",
		check: func() (Check, error) {
			c, err := linalg.MatMulContext(r.ctx, r.s, a, b)
			if err != nil {
				return Check{}, err
			}
			return ref.exact(c.Data), nil
		},
		run: func(runs int) error {
			for range runs {
				if _, err := linalg.MatMulContext(r.ctx, r.s, a, b); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// into is linalg.Gemm: copies, where the device needs them, and the result in the same memory
// again.
func into[T linalg.Element](r *runner, p problem[T], ref *reference[T]) *contender {
	a, b := linalg.NewMatrix(p.m, p.k, p.a), linalg.NewMatrix(p.k, p.n, p.b)
	c := linalg.NewMatrix(p.m, p.n, p.c)
	run := func(runs int) error {
		for range runs {
			if err := linalg.GemmContext(r.ctx, r.s, 1, blas.NoTrans, a, blas.NoTrans, b, 0, c); err != nil {
				return err
			}
		}
		return nil
	}
	return &contender{name: nameInto, place: "host", run: run, check: func() (Check, error) {
		fill(p.c, poison[T]())
		err := run(1)
		return ref.exact(p.c), err
	}}
}

// ofLibrary is a library's product; nil where it is not loaded or has none of the type.
func ofLibrary[T linalg.Element](
	r *runner, l *library, p problem[T], ref *reference[T], work float64,
) (*contender, error) {
	c := &contender{name: l.info.Name, peer: true, place: l.place}
	if err := predict[T](r, c, work); err != nil {
		return nil, err
	}
	if c.skip != "" {
		return c, nil
	}
	j, err := prepare(l, p)
	if err != nil {
		c.check = func() (Check, error) { return Check{}, err }
		return c, nil
	}
	if j == nil {
		return nil, nil
	}
	ref.limits(p)
	c.run, c.close = j.run, j.close
	c.check = func() (Check, error) {
		fill(p.c, poison[T]())
		if j.put != nil {
			if err := j.put(); err != nil {
				return Check{}, err
			}
		}
		if err := j.run(1); err != nil {
			return Check{}, err
		}
		if j.get != nil {
			fill(p.c, poison[T]())
			if err := j.get(); err != nil {
				return Check{}, err
			}
		}
		return ref.close(p.c), nil
	}
	return c, nil
}

// textbookLimit is how long a run of the kernels may last that are there for comparison: they do
// not get faster with n. Tests, which may run slowly, make it longer.
var textbookLimit = time.Second

// predict has a contender left out whose run would last too long, going by its rate at the size
// before. What runs on a device cannot be ended.
func predict[T linalg.Element](r *runner, c *contender, work float64) error {
	return predictWithin[T](r, c, work, r.limit)
}

func predictWithin[T linalg.Element](r *runner, c *contender, work float64, limit time.Duration) error {
	rate, ok := r.rates[rateKey(element.TypeOf[T](), c.name)]
	if !ok {
		return r.ctx.Err()
	}
	if expect := time.Duration(work / rate * 1e9); expect > limit {
		c.skip = fmt.Sprintf("a run would take about %v, by its rate at a smaller size; the limit is %v",
			expect.Round(100*time.Millisecond), limit)
	}
	return r.ctx.Err()
}

func rateKey(t element.Type, name string) string { return t.String() + " " + name }

// learn notes the rates for predict.
func (r *runner) learn(row *Row) {
	for _, e := range row.Entries {
		if e.Status == OK {
			r.rates[row.Type+" "+e.Name] = e.Rate * 1e9
		}
	}
}

// Title names the row: "float32 product 1024x1024x1024".
func (r *Row) Title() string {
	switch {
	case r.K == 0:
		return fmt.Sprintf("%s %s %dx%d", r.Type, r.Experiment, r.M, r.N)
	case r.Batch > 0:
		return fmt.Sprintf("%s batch of %d products %dx%dx%d", r.Type, r.Batch, r.M, r.K, r.N)
	}
	return fmt.Sprintf("%s product %dx%dx%d", r.Type, r.M, r.K, r.N)
}
