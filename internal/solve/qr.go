package solve

import (
	"iter"
	"math"
	"unsafe"

	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/parallel"
)

// The columns of a panel, and the rows of a chain over rows: parts of the definition.
const (
	Panel     = 32
	PieceRows = 1 << 9
)

// Pieces is the chains that a sum over m rows has.
func Pieces(m int) int { return (m + PieceRows - 1) / PieceRows }

// QR factors A = Q*R for A of m by n by Householder's method: R is left in and above the diagonal,
// and the vectors of Q's reflectors I - tau*v*vᵀ, which begin with a 1 that is not stored, below
// it. There are min(m, n) of them, and Q is their product. docs/contract.md has the definition.
// With NaN or infinities all that they reach is NaN.
func (s Solver[T]) QR(m, n int, a []T, lda int, tau []T) error {
	exps, err := s.ScaledQR(m, n, a, lda, tau)
	if exps != nil {
		ScaleR(min(m, n), n, a, lda, exps)
	}
	return err
}

// ScaleR multiplies column j of R, as [Solver.ScaledQR] left it, by 2^exps[j].
func ScaleR[T host.Float](m, n int, r []T, ldr int, exps []int) {
	for i := range m {
		Scale(1, n-i, r[i*(ldr+1):], ldr, func(_, j int) int { return exps[i+j] })
	}
}

// ScaledQR is [Solver.QR] of A with column j over 2^exps[j], which keeps R in the range. exps is
// nil where A stays as it is.
func (s Solver[T]) ScaledQR(m, n int, a []T, lda int, tau []T) (exps []int, err error) {
	if exps = ColumnExponents(m, n, a, lda, nil); exps != nil {
		Scale(m, n, a, lda, func(_, j int) int { return -exps[j] })
	}
	return exps, s.qr(m, n, a, lda, tau)
}

func (s Solver[T]) qr(m, n int, a []T, lda int, tau []T) error {
	k := min(m, n)
	if s.Remote != nil && k > 0 {
		if done, err := s.remoteQR(m, n, a, lda, tau); done || err != nil {
			return err
		}
	}
	for j := 0; j < k; j += Panel {
		w, rows, at := min(Panel, k-j), m-j, a[j*(lda+1):]
		qrColumns(w, rows, at, lda, tau[j:])
		if n == j+w {
			break
		}
		r := reflector[T]{Solver: s}
		r.take(rows, n-j-w, w, &reflectors[T]{a: a, lda: lda, tau: tau}, j)
		err := r.apply(true, n-j-w, at[w:], lda)
		if r.give(); err != nil {
			return err
		}
	}
	return nil
}

// LQ factors A = L*Q for A of m by n: it is the transpose of [Solver.QR] of Aᵀ.
func (s Solver[T]) LQ(m, n int, a []T, lda int, tau []T) error {
	// One panel is worked on as it lies in memory, with a margin for a sum in another order.
	if n > 1 && m <= min(n, Panel) && isPlain(2, m, n, a, lda) {
		lqRows(m, n, a, lda, tau)
		return nil
	}
	return transposed(m, n, a, lda, func(at []T, ld int) error { return s.QR(n, m, at, ld, tau) })
}

// transposed calls f with the transpose of A, of m by n, and makes A that of what f leaves.
func transposed[T host.Float](m, n int, a []T, lda int, f func(at []T, ld int) error) error {
	if m == 1 || n == 1 && lda == 1 { // the elements of a row and of a column lie alike
		return f(a, m)
	}
	memory, t := host.Take[T](m * n)
	defer memory.Give()
	host.Transpose(m, n, a, lda, t, m)
	if err := f(t, m); err != nil {
		return err
	}
	host.Transpose(n, m, t, m, a, lda)
	return nil
}

// qrColumns factors a panel of w columns, one after the other.
func qrColumns[T host.Float](w, rows int, a []T, lda int, tau []T) {
	memory, p := host.Take[T](w * rows)
	defer memory.Give()
	host.Transpose(rows, w, a, lda, p, rows)
	lqRows(w, rows, p, rows, tau)
	host.Transpose(w, rows, p, rows, a, lda)
}

// lqRows is qrColumns for a panel whose transpose is in memory.
func lqRows[T host.Float](w, cols int, a []T, lda int, tau []T) {
	memory, z := host.Take[T](Panel)
	defer memory.Give()
	for j := range w {
		x, rest := a[j*(lda+1):][:cols-j], w-j-1
		var beta T
		if beta, tau[j] = householder(x); tau[j] != 0 && rest > 0 {
			y := a[(j+1)*lda+j:]
			sumRows(rest, y, lda, x, z[:rest])
			host.Ger(rest, len(x), -tau[j], z[:rest], x, y, lda)
		}
		x[0] = beta
	}
}

// householder makes x the vector v of the reflector that makes x beta times the first unit vector,
// with 1 for its first element.
func householder[T host.Float](x []T) (beta, tau T) {
	alpha := float64(x[0])
	if isZero(x[1:]) {
		x[0] = 1
		return T(alpha), 0
	}
	norm, exp := host.Nrm2(x), 0
	if norm < smallNorm {
		_, exp = math.Frexp(norm)
		scaleBack(-exp, x)
		alpha, norm = float64(x[0]), host.Nrm2(x)
	}
	b := -math.Copysign(norm, alpha)
	scale := 1 / (alpha - b)
	for i, v := range x {
		x[i] = T(float64(v) * scale)
	}
	if x[0] = 1; exp == 0 {
		return T(b), T((b - alpha) / b)
	}
	return T(math.Ldexp(b, exp)), T((b - alpha) / b)
}

func isZero[T host.Float](x []T) bool {
	for _, v := range x {
		if v != 0 {
			return false
		}
	}
	return true
}

// smallNorm is the norm of a column below which its vector is computed from a multiple. No column
// of float32 but 0 is that small.
const smallNorm = 0x1p-900

// sumRows makes z the products of the rows of a, of as many columns as x has elements, with x:
// chains over pieces of PieceRows elements from +0, added in order.
func sumRows[T host.Float](rows int, a []T, lda int, x, z []T) {
	clear(z)
	if len(x) <= PieceRows {
		host.AddColumns(a, lda, x, z)
		return
	}
	n := Pieces(len(x))
	memory, sums := host.Take[T](n * rows)
	defer memory.Give()
	clear(sums)
	piece := func(k int) {
		lo, hi := k*PieceRows, min(k*PieceRows+PieceRows, len(x))
		host.AddColumns(a[lo:], lda, x[lo:hi], sums[k*rows:][:rows])
	}
	if rows*len(x)*int(unsafe.Sizeof(T(0))) > host.SerialBytes {
		parallel.Do(n, piece)
	} else {
		for k := range n {
			piece(k)
		}
	}
	copy(z, sums)
	for k := 1; k < n; k++ {
		host.Axpy(1, sums[k*rows:][:rows], z)
	}
}

// Sums of squares of a matrix beyond these do not say whether those of its columns are numbers of
// full precision.
const (
	smallMatrix = 0x1p-800
	largeMatrix = 0x1p800
)

// ColumnExponents is, where A's sum of squares is not from smallMatrix to largeMatrix, and of
// float32 from 2^-100 to 2^100, the exponents of the powers of two that bring the largest finite
// magnitude of each column to 1/2 or more and below 1, when they divide it: 0 for a column that has
// none. With rows it is always that of A with row i over 2^rows[i]. Else it is nil.
func ColumnExponents[T host.Float](m, n int, a []T, lda int, rows []int) []int {
	if rows == nil && isPlain(1, m, n, a, lda) {
		return nil
	}
	exps, found := make([]int, n), make([]bool, n)
	for i := range m {
		for j, v := range a[i*lda:][:n] {
			if v == 0 || v-v != 0 {
				continue
			}
			_, exp := math.Frexp(float64(v))
			if rows != nil {
				exp -= rows[i]
			}
			if !found[j] || exp > exps[j] {
				exps[j], found[j] = exp, true
			}
		}
	}
	return exps
}

// Scale multiplies element (i, j) of A, of m by n, by 2^exp(i, j).
func Scale[T host.Float](m, n int, a []T, lda int, exp func(i, j int) int) {
	for i := range m {
		for j, v := range a[i*lda:][:n] {
			a[i*lda+j] = T(math.Ldexp(float64(v), exp(i, j)))
		}
	}
}

// largestExponent is of the largest magnitude that a matrix gets that was beyond largeMatrix: the
// smallest stay in the range.
const largestExponent = 390

// rescale multiplies A by a power of two where its sum of squares is not from smallMatrix to
// largeMatrix: its largest magnitude becomes 1/2 or more and below 1, or where the sum is too large
// that times 2^largestExponent. It returns the exponent of the inverse: 0 where A stays as it is,
// as do zeros and a matrix with NaN or infinities, which is not finite.
func rescale(m, n int, a []float64, lda int) (exp int, finite bool) {
	if isPlain(1, m, n, a, lda) {
		return 0, true
	}
	most := 0.0
	for i := range m {
		if row := a[i*lda:][:n]; n > 0 {
			most = max(most, abs(row[host.Iamax(row)]))
		}
	}
	if most == 0 || most != most || math.IsInf(most, 0) {
		return 0, most == 0
	}
	if _, exp = math.Frexp(most); exp > 0 {
		exp -= largestExponent
	}
	for i := range m {
		scaleBack(-exp, a[i*lda:][:n])
	}
	return exp, true
}

// isPlain tells whether a matrix needs no power of two, with limits that are closer by a factor.
func isPlain[T host.Float](margin float64, m, n int, a []T, lda int) bool {
	small, large := smallMatrix*margin, largeMatrix/margin
	if unsafe.Sizeof(T(0)) == 4 { // a type switch would be felt in small calls
		small, large = 0x1p-100*margin, 0x1p100/margin
	}
	sum := 0.0
	if lda == n { // in another order, which decides where it is not near the limits
		if sum = host.Dot(a[:m*n], a[:m*n]); sum >= 2*small && sum <= large/2 {
			return true
		}
		sum = 0
	}
	for i := range m {
		row := a[i*lda:][:n]
		sum += host.Dot(row, row)
	}
	return sum >= small && sum <= large
}

// scaleBack multiplies x by 2^exp.
func scaleBack[T host.Float](exp int, x []T) {
	switch {
	case exp == 0:
	case exp > -1022 && exp < 1024:
		f := math.Float64frombits(uint64(exp+1023) << 52) // 2^exp
		for i, v := range x {
			x[i] = T(float64(v) * f)
		}
	default:
		for i, v := range x {
			x[i] = T(math.Ldexp(float64(v), exp))
		}
	}
}

// reflectors are vectors as [Solver.QR] left them in the columns of A, or with rows as [Solver.LQ]
// left them in its rows, with their factors.
type reflectors[T host.Float] struct {
	a    []T
	lda  int
	rows bool
	tau  []T
}

// A reflector is I - V*T*Vᵀ, the product of w reflectors, for V of m by w, unit lower trapezoidal
// and kept whole, with its transpose, and T of w by w, upper triangular, of which the transpose is
// kept, behind V in block.
type reflector[T host.Float] struct {
	Solver[T]
	m, w      int
	few       bool // elements: products take matrices where they lie, and Vᵀ is not made
	block     []T
	v, vt, tt []T
	side      []T // working memory
	memory    *host.Scratch
}

// isFew tells whether products of V, of m by w, and n columns take matrices where they lie.
func (s Solver[T]) isFew(m, n, w int) bool {
	if most := max(n, w); most > host.FewTiles || m*most > fewElements {
		return false
	}
	once, err := s.atOnce(m, n, w)
	return once && err == nil // an error comes again with a product
}

// fewElements is what a near cache holds of a matrix beside another. For products of larger ones
// there may be several cores.
const fewElements = 1 << 15

// take takes w of the reflectors, from j on, with V of m rows: t[j,j] = tau[j], and t[i,j] is the
// chain of fma(t[i,k], g[k,j], .) for k = i ... j-1 from +0 times -tau[j], for G = VᵀV as cross
// gives it. r is for matrices of n columns.
func (r *reflector[T]) take(m, n, w int, h *reflectors[T], j int) {
	memory, x := host.Take[T](2*m*w + w*w + w*max(2*n, w))
	r.m, r.w, r.few, r.memory = m, w, r.isFew(m, n, w), memory
	r.block = x[:(m+w)*w]
	r.v, r.tt, r.vt, r.side = x[:m*w], r.block[m*w:], x[len(r.block):][:m*w], x[len(r.block)+m*w:]
	if at := h.a[j*(h.lda+1):]; h.rows {
		host.Transpose(w, m, at, h.lda, r.v, w)
	} else {
		host.CopyMatrix(m, w, at, h.lda, r.v, w)
	}
	for i := range min(w, m) {
		r.v[i*(w+1)] = 1
		clear(r.v[i*w:][i+1 : w])
	}
	if !r.few {
		host.Transpose(m, w, r.v, w, r.vt, m)
	}
	r.setT(h.tau[j:])
}

// setT makes T.
func (r *reflector[T]) setT(tau []T) {
	on, g := *r, r.side[:r.w*r.w]
	on.Update = nil // too small for a device
	if err := on.cross(r.w, r.v, r.w, g); err != nil {
		panic(err)
	}
	r.columnsT(g, tau)
}

// columnsT makes T of G.
func (r *reflector[T]) columnsT(g, tau []T) {
	w, tt := r.w, r.tt
	clear(tt)
	for j := range w {
		x := tt[j*w:][:j]
		host.AddRows(j, tt, w, g[j*w:], x) // G is symmetric
		host.Scal(-tau[j], x)
		tt[j*(w+1)] = tau[j]
	}
}

// give gives the memory back.
func (r *reflector[T]) give() { r.memory.Give() }

// cross makes x, of w by n, Vᵀ*C: chains over pieces of PieceRows rows from +0, added in order.
func (r *reflector[T]) cross(n int, c []T, ldc int, x []T) error {
	err := r.crossPiece(0, min(PieceRows, r.m), n, c, ldc, x)
	if err != nil || r.m <= PieceRows {
		return err
	}
	memory, y := host.Take[T](r.w * n)
	defer memory.Give()
	for i := PieceRows; i < r.m; i += PieceRows {
		if err := r.crossPiece(i, min(PieceRows, r.m-i), n, c[i*ldc:], ldc, y); err != nil {
			return err
		}
		host.Axpy(1, y, x)
	}
	return nil
}

// crossPiece makes x the product of k rows of V, from row i on, transposed, and C.
func (r *reflector[T]) crossPiece(i, k, n int, c []T, ldc int, x []T) error {
	if r.few {
		host.Tiles(r.w, n, k, r.v[i*r.w:], 1, r.w, c, ldc, x, n, true)
		return nil
	}
	clear(x)
	return r.update(false, r.w, n, k, r.vt[i:], r.m, c, ldc, x, n)
}

// apply makes C, of m by n, (I - V*T*Vᵀ)*C, or with trans (I - V*Tᵀ*Vᵀ)*C: W = VᵀC, the product of
// T or Tᵀ and W, and C less V times that as a chain that goes on.
func (r *reflector[T]) apply(trans bool, n int, c []T, ldc int) error {
	x := r.side[:r.w*n]
	if err := r.cross(n, c, ldc, x); err != nil {
		return err
	}
	return r.subtract(trans, n, x, c, ldc)
}

// applyToUnit is apply to the first w columns of I, whose W is there.
func (r *reflector[T]) applyToUnit(c []T, ldc int) error {
	x := r.side[:r.w*r.w]
	host.Transpose(r.w, r.w, r.v, r.w, x, r.w)
	return r.subtract(false, r.w, x, c, ldc)
}

func (r *reflector[T]) subtract(trans bool, n int, x, c []T, ldc int) error {
	w, y := r.w, r.side[r.w*n:][:r.w*n]
	if !r.few {
		host.GemmTrans(!trans, false, w, n, w, 1, r.tt, w, x, n, 0, y, n)
		return r.update(true, r.m, n, w, r.v, w, y, n, c, ldc)
	}
	row, col := host.Steps(!trans, w)
	host.Tiles(w, n, w, r.tt, row, col, x, n, y, n, true)
	host.Scal(-1, y)
	host.Tiles(r.m, n, w, r.v, w, 1, y, n, c, ldc, false)
	return nil
}

// ApplyQ makes C, of m by n, Q*C or with trans Qᵀ*C, for the k reflectors that [Solver.QR] left in
// the columns of A and in tau.
func (s Solver[T]) ApplyQ(trans bool, m, n, k int, a []T, lda int, tau, c []T, ldc int) error {
	return s.applyAll(trans, m, n, k, &reflectors[T]{a: a, lda: lda, tau: tau}, c, ldc)
}

func (s Solver[T]) applyAll(trans bool, m, n, k int, h *reflectors[T], c []T, ldc int) error {
	if s.Remote != nil && n > 0 && k > 0 {
		if done, err := s.remoteApply(trans, m, n, k, h, c, ldc); done || err != nil {
			return err
		}
	}
	if k == 1 && m <= PieceRows && n > 1 {
		h.reflectOne(m, n, c, ldc)
		return nil
	}
	for j, w := range blocks(trans, k) {
		r := reflector[T]{Solver: s}
		r.take(m-j, n, w, h, j)
		err := r.apply(trans, n, c[j*ldc:], ldc)
		if r.give(); err != nil {
			return err
		}
	}
	return nil
}

// blocks is the blocks of k reflectors in the order in which Q, or with trans Qᵀ, applies them: the
// first reflector of each, and how many it has.
func blocks(trans bool, k int) iter.Seq2[int, int] {
	return func(yield func(j, w int) bool) {
		last := (k - 1) / Panel * Panel
		for i := 0; i < k; i += Panel {
			j := i
			if !trans {
				j = last - i
			}
			if !yield(j, min(Panel, k-j)) {
				return
			}
		}
	}
}

// reflectOne is applyAll for one reflector, whose T is tau.
func (h *reflectors[T]) reflectOne(m, n int, c []T, ldc int) {
	memory, x := host.Take[T](m + n)
	defer memory.Give()
	v, y, step := x[:m], x[m:], h.lda
	if h.rows {
		step = 1
	}
	v[0] = 1
	for i := 1; i < m; i++ {
		v[i] = h.a[i*step]
	}
	clear(y)
	host.AddRows(m, c, ldc, v, y)
	for i, w := range y {
		y[i] = host.FMA(h.tau[0], w, 0)
	}
	host.Ger(m, n, -1, v, y, c, ldc)
}

// FormQ makes A, of m by n with m >= n, whose first k columns and tau [Solver.QR] left, the first n
// columns of Q: the product of Q and those of I.
func (s Solver[T]) FormQ(m, n, k int, a []T, lda int, tau []T) error {
	if s.Remote != nil && k > 0 {
		if done, err := s.remoteForm(m, n, k, a, lda, tau); done || err != nil {
			return err
		}
	}
	unitColumns(m, k, n, a, lda)
	for j, w := range blocks(false, k) {
		at, r := a[j*(lda+1):], reflector[T]{Solver: s}
		r.take(m-j, n-j, w, &reflectors[T]{a: a, lda: lda, tau: tau}, j)
		unitColumns(m, j, j+w, a, lda)
		var err error
		if n > j+w {
			err = r.apply(false, n-j, at, lda)
		} else {
			err = r.applyToUnit(at, lda)
		}
		if r.give(); err != nil {
			return err
		}
	}
	return nil
}

// FormRows makes A, of m by n with m <= n, whose first k rows and tau [Solver.LQ] left, the first m
// rows of Q: the transpose of what [Solver.FormQ] makes.
func (s Solver[T]) FormRows(m, n, k int, a []T, lda int, tau []T) error {
	return transposed(m, n, a, lda, func(at []T, ld int) error { return s.FormQ(n, m, k, at, ld, tau[:k]) })
}

// MultiplyQ makes C, of m by n, op(Q)*C as [Solver.ApplyQ] does, or without left C*op(Q), which is
// the transpose of op(Q)ᵀ*Cᵀ.
func (s Solver[T]) MultiplyQ(left, trans bool, m, n, k int, a []T, lda int, tau, c []T, ldc int) error {
	return s.multiplyAll(left, trans, m, n, k, &reflectors[T]{a: a, lda: lda, tau: tau}, c, ldc)
}

// MultiplyRows is [Solver.MultiplyQ] for Q as [Solver.LQ] left it in the first k rows of A.
func (s Solver[T]) MultiplyRows(left, trans bool, m, n, k int, a []T, lda int, tau, c []T, ldc int) error {
	return s.multiplyAll(left, !trans, m, n, k, &reflectors[T]{a: a, lda: lda, rows: true, tau: tau}, c, ldc)
}

func (s Solver[T]) multiplyAll(left, trans bool, m, n, k int, h *reflectors[T], c []T, ldc int) error {
	if left {
		return s.applyAll(trans, m, n, k, h, c, ldc)
	}
	return transposed(m, n, c, ldc, func(ct []T, ld int) error { return s.applyAll(!trans, n, m, k, h, ct, ld) })
}

// unitColumns makes columns lo to hi-1 of A, which has m rows, those of I.
func unitColumns[T host.Float](m, lo, hi int, a []T, lda int) {
	for i := 0; i < m && hi > 0; i++ {
		row := a[i*lda:][:hi]
		clear(row[lo:])
		if i >= lo && i < hi {
			row[i] = 1
		}
	}
}
