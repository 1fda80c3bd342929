package bench

import (
	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/linalg"
)

// nameEach is the products of a batch in calls of their own.
const nameEach = "one by one"

// batches measures many small products of one shape: in one call, and one by one.
func batches[T linalg.Element](r *runner, d shape) error {
	t := element.TypeOf[T]()
	row := Row{Experiment: "product", Type: t.String(), M: d.m, N: d.n, K: d.k, Batch: d.count, Unit: operations(t)}
	row.Work = 2 * float64(d.m) * float64(d.n) * float64(d.k) * float64(d.count)
	if !r.step(row.Title()) {
		return nil
	}
	list, err := batchContenders[T](r, d)
	defer func() { closeAll(list) }()
	if err != nil {
		return r.setupFailed(&r.report.Products, row, err)
	}
	return r.addProduct(row, list)
}

// batchContenders are all that multiply batches. After an error those that it returns must be
// closed, too.
func batchContenders[T linalg.Element](r *runner, s shape) (list []*contender, err error) {
	// The A lie below each other, and so do the B and the C.
	p := randomProblem[T](s.m*s.count, s.n, s.k)
	p.b = randomProblem[T](1, s.n, s.k*s.count).b
	parts := make([]problem[T], s.count)
	for i := range parts {
		parts[i] = problem[T]{
			s.m, s.n, s.k, p.a[i*s.m*s.k:][:s.m*s.k], p.b[i*s.k*s.n:][:s.k*s.n], p.c[i*s.m*s.n:][:s.m*s.n],
		}
	}
	ref := batchReference(parts)
	for _, o := range append([]other{{nameFast, r.s}}, r.others()...) {
		d, err := newOnDevice(o.s, p, ref)
		if err != nil {
			return list, err
		}
		c := d.contender(o.name, func() error {
			return d.c.GemmBatched(s.count, 1, blas.NoTrans, d.a, blas.NoTrans, d.b, 0)
		})
		c.close = d.free
		list = append(list, c)
		if o.s == r.s {
			list = append(list, d.contender(nameEach, func() error { return d.each(s) }))
		}
	}
	for _, l := range r.libs {
		if l.place == "host" && !l.apart {
			if c := batchOfLibrary(l, parts, p, ref); c != nil {
				list = append(list, c)
			}
		}
	}
	return list, nil
}

// each enqueues the products one by one.
func (d *onDevice[T]) each(s shape) error {
	for i := range s.count {
		c := d.c.Slice(i*s.m, (i+1)*s.m, 0, s.n)
		a, b := d.a.Slice(i*s.m, (i+1)*s.m, 0, s.k), d.b.Slice(i*s.k, (i+1)*s.k, 0, s.n)
		if err := c.Mul(a, b); err != nil {
			return err
		}
	}
	return nil
}

// batchReference is the results of all parts below each other.
func batchReference[T linalg.Element](parts []problem[T]) *reference[T] {
	all := &reference[T]{n: parts[0].n}
	for _, p := range parts {
		one := newReference(p, checkOperations())
		one.limits(p)
		for range one.rows {
			all.rows = append(all.rows, len(all.rows))
		}
		all.want, all.bound = append(all.want, one.want...), append(all.bound, one.bound...)
	}
	return all
}

// batchOfLibrary multiplies one by one by a library that works in host memory; nil where it has no
// product of the type.
func batchOfLibrary[T linalg.Element](l *library, parts []problem[T], p problem[T], ref *reference[T]) *contender {
	c := &contender{name: l.info.Name, peer: true, place: l.place}
	jobs := make([]*job, len(parts))
	for i := range parts {
		j, err := prepare(l, parts[i])
		if err != nil {
			c.check = func() (Check, error) { return Check{}, err }
			return c
		}
		if j == nil {
			return nil
		}
		jobs[i] = j
	}
	c.run = func(runs int) error {
		for range runs {
			for _, j := range jobs {
				if err := j.run(1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	c.check = func() (Check, error) {
		fill(p.c, poison[T]())
		if err := c.run(1); err != nil {
			return Check{}, err
		}
		return ref.close(p.c), nil
	}
	c.close = func() {
		for _, j := range jobs {
			if j.close != nil {
				j.close()
			}
		}
	}
	return c
}
