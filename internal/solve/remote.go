package solve

import "github.com/tandem-gpu/tandem/internal/host"

// A Remote holds a matrix in the memory of a device, where blocks of reflectors are applied to it.
// Panels are factored on the host: a chain over rows is one step after the other, which a processor
// does sooner than a device of many slow ones. Functions may return before the device is done.
type Remote[T host.Float] interface {
	// Upload makes the matrix a copy of A. Download makes A a copy of the matrix, and waits for it.
	Upload(a []T, lda int) error
	Download(a []T, lda int) error

	// Send brings a block of w reflectors to the device, for the last rows of the matrix: V, of
	// rows by w, and after that S, of w by w. It waits until the host may use that memory again.
	Send(rows, w int, block []T) error

	// Apply makes columns lo to hi-1 of those rows, C, less V*(S*W), for W = VᵀC in chains over
	// pieces of PieceRows rows from +0, added in order, and S*W in chains from +0.
	Apply(lo, hi int) error

	// Fetch begins to copy columns lo to hi-1, Panel of them at most, as they are after the calls
	// before it. Fetched waits for them: x becomes their transpose.
	Fetch(lo, hi int) error
	Fetched(x []T) error
}

// send sends w of the reflectors, from j on, with V of m rows and T, or with trans Tᵀ.
func (h *reflectors[T]) send(to Remote[T], trans bool, m, w, j int) error {
	var r reflector[T]
	r.take(m, 0, w, h, j)
	defer r.give()
	if !trans {
		t := r.side[:w*w]
		host.Transpose(w, w, r.tt, w, t, w)
		copy(r.tt, t)
	}
	return to.Send(m, w, r.block)
}

// A remoteQR is a factorization of a matrix of m by n that a device has, too.
type remoteQR[T host.Float] struct {
	Remote[T]
	reflectors[T]
	m, n, k int
}

// remoteQR is qr by a device, or is false.
func (s Solver[T]) remoteQR(m, n int, a []T, lda int, tau []T) (done bool, err error) {
	k := min(m, n)
	return s.Remote(m, n, k, func(r Remote[T]) error {
		if err := r.Upload(a, lda); err != nil {
			return err
		}
		f := remoteQR[T]{r, reflectors[T]{a: a, lda: lda, tau: tau}, m, n, k}
		return f.factor()
	})
}

// end is the end of the panel that begins with column j, or of as many columns behind all panels.
func (f *remoteQR[T]) end(j int) int {
	if j < f.k {
		return min(j+Panel, f.k)
	}
	return min(j+Panel, f.n)
}

// factor brings all columns back, by panels, once they are what is left for the host.
func (f *remoteQR[T]) factor() error {
	memory, p := host.Take[T](Panel * f.m)
	defer memory.Give()
	next := f.end(0)
	err := f.Fetch(0, next)
	for j := 0; j < f.n && err == nil; j, next = next, f.end(next) {
		w := next - j
		if err := f.Fetched(p[:w*f.m]); err != nil {
			return err
		}
		if j < f.k {
			lqRows(w, f.m-j, p[j:], f.m, f.tau[j:])
		}
		host.Transpose(w, f.m, p, f.m, f.a[j:], f.lda)
		switch {
		case next == f.n:
		case j < f.k:
			err = f.update(j, next)
		default:
			err = f.Fetch(next, f.end(next))
		}
	}
	return err
}

// update applies the panel of columns j to next-1 to those after it: first to the next panel, which
// the host has while the device does the rest.
func (f *remoteQR[T]) update(j, next int) error {
	if err := f.send(f, true, f.m-j, next-j, j); err != nil {
		return err
	}
	end := f.end(next)
	if err := f.Apply(next, end); err != nil {
		return err
	}
	if err := f.Fetch(next, end); err != nil {
		return err
	}
	return f.Apply(end, f.n)
}

// remoteApply is applyAll by a device, or is false.
func (s Solver[T]) remoteApply(trans bool, m, n, k int, h *reflectors[T], c []T, ldc int) (done bool, err error) {
	return s.Remote(m, n, k, func(r Remote[T]) error {
		if err := r.Upload(c, ldc); err != nil {
			return err
		}
		if err := h.applyTo(r, trans, false, m, n, k); err != nil {
			return err
		}
		return r.Download(c, ldc)
	})
}

// remoteForm is FormQ by a device, or is false.
func (s Solver[T]) remoteForm(m, n, k int, a []T, lda int, tau []T) (done bool, err error) {
	return s.Remote(m, n, k, func(r Remote[T]) error {
		memory, unit := host.Take[T](m * n)
		defer memory.Give()
		unitColumns(m, 0, n, unit, n)
		if err := r.Upload(unit, n); err != nil {
			return err
		}
		h := reflectors[T]{a: a, lda: lda, tau: tau}
		if err := h.applyTo(r, false, true, m, n, k); err != nil {
			return err
		}
		return r.Download(a, lda)
	})
}

// applyTo applies k reflectors to r, of m by n: with unit to the columns that they change, where r
// was those of I.
func (h *reflectors[T]) applyTo(r Remote[T], trans, unit bool, m, n, k int) error {
	for j, w := range blocks(trans, k) {
		lo := 0
		if unit {
			lo = j
		}
		if err := h.send(r, trans, m-j, w, j); err != nil {
			return err
		}
		if err := r.Apply(lo, n); err != nil {
			return err
		}
	}
	return nil
}

// A Reduction holds a matrix that is reduced to few diagonals in the memory of a device, which
// multiplies it by vectors: for each column it is read as a whole, at the speed of that memory.
// What a panel is made of is the host's. Functions may return before the device is done.
type Reduction interface {
	// Fetch makes columns the transpose of the first w columns that are left, and the first w rows
	// those of rows, unless that is nil.
	Fetch(w int, columns, rows []float64, ldr int) error

	// Multiply begins the product of what is left, or with trans its transpose, and a vector with x
	// for its last elements, and +0 before. Multiplied makes y the last elements of the product.
	Multiply(trans bool, x []float64) error
	Multiplied(y []float64) error

	// Subtract leaves the matrix without its first w rows and columns, less L*R, for packed L with
	// 2*w columns, in chains that go on. Of a symmetric matrix the lower triangle is computed, and
	// the upper one is its mirror.
	Subtract(w int, l, r []float64, ldr int) error
}
