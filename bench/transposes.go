package bench

import (
	"runtime"
	"sync"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

// The names of the copies that transposes are compared with.
const (
	nameCopy   = "copy on the device"
	nameMemcpy = "memcpy on all cores"
)

// transposes measures the transpose of a matrix of n by n, beside copies of as many bytes.
func transposes[T linalg.Element](r *runner, n int) error {
	t := element.TypeOf[T]()
	row := Row{
		Experiment: "transpose", Type: t.String(), M: n, N: n,
		Work: 2 * float64(t.Size()) * float64(n) * float64(n), Unit: "GB/s",
	}
	if !r.step(row.Title()) {
		return nil
	}
	if !r.fits(2, row.Work/2) {
		r.note("%s: left out, as it does not fit the memory", row.Title())
		return nil
	}
	list, err := transposeContenders[T](r, n)
	defer func() { closeAll(list) }()
	if err != nil {
		return r.setupFailed(&r.report.Transposes, row, err)
	}
	if err := r.measure(r.ctx, &row, list); err != nil {
		return err
	}
	r.addMoved(row)
	return nil
}

// addMoved adds a row to the report whose contenders are compared with the best copy.
func (r *runner) addMoved(row Row) {
	best := 0.0
	for _, name := range []string{nameCopy, nameMemcpy} {
		if e := row.find(name); e != nil {
			best = max(best, e.Rate)
		}
	}
	for i := range row.Entries {
		if best > 0 {
			row.Entries[i].OfPeak = row.Entries[i].Rate / best
		}
	}
	r.noteSpread(&row)
	r.report.Transposes = append(r.report.Transposes, row)
}

// A transposition is a matrix of n by n on the device, room for its transpose, and the same in host
// memory.
type transposition[T linalg.Element] struct {
	s        *linalg.Session
	n        int
	src, dst []T
	a, c     *linalg.Array[T]
	kernels  []*backend.Kernel
}

// valueAt is element i of the matrix: no two neighbours in a row or a column, of any size up to
// 2^16, are the same.
func valueAt[T linalg.Element](i int) T { return T(int32(uint32(i) * 2654435761)) }

func newTransposition[T linalg.Element](s *linalg.Session, n int) (*transposition[T], error) {
	src := make([]T, n*n)
	for i := range src {
		src[i] = valueAt[T](i)
	}
	return transpositionOf(s, n, src, make([]T, n*n))
}

func transpositionOf[T linalg.Element](s *linalg.Session, n int, src, dst []T) (t *transposition[T], err error) {
	t = &transposition[T]{s: s, n: n, src: src, dst: dst}
	if t.a, err = linalg.Upload(s, linalg.NewMatrix(n, n, t.src)); err == nil {
		t.c, err = linalg.NewArray[T](s, n, n)
	}
	if err != nil {
		t.free()
		return nil, err
	}
	return t, nil
}

func transposeContenders[T linalg.Element](r *runner, n int) (list []*contender, err error) {
	t, err := newTransposition[T](r.s, n)
	if err != nil {
		return nil, err
	}
	typ := element.TypeOf[T]()
	first := t.contender(nameNaive, t.transposed, t.launch(kernels.TransposeNaive(typ), kernels.NaiveGrid(n, n)))
	first.close = t.free
	list = []*contender{
		first,
		t.contender(nameTiled, t.transposed,
			t.launch(kernels.TransposeTiled(typ), kernels.TransposeGrid(kernels.TextbookTranspose, n, n))),
		t.contender(nameFast, t.transposed, func() error { return t.c.Transpose(t.a) }),
		t.contender(nameCopy, t.copied,
			func() error { return r.s.Queue().Copy(t.c.Buffer(), 0, t.a.Buffer(), 0, t.a.Buffer().Len()) }),
	}
	for _, o := range r.others() {
		if !r.fits(4, float64(typ.Size())*float64(n)*float64(n)) {
			continue
		}
		x, err := transpositionOf(o.s, n, t.src, t.dst)
		if err != nil {
			return list, err
		}
		c := x.contender(o.name, x.transposed, func() error { return x.c.Transpose(x.a) })
		c.close = x.free
		list = append(list, c)
	}
	if !r.s.Info().GPU {
		list = append(list, t.memcpy(runtime.GOMAXPROCS(0)))
	}
	return list, nil
}

func (t *transposition[T]) free() {
	for _, k := range t.kernels {
		k.Release()
	}
	for _, a := range []*linalg.Array[T]{t.a, t.c} {
		if a != nil {
			a.Free()
		}
	}
}

func (t *transposition[T]) launch(src *backend.Source, g backend.Grid) func() error {
	var k *backend.Kernel
	return func() (err error) {
		if k == nil {
			if k, err = t.s.CompileSource(src); err != nil {
				return err
			}
			t.kernels = append(t.kernels, k)
		}
		return t.enqueue(k, g)
	}
}

func (t *transposition[T]) enqueue(k *backend.Kernel, g backend.Grid) error {
	args := kernels.TransposeArgs
	if k.Name() == kernels.TransposeNaive(element.TypeOf[T]()).Name {
		args = kernels.TransposeNaiveArgs
	}
	return t.s.Queue().Launch(k, g, args(nil, t.n, t.n, operand(t.a), operand(t.c))...)
}

// contender runs on the device. Its result has want(i, j) in row i and column j.
func (t *transposition[T]) contender(name string, want func(i, j int) T, enqueue func() error) *contender {
	run := queued(enqueue, t.s.Wait)
	check := func() (Check, error) {
		m := linalg.NewMatrix(t.n, t.n, t.dst)
		fill(t.dst, poison[T]())
		if err := t.c.CopyFrom(m); err != nil {
			return Check{}, err
		}
		if err := run(1); err != nil {
			return Check{}, err
		}
		fill(t.dst, poison[T]())
		err := t.c.CopyTo(m)
		return t.verify(want), err
	}
	return &contender{name: name, place: "device", check: check, run: run}
}

// memcpy copies by as many goroutines as cores, in host memory.
func (t *transposition[T]) memcpy(workers int) *contender {
	once := func() { parallelCopy(t.dst, t.src, workers) }
	return &contender{
		name: nameMemcpy, place: "host", run: repeat(once),
		check: func() (Check, error) {
			fill(t.dst, poison[T]())
			once()
			return t.verify(t.copied), nil
		},
	}
}

// copied and transposed are the elements of a copy and of the transpose.
func (t *transposition[T]) copied(i, j int) T     { return valueAt[T](i*t.n + j) }
func (t *transposition[T]) transposed(i, j int) T { return t.copied(j, i) }

// verify compares t.dst with what it should be, every element.
func (t *transposition[T]) verify(want func(i, j int) T) Check {
	c := Check{Elements: len(t.dst)}
	for i := range t.n {
		for j, v := range t.dst[i*t.n:][:t.n] {
			if v != want(i, j) {
				c.Wrong++
			}
		}
	}
	c.Differ = c.Wrong
	return c
}

// parallelCopy copies equal parts in goroutines of their own.
func parallelCopy[T any](dst, src []T, workers int) {
	var wg sync.WaitGroup
	for w := range workers {
		lo, hi := len(src)*w/workers, len(src)*(w+1)/workers
		wg.Go(func() { copy(dst[lo:hi], src[lo:hi]) })
	}
	wg.Wait()
}
