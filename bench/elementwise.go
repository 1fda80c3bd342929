package bench

import (
	"runtime"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/linalg"
)

// elementwise measures c = a + b and c = 3*a of packed matrices of n by n, beside a copy in host
// memory that reads and writes as many bytes.
func elementwise[T linalg.Element](r *runner, n int) error {
	t := element.TypeOf[T]()
	bytes := float64(t.Size()) * float64(n) * float64(n)
	for _, add := range []bool{true, false} {
		row := Row{Experiment: "scale", Type: t.String(), M: n, N: n, Work: 2 * bytes, Unit: "GB/s"}
		if add {
			row.Experiment, row.Work = "add", 3*bytes
		}
		if !r.step(row.Title()) {
			continue
		}
		if !r.fits(3, row.Work/2) {
			r.note("%s: left out, as it does not fit the memory", row.Title())
			continue
		}
		x, err := newElementwise[T](r.s, n, add)
		if err == nil {
			err = r.measure(r.ctx, &row, x.contenders())
			x.free()
			if err != nil {
				return err
			}
			r.addMoved(row)
		} else if err := r.setupFailed(&r.report.Transposes, row, err); err != nil {
			return err
		}
	}
	return nil
}

// An elementwiseOperation has its operands on the device, and in host memory, where a copy of as
// many bytes is made.
type elementwiseOperation[T linalg.Element] struct {
	*transposition[T]
	b   *linalg.Array[T] // nil: c = 3*a
	out []T              // that the copy fills from src
}

func newElementwise[T linalg.Element](s *linalg.Session, n int, add bool) (x *elementwiseOperation[T], err error) {
	t, err := newTransposition[T](s, n)
	if err != nil {
		return nil, err
	}
	x = &elementwiseOperation[T]{transposition: t, out: make([]T, n*n)}
	if !add {
		return x, nil
	}
	x.out = make([]T, n*n*3/2)
	x.src = append(x.src, x.src[:n*n/2]...)
	if x.b, err = linalg.Upload(s, linalg.NewMatrix(n, n, x.src[:n*n])); err != nil {
		x.free()
	}
	return x, err
}

func (x *elementwiseOperation[T]) free() {
	x.transposition.free()
	if x.b != nil {
		x.b.Free()
	}
}

func (x *elementwiseOperation[T]) run() error {
	if x.b != nil {
		return x.c.Add(x.a, x.b)
	}
	return x.c.Scale(3, x.a)
}

// value is an element of the result.
func (x *elementwiseOperation[T]) value(i, j int) T {
	v := x.copied(i, j)
	if x.b != nil {
		return v + v
	}
	return 3 * v
}

func (x *elementwiseOperation[T]) contenders() []*contender {
	memcpy := func() { parallelCopy(x.out, x.src, runtime.GOMAXPROCS(0)) }
	return []*contender{x.contender(nameFast, x.value, x.run), {
		name: nameMemcpy, place: "host", run: repeat(memcpy),
		check: func() (Check, error) {
			fill(x.out, poison[T]())
			memcpy()
			c := Check{Elements: len(x.out)}
			for i, v := range x.out {
				if v != x.src[i] {
					c.Wrong++
				}
			}
			return c, nil
		},
	}}
}
