package array

import (
	"cmp"
	"fmt"
	"math"
	"unsafe"

	"github.com/tandem-gpu/tandem/array/internal/moves"
	"github.com/tandem-gpu/tandem/array/internal/sorting"
	"github.com/tandem-gpu/tandem/array/internal/sums"
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/internal/inside"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

// Reshape is a with its elements in rows by cols, as [linalg.Array.Reshape] has it: a view.
func Reshape[T any](a *Array[T], rows, cols int) (*Array[T], error) {
	if err := check("Reshape", "a", a, nil); err != nil {
		return nil, err
	}
	return a.Reshape(rows, cols)
}

// Concat makes c its parts beside each other where all have its rows, else above each other. No
// part may share elements with c.
func Concat[T Stored](c *Array[T], parts ...*Array[T]) error {
	s, rows, cols, err := dims("Concat", "c", c)
	if err != nil {
		return err
	}
	beside, above, wide, high := true, true, 0, 0
	for i, p := range parts {
		name := fmt.Sprint("part ", i)
		if err := check("Concat", name, p, s); err != nil {
			return err
		}
		if inside.Overlap(c, p) {
			return fmt.Errorf("%w: Concat: c and %s", linalg.ErrOverlap, name)
		}
		r, k := p.Dims()
		beside, above = beside && r == rows, above && k == cols
		high, wide = high+r, wide+k
	}
	beside = beside && wide == cols
	if !beside && (!above || high != rows) {
		return fmt.Errorf("%w: Concat: c is %s, which %d parts of %d rows and %d columns in all do not fill",
			linalg.ErrShape, c, len(parts), high, wide)
	}
	i, j := 0, 0
	for _, p := range parts {
		r, k := p.Dims()
		if err := copyTo(c.Slice(i, i+r, j, j+k), p); err != nil {
			return err
		}
		if beside {
			j += k
		} else {
			i += r
		}
	}
	return nil
}

// copyTo is Copy, also of nothing.
func copyTo[T Stored](c, a *Array[T]) error {
	if rows, cols := c.Dims(); rows == 0 || cols == 0 {
		return nil
	}
	return Copy(c, a)
}

// Pad makes c v, but for a, whose first element lies in row top and column left of c. a must be
// within c, and may not share elements with it.
func Pad[T Stored](c, a *Array[T], top, left int, v T) error {
	rows, cols, err := pair("Pad", c, a)
	if err != nil {
		return err
	}
	r, k := a.Dims()
	if top < 0 || left < 0 || top > rows-r || left > cols-k {
		return fmt.Errorf("%w: Pad: c is %s, and does not hold a, %s, from row %d and column %d on", linalg.ErrShape,
			c, a, top, left)
	}
	if rows == 0 || cols == 0 {
		return nil
	}
	return cmp.Or(Fill(c, v), copyTo(c.Slice(top, top+r, left, left+k), a))
}

// Roll makes element (i, j) of a element (i+rows, j+cols) of c, where what leaves at one end comes
// in at the other. The shifts may be negative. c may not share elements with a.
func Roll[T Stored](c, a *Array[T], rows, cols int) error {
	m, n, err := samePair("Roll", c, a)
	if err != nil || m == 0 || n == 0 {
		return err
	}
	rows, cols = (rows%m+m)%m, (cols%n+n)%n
	for _, i := range [][3]int{{0, m - rows, rows}, {m - rows, m, 0}} { // from, to, and where that is in c
		for _, j := range [][3]int{{0, n - cols, cols}, {n - cols, n, 0}} {
			part := c.Slice(i[2], i[2]+i[1]-i[0], j[2], j[2]+j[1]-j[0])
			if err := copyTo(part, a.Slice(i[0], i[1], j[0], j[1])); err != nil {
				return err
			}
		}
	}
	return nil
}

// Diff makes element j of each row of c element j+1 of a's less element j, where c has a column
// less than a, or none of none; where it has a row less, rows of c are so of rows of a. c may not
// share elements with a.
func Diff[T Element](c, a *Array[T]) error {
	rows, cols, err := pair("Diff", c, a)
	if err != nil {
		return err
	}
	r, n := a.Dims()
	switch {
	case r == rows && n == 0 && cols == 0, n == cols && r == 0 && rows == 0:
		return nil // of nothing
	case r == rows && n == cols+1:
		return c.Sub(a.Slice(0, r, 1, n), a.Slice(0, r, 0, n-1))
	case r == rows+1 && n == cols:
		return c.Sub(a.Slice(1, r, 0, n), a.Slice(0, r-1, 0, n))
	}
	return fmt.Errorf("%w: Diff: c is %s, and must have the shape of a, %s, less a column or a row",
		linalg.ErrShape, c, a)
}

// Outer makes element (i, j) of c the product of a's element i and b's element j, rounded once. a
// and b are rows or columns; a row as a, and a column as b, must be packed.
func Outer[T Element](c, a, b *Array[T]) error {
	s, rows, cols, err := dims("Outer", "c", c)
	if err == nil {
		err = cmp.Or(checkLength("Outer", "a", a, s, rows), checkLength("Outer", "b", b, s, cols))
	}
	if err != nil || rows == 0 || cols == 0 {
		return err
	}
	if r, k := a.Dims(); r != rows || k != 1 {
		if a, err = a.Reshape(rows, 1); err != nil {
			return err
		}
	}
	if r, k := b.Dims(); r != 1 || k != cols {
		if b, err = b.Reshape(1, cols); err != nil {
			return err
		}
	}
	return Mul[T](c, a, b)
}

// Flip makes c a with its rows, its columns or both in the opposite order. c may not share elements
// with a.
func Flip[T Stored](c, a *Array[T], rows, cols bool) error {
	m, n, err := samePair("Flip", c, a)
	if err != nil {
		return err
	}
	if n == 1 || rows && cols { // a packed column is a row, and so is what is turned round as a whole
		c, a = sums.Flat(c, a)
		m, n = c.Dims()
		rows, cols = rows && m > 1, rows
	}
	to := moves.Map{RowI: 1, ColJ: 1}
	if rows {
		to.Row, to.RowI = m-1, -1
	}
	if cols {
		to.Col, to.ColJ = n-1, -1
	}
	return place(c, a, to)
}

// Diag makes c, a row or a column, the diagonal of a, or, where a is a row or a column, c a matrix
// with a as its diagonal, and zeros: of two rows or columns c is the matrix, and must be one. c may
// not share elements with a.
func Diag[T Stored](c, a *Array[T]) error {
	rows, cols, err := pair("Diag", c, a)
	if err != nil {
		return err
	}
	m, n := a.Dims()
	switch {
	case m == 1 && n == min(rows, cols):
		return place(c, a, moves.Map{RowI: 1, RowJ: -1, ColJ: 1})
	case n == 1 && m == min(rows, cols):
		return place(c, a, moves.Map{RowI: 1, ColI: 1, ColJ: -1})
	case m == 1 || n == 1: // c of one element is not the matrix
	case rows == 1 && cols == min(m, n):
		return place(c, a, moves.Map{RowJ: 1, ColJ: 1})
	case cols == 1 && rows == min(m, n):
		return place(c, a, moves.Map{RowI: 1, ColI: 1})
	}
	return fmt.Errorf("%w: Diag: neither is one of c, %s, and a, %s, the diagonal of the other", linalg.ErrShape, c, a)
}

// Eye makes c ones on its diagonal, and zeros.
func Eye[T Element](c *Array[T]) (err error) {
	s, rows, cols, err := dims("Eye", "c", c)
	if err != nil {
		return err
	}
	one, err := linalg.NewArray[T](s, 1, 1)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, one.Free()) }()
	n := min(rows, cols) // below are zeros alone
	return cmp.Or(Fill(one, 1), place(c.Slice(0, n, 0, cols), one, moves.Map{RowI: 1, RowJ: -1}),
		Fill(c.Slice(n, rows, 0, cols), 0))
}

// Tril makes c a below its diagonal k and on it, where j - i is at most k, and zeros above. c may
// be a.
func Tril[T Element](c, a *Array[T], k int) error { return triangle("Tril", c, a, k, 1) }

// Triu makes c a above its diagonal k and on it, where j - i is at least k, and zeros below. c may
// be a.
func Triu[T Element](c, a *Array[T], k int) error { return triangle("Triu", c, a, k, -1) }

func triangle[T Element](op string, c, a *Array[T], k int, sign int32) error {
	s, rows, cols, err := sameDims(op, "c", c, "a", a)
	if err != nil {
		return err
	}
	if rows > math.MaxInt32/2 || cols > math.MaxInt32/2 {
		return fmt.Errorf("%w: %s: c is %s, of more rows or columns than an int32 counts", linalg.ErrShape, op, c)
	}
	if rows == 0 || cols == 0 {
		return nil
	}
	diagonal := int32(max(-rows, min(k, cols))) // all others are none, or all
	return inside.WithScratch(s, rows, 1, func(i *Array[int32]) error {
		return inside.WithScratch(s, 1, cols, func(j *Array[int32]) error {
			return cmp.Or(Range(i, sign*diagonal, sign), Range(j, 0, sign), launchLower[T](s, c, a, i, j))
		})
	})
}

//tandem:map float32 float64 int32
func lower[T Element](x T, i, j int32) T {
	if j <= i {
		return x
	}
	return 0
}

// Trace is the exact sum of the diagonal of a, rounded once; int32 wraps around. It waits for the
// result.
func Trace[T Element](a *Array[T]) (T, error) {
	s, rows, cols, err := dims("Trace", "a", a)
	if err != nil {
		return 0, err
	}
	n := min(rows, cols)
	if n <= 1 {
		return Total(a.Slice(0, n, 0, n))
	}
	return number(s, func(c *Array[T]) error {
		return inside.WithScratch(s, 1, n, func(d *Array[T]) error { return cmp.Or(Diag(d, a), Sum(c, d)) })
	})
}

// Kron makes c the Kronecker product of a, of m by n, and b, of p by q: element (i*p+k, j*q+l) is
// the product of a's element (i, j) and b's element (k, l), rounded once. c has m*p by n*q elements
// and shares none with a and b.
func Kron[T Element](c, a, b *Array[T]) error {
	rows, cols, err := pair("Kron", c, a)
	if err == nil {
		_, _, err = pair("Kron", c, b)
	}
	if err != nil {
		return err
	}
	m, n := a.Dims()
	p, q := b.Dims()
	if m*p != rows || n*q != cols {
		return fmt.Errorf("%w: Kron: c is %s, and must be %dx%d", linalg.ErrShape, c, m*p, n*q)
	}
	if rows == 0 || cols == 0 {
		return nil
	}
	info := c.Session().Info()
	return launchKron[T](c.Session(), kernels.ElementwiseGrid(&info, int64(rows), int64(cols)), c, a, b)
}

//tandem:kernel float32 float64 int32
func kron[T Element](it gpu.Item, z, x, y gpu.Matrix[T]) {
	for i := it.Global(1); i < z.Rows; i += it.GlobalSize(1) {
		for j := it.Global(0); j < z.Cols; j += it.GlobalSize(0) {
			z.Set(i, j, x.At(i/y.Rows, j/y.Cols)*y.At(i%y.Rows, j%y.Cols))
		}
	}
}

// place makes c the elements of a that m gives, and 0 elsewhere.
func place[T Stored](c, a *Array[T], m moves.Map) error {
	rows, cols := c.Dims()
	if rows == 0 || cols == 0 {
		return nil
	}
	return asBits(c, a, moving{what: placed, places: m})
}

// unsigned is what the bits of elements are moved as.
type unsigned interface {
	uint8 | uint16 | uint32 | uint64
}

// moveGrid is the grid of a kernel of package moves for so many rows, and whether they are short:
// then a work-item takes a row.
func moveGrid(info backend.Info, rows, cols int) (g backend.Grid, short bool) {
	if !info.GPU && cols <= sums.FewColumns {
		return backend.GridFor(rows), true
	}
	return kernels.ElementwiseGrid(&info, int64(rows), int64(cols)), false
}

// TakeRows makes row i of c row index[i] of a, of which it has the columns. index is a row or a
// column with an element for each row of c. TakeRows waits; where an index is no row of a it is
// backend.ErrArgument that names it, and nothing is written. c shares elements with neither.
func TakeRows[T Stored](c, a *Array[T], index *Array[int32]) error {
	rows, cols, err := pair("TakeRows", c, a)
	if err != nil {
		return err
	}
	m, n := a.Dims()
	if n != cols {
		return fmt.Errorf("%w: TakeRows: c is %s, and must have the columns of a, %s", linalg.ErrShape, c, a)
	}
	if err := checkLength("TakeRows", "index", index, c.Session(), rows); err != nil {
		return err
	}
	return byIndex("TakeRows", c, index, "a", "rows", m, 0, func(bad *Array[int32]) error {
		return asBits(c, a, moving{what: fromRows, index: index, bad: bad})
	})
}

// TakeCols makes column j of c column index[j] of a, of which it has the rows. index is a row or a
// column with an element for each column of c. The rest is as for [TakeRows].
func TakeCols[T Stored](c, a *Array[T], index *Array[int32]) error {
	rows, cols, err := pair("TakeCols", c, a)
	if err != nil {
		return err
	}
	m, n := a.Dims()
	if m != rows {
		return fmt.Errorf("%w: TakeCols: c is %s, and must have the rows of a, %s", linalg.ErrShape, c, a)
	}
	s := c.Session()
	if err := checkLength("TakeCols", "index", index, s, cols); err != nil {
		return err
	}
	return byIndex("TakeCols", c, index, "a", "columns", n, 0, func(bad *Array[int32]) error {
		return asBits(c, a, moving{what: fromCols, index: index, bad: bad})
	})
}

// PutRows makes row index[i] of c row i of a, which has the columns of c, and leaves the others as
// they are. index is a row or a column with an element for each row of a. PutRows waits; where an
// index is no row of c, or is in index twice, it is backend.ErrArgument that names it, and nothing
// is written. c shares elements with neither.
func PutRows[T Stored](c, a *Array[T], index *Array[int32]) error {
	rows, err := checkPut("PutRows", c, a, index)
	if err != nil {
		return err
	}
	return byIndex("PutRows", c, index, "c", "rows", rows, rows, func(bad *Array[int32]) error {
		return asBits(c, a, moving{what: toRows, index: index, bad: bad})
	})
}

// AddRows adds each row i of a, which has the columns of c, to row index[i] of c: an element
// becomes the exact sum of what it was and of all that is added to it, rounded once, in whatever
// order index has them; int32 wraps around. Rows that index does not have stay as they are. index
// is a row or a column with an element for each row of a. AddRows waits; where an index is no row
// of c it is backend.ErrArgument that names it, and nothing is written. c shares elements with
// neither.
func AddRows[T Element](c, a *Array[T], index *Array[int32]) error {
	rows, err := checkPut("AddRows", c, a, index)
	if err != nil {
		return err
	}
	return byIndex("AddRows", c, index, "c", "rows", rows, 0, func(bad *Array[int32]) error {
		return addRows(c, a, index, bad)
	})
}

// addRows is AddRows, unless bad is above 0.
func addRows[T Element](c, a *Array[T], index, bad *Array[int32]) error {
	s := c.Session()
	r, k := index.Dims()
	return inside.WithScratch(s, r, k, func(packed *Array[int32]) error {
		return inside.WithScratch(s, 1, r*k, func(order *Array[int32]) error {
			if err := cmp.Or(Copy(packed, index), ArgSort(order, flat(packed))); err != nil {
				return err
			}
			return sums.AddRows(c, a, packed, order, bad)
		})
	})
}

// checkPut checks that rows of a can go to those of c that index has, and gives the rows of c.
func checkPut[T Stored](op string, c, a *Array[T], index *Array[int32]) (rows int, err error) {
	rows, cols, err := pair(op, c, a)
	if err != nil {
		return 0, err
	}
	m, n := a.Dims()
	if n != cols {
		return 0, fmt.Errorf("%w: %s: a is %s, and must have the columns of c, %s", linalg.ErrShape, op, a, c)
	}
	return rows, checkLength(op, "index", index, c.Session(), m)
}

// byIndex calls move, which does nothing where bad is above 0: where an element of index is no row,
// or column, of an array that has so many, or, where rows are owned, is there twice.
func byIndex[T Stored](op string, c *Array[T], index *Array[int32], of, unit string, rows, owned int,
	move func(bad *Array[int32]) error,
) error {
	if overlap(index, c) {
		return fmt.Errorf("%w: %s: index and c", linalg.ErrOverlap, op)
	}
	s := c.Session()
	r, k := index.Dims()
	n := r * k
	if n == 0 {
		return nil
	}
	return inside.WithScratch(s, 1, 1, func(bad *Array[int32]) error {
		err := inside.WithScratch(s, 1, owned, func(owners *Array[int32]) error {
			info := s.Info()
			if err := cmp.Or(Fill(bad, 0), Fill(owners, 0)); err != nil {
				return err
			}
			if info.Host && owned > 0 {
				return moves.LaunchCheckInOrder(s, backend.Grid1(1, 1), bad, owners, index, rows)
			}
			return moves.LaunchCheck(s, kernels.ElementwiseGrid(&info, 1, int64(n)), bad, owners, index, rows)
		})
		if err != nil {
			return err
		}
		if height, width := c.Dims(); height > 0 && width > 0 {
			if err := move(bad); err != nil {
				return err
			}
		}
		return badIndex(op, index, n, bad, of, unit, rows)
	})
}

// What a moving does.
const (
	placed    = iota // put elements where a map has them
	fromRows         // take rows
	toRows           // put rows
	fromCols         // take columns
	fromAlong        // take elements of each row
	toAlong          // put elements of each row
)

// A moving is how elements of an array come to another: by a map, or by an index, unless bad is
// above 0.
type moving struct {
	what       int
	places     moves.Map
	index, bad *Array[int32]
}

// asBits moves elements of a to c.
func asBits[T Stored](c, a *Array[T], m moving) error {
	switch unsafe.Sizeof(*new(T)) {
	case 1:
		return move((*Array[uint8])(c), (*Array[uint8])(a), m)
	case 2:
		return move((*Array[uint16])(c), (*Array[uint16])(a), m)
	case 4:
		return move(narrow(c), narrow(a), m)
	}
	return move(wide(c), wide(a), m)
}

func move[E unsigned](c, a *Array[E], m moving) error {
	s := c.Session()
	info := s.Info()
	rows, cols := c.Dims()
	grid, short := moveGrid(info, rows, cols)
	switch m.what {
	case placed:
		if short {
			return moves.LaunchPlaceShort[E](s, grid, c, a, m.places)
		}
		return moves.LaunchPlace[E](s, grid, c, a, m.places)
	case fromCols:
		grid = kernels.ElementwiseGrid(&info, int64(rows), int64(cols))
		return moves.LaunchCols[E](s, grid, c, a, m.index, m.bad)
	case fromAlong, toAlong:
		if put := m.what == toAlong; put || short {
			return moves.LaunchAlongRows[E](s, backend.GridFor(rows), c, a, m.index, m.bad, put)
		}
		return moves.LaunchAlong[E](s, grid, c, a, m.index, m.bad)
	}
	r, k := m.index.Dims()
	grid, short = moveGrid(info, r*k, cols)
	return moves.LaunchRows[E](s, grid, c, a, m.index, m.bad, m.what == toRows, short)
}

// badIndex waits, and is an error where an element of index, which has n, is bad.
func badIndex(op string, index *Array[int32], n int, bad *Array[int32], of, unit string, rows int) error {
	at, err := bad.Download()
	if err != nil || at.Data[0] == 0 {
		return err
	}
	k := n - int(at.Data[0])
	v, err := index.Download()
	if err != nil {
		return err
	}
	if x := int(v.Data[k]); x >= 0 && x < rows {
		return argument(op, fmt.Sprintf("element %d of index is %d, which an element before it is", k, x))
	}
	return argument(op, fmt.Sprintf("element %d of index is %d, and %s has %d %s", k, v.Data[k], of, rows, unit))
}

// Nonzero writes the numbers of the elements of mask that are true, counted by rows, to the first
// elements of index, a row or a column. It waits, and returns how many they are. Where index is too
// short it is ErrShape, and nothing is written.
func Nonzero(index *Array[int32], mask *Array[bool]) (n int, err error) {
	s, rows, cols, err := dims("Nonzero", "mask", mask)
	if err == nil {
		_, err = checkVector("Nonzero", "index", index, s, 0)
	}
	if err != nil {
		return 0, err
	}
	if s.Info().Host {
		return selected("Nonzero", mask, func(mask *Array[uint8], counts *Array[int32], per, n int) error {
			if _, err := checkVector("Nonzero", "index", index, s, n); err != nil || n == 0 {
				return err
			}
			return moves.LaunchNumbers(s, chunksOf(counts), head(index, n), mask, counts, per)
		})
	}
	err = sorting.WithRows(s, 1, rows*cols, func(r *sorting.Rows[uint64]) (err error) {
		var numbers *Array[uint64]
		if numbers, n, err = trues("Nonzero", r, mask); err != nil {
			return err
		}
		if _, err := checkVector("Nonzero", "index", index, s, n); err != nil {
			return err
		}
		index := head(index, n)
		_, pitch := index.Dims()
		sorting.Get(r, narrow(index), numbers, pitch, sorting.Order{})
		return nil
	})
	return n, err
}

// selected calls f with mask as a row, and with how many of each per elements are true, n in all.
func selected(op string, mask *Array[bool], f func(mask *Array[uint8], counts *Array[int32], per, n int) error) (
	n int, err error,
) {
	rows, cols := mask.Dims()
	size := rows * cols
	if size > math.MaxInt32 {
		return 0, tooManyTrue(op, mask)
	}
	row, err := mask.Reshape(1, size)
	if err != nil { // it is part of another array
		err = fromPacked(mask, func(mask *Array[bool]) error {
			n, err = selected(op, mask, f)
			return err
		})
		return n, err
	}
	const least, most = 4096, 256 // elements of a chunk, and chunks
	per := max(least, (size+most-1)/most)
	bytes := (*Array[uint8])(row)
	err = inside.WithScratch(mask.Session(), 1, (size+per-1)/per, func(counts *Array[int32]) error {
		if err := moves.LaunchCountTrue(mask.Session(), chunksOf(counts), counts, bytes, per); err != nil {
			return err
		}
		m, err := counts.Download()
		if err != nil {
			return err
		}
		for _, v := range m.Data {
			n += int(v)
		}
		return f(bytes, counts, per, n)
	})
	return n, err
}

// chunksOf is the grid of a work-item for each of the counts.
func chunksOf(counts *Array[int32]) backend.Grid {
	_, chunks := counts.Dims()
	return backend.Grid1(chunks, 1)
}

// compress makes c the elements of a, counted by rows, that a mask selects.
func compress[T Stored](c, a *Array[T], mask *Array[uint8], counts *Array[int32], per int) error {
	rows, cols := a.Dims()
	row, err := a.Reshape(1, rows*cols)
	if err != nil || inside.Overlap(c, a) {
		return fromPacked(a, func(a *Array[T]) error { return compress(c, a, mask, counts, per) })
	}
	if unsafe.Sizeof(*new(T)) == 8 {
		return moves.LaunchElements[uint64](c.Session(), chunksOf(counts), wide(c), wide(row), mask, counts, per)
	}
	return moves.LaunchElements[uint32](c.Session(), chunksOf(counts), narrow(c), narrow(row), mask, counts, per)
}

func tooManyTrue(op string, mask *Array[bool]) error {
	return fmt.Errorf("%w: %s: mask is %s, of more elements than an int32 counts", linalg.ErrShape, op, mask)
}

// trues is pairs with the numbers of the elements of mask that are true.
func trues(op string, r *sorting.Rows[uint64], mask *Array[bool]) (numbers *Array[uint64], n int, err error) {
	rows, cols := mask.Dims()
	if rows*cols > math.MaxInt32 {
		return nil, 0, tooManyTrue(op, mask)
	}
	sorting.Put(r, (*Array[uint8])(mask), cols, sorting.Order{}, 32)
	numbers = r.Split(32)
	if r.Err() != nil {
		return nil, 0, r.Err()
	}
	_, n = numbers.Dims()
	return numbers, n, nil
}

// Compress writes the elements of a whose element in mask, which has its shape, is true, counted by
// rows, to the first elements of c, a row or a column. It waits, and returns how many they are.
// Where c is too short it is ErrShape, and nothing is written. c may share elements with a. Of a
// mask for rows, Nonzero and TakeRows give the rows.
func Compress[T Stored](c, a *Array[T], mask *Array[bool]) (n int, err error) {
	s, rows, cols, err := sameDims("Compress", "a", a, "mask", mask)
	if err == nil {
		_, err = checkVector("Compress", "c", c, s, 0)
	}
	if err != nil {
		return 0, err
	}
	if unsafe.Sizeof(*new(T)) < 4 {
		return compressByNumbers(c, a, mask)
	}
	if s.Info().Host {
		return selected("Compress", mask, func(mask *Array[uint8], counts *Array[int32], per, n int) error {
			if _, err := checkVector("Compress", "c", c, s, n); err != nil || n == 0 {
				return err
			}
			return compress(head(c, n), a, mask, counts, per)
		})
	}
	err = sorting.WithRows(s, 1, rows*cols, func(r *sorting.Rows[uint64]) (err error) {
		var numbers *Array[uint64]
		if numbers, n, err = trues("Compress", r, mask); err != nil {
			return err
		}
		if _, err := checkVector("Compress", "c", c, s, n); err != nil || n == 0 {
			return err
		}
		return choose(head(c, n), a, r, numbers)
	})
	return n, err
}

// compressByNumbers is Compress of elements of one or two bytes, of which there are no pairs.
func compressByNumbers[T Stored](c, a *Array[T], mask *Array[bool]) (n int, err error) {
	rows, cols := a.Dims()
	err = inside.WithScratch(a.Session(), 1, rows*cols, func(index *Array[int32]) error {
		if n, err = Nonzero(index, mask); err != nil || n == 0 {
			return err
		}
		if _, err := checkVector("Compress", "c", c, a.Session(), n); err != nil {
			return err
		}
		return fromPacked(a, func(a *Array[T]) error {
			return takeElements(head(c, n), a, head(index, n))
		})
	})
	return n, err
}

// takeElements makes c, a row or a column, the elements of a whose numbers index has. They are
// counted by rows, of which a has no gaps between.
func takeElements[T Stored](c, a *Array[T], index *Array[int32]) (err error) {
	if rows, cols := c.Dims(); rows == 1 {
		if c, err = c.Reshape(cols, 1); err != nil {
			return err
		}
	}
	rows, cols := a.Dims()
	if a, err = a.Reshape(rows*cols, 1); err != nil {
		return err
	}
	return TakeRows(c, a, index)
}

// choose makes c the elements of a, counted by rows, whose numbers the pairs have.
func choose[T Stored](c, a *Array[T], r *sorting.Rows[uint64], numbers *Array[uint64]) error {
	rows, cols := a.Dims()
	row, err := a.Reshape(1, rows*cols)
	if err != nil { // it is part of another array
		return inside.WithScratch(a.Session(), rows, cols, func(packed *Array[T]) error {
			return cmp.Or(Copy(packed, a), choose(c, packed, r, numbers))
		})
	}
	_, pitch := c.Dims()
	if unsafe.Sizeof(*new(T)) == 8 {
		sorting.PutAgain(r, numbers, wide(row), sorting.Order{}, 0)
		sorting.Get(r, wide(c), numbers, pitch, sorting.Order{})
	} else {
		sorting.PutAgain(r, numbers, narrow(row), sorting.Order{}, 0)
		sorting.Get(r, narrow(c), numbers, pitch, sorting.Order{})
	}
	return nil
}
