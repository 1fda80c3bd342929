package bench

import (
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/tandem-gpu/tandem/bench/internal/measure"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

// transposes are those of matrices of n by n, and c = a + b and c = 3*a, all beside copies of as
// many bytes, and before them the peak of copies. One type, int32 if that is measured, has large
// ones.
func transposes[T linalg.Element](r *runner) (list []*task) {
	first := r.o.Types[0]
	if slices.Contains(r.o.Types, element.Int32) {
		first = element.Int32
	}
	large := []int{4096}
	if element.TypeOf[T]() == first {
		large = []int{4096, 8192, 16384}
	}
	sizes := r.sizes([]int{256}, large...)
	if r.o.Types[0] == element.TypeOf[T]() {
		n := slices.Max(r.sizes([]int{256}, 8192))
		peak := moving(nameCopies, n, 2, 2, func(t *task, m *measure.Move[T]) error {
			_, err := addCopies(r, t, m)
			return err
		})
		peak.Group = groupPeaks
		list = append(list, peak)
	}
	for _, n := range sizes {
		list = append(list, transpose[T](r, n))
	}
	for _, n := range r.sizes([]int{256}, 4096) {
		list = append(list, elementwise[T](r, n, "add", 3), elementwise[T](r, n, "scale", 2))
	}
	return list
}

// moving is a row of matrices of n by n, of which so many are read or written.
func moving[T linalg.Element](name string, n, moved, arrays int, ready func(t *task, m *measure.Move[T]) error) *task {
	bytes := float64(element.TypeOf[T]().Size()) * float64(n) * float64(n)
	row := Row{Name: name, Size: fmt.Sprintf("%dx%d", n, n), Work: float64(moved) * bytes, Unit: gigabytes}
	return &task{Row: row, arrays: arrays, bytes: bytes, ready: func(t *task) error {
		return ready(t, measure.NewMove[T](n))
	}}
}

// transpose is one beside copies.
func transpose[T linalg.Element](r *runner, n int) *task {
	return moving("transpose", n, 2, 2, func(t *task, m *measure.Move[T]) error {
		t.Result = *m.Result(m.Transposed)
		on, err := addCopies(r, t, m)
		if err != nil {
			return err
		}
		typ, x := element.TypeOf[T](), on.Operands()
		textbook(r, t, nameNaive, on[1], m.Dst, kernels.TransposeNaive(typ), kernels.NaiveGrid(n, n),
			kernels.TransposeNaiveArgs(nil, n, n, x[0], x[1]))
		textbook(r, t, nameTiled, on[1], m.Dst, kernels.TransposeTiled(typ),
			kernels.TransposeGrid(kernels.TextbookTranspose, n, n), kernels.TransposeArgs(nil, n, n, x[0], x[1]))
		for _, d := range r.devices() {
			on := on
			if d.s != r.s {
				if !r.fits(4, t.bytes) {
					continue
				}
				if on, err = m.Upload(d.s); err != nil {
					return err
				}
				t.free = append(t.free, on.Free)
			}
			t.add(measure.OnDevice(&t.Result, d.name, d.s, on[1], m.Dst,
				func() error { return on[1].Transpose(on[0]) }))
		}
		return nil
	})
}

// addCopies adds the copies of as many bytes as a transpose has, on the device and in host memory.
func addCopies[T linalg.Element](r *runner, t *task, m *measure.Move[T]) (on measure.Arrays[T], err error) {
	if on, err = m.Upload(r.s); err != nil {
		return nil, err
	}
	t.free = append(t.free, on.Free)
	t.add(measure.OnDevice(m.Result(m.Copied), nameCopy, r.s, on[1], m.Dst, func() error {
		return r.s.Queue().Copy(on[1].Buffer(), 0, on[0].Buffer(), 0, on[0].Buffer().Len())
	}))
	t.add(memcpy(r, m.Dst, m.Src)...)
	return on, nil
}

// elementwise is c = a + b, or c = 3*a, of packed matrices of n by n, of which so many are moved.
func elementwise[T linalg.Element](r *runner, n int, name string, moved int) *task {
	return moving(name, n, moved, 3, func(t *task, m *measure.Move[T]) error {
		on, err := measure.Upload(r.s, []int{n, n, n}, m.Src, m.Src, m.Dst)
		if err != nil {
			return err
		}
		t.free = append(t.free, on.Free)
		run, want := func() error { return on[2].Add(on[0], on[1]) },
			func(i, j int) T { return m.Copied(i, j) + m.Copied(i, j) }
		if name == "scale" {
			run, want = func() error { return on[2].Scale(3, on[0]) }, func(i, j int) T { return 3 * m.Copied(i, j) }
		}
		t.Result = *m.Result(want)
		t.add(measure.OnDevice(&t.Result, nameFast, r.s, on[2], m.Dst, run))
		src := make([]T, n*n*moved/2) // that a copy reads and writes as many bytes of
		measure.Fill(src, 1)
		t.add(memcpy(r, make([]T, len(src)), src)...)
		return nil
	})
}

// memcpy copies by as many goroutines as cores, in host memory; not beside a GPU, whose memory is
// faster.
func memcpy[T linalg.Element](r *runner, dst, src []T) []*measure.Contender {
	if r.s.Info().GPU {
		return nil
	}
	result := measure.Result{
		Reset:  func() { measure.Fill(dst, measure.Poison[T]()) },
		Verify: func(bool) measure.Check { return measure.Compare(dst, src, 0) },
	}
	return []*measure.Contender{result.Contender(nameMemcpy, measure.Repeat(func() error {
		var wg sync.WaitGroup
		for w, workers := 0, runtime.GOMAXPROCS(0); w < workers; w++ {
			lo, hi := len(src)*w/workers, len(src)*(w+1)/workers
			wg.Go(func() { copy(dst[lo:hi], src[lo:hi]) })
		}
		wg.Wait()
		return nil
	}), nil, nil)}
}
