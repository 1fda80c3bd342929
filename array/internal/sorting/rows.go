package sorting

import (
	"cmp"
	"math"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/inside"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

// Rows is rows of n pairs, or keys, on a device. After an error of one step the others do nothing.
type Rows[P Pair] struct {
	Pairs   *linalg.Array[P]     // one row after the other
	other   *linalg.Array[P]     // where a pass writes
	counts  *linalg.Array[int32] // for each row
	s       *linalg.Session
	err     error
	rows, n int
	tiles   bool // else chunks
	per     int  // elements of a part
}

// shortOf is the length up to which a row is sorted by rank: there a radix sort has more digits to
// count than elements, or, on a GPU, tiles that are nearly empty.
func shortOf(s *linalg.Session) int {
	if s.Info().GPU {
		return 256
	}
	return 64
}

// ByRank tells whether rows of n are sorted by rank on s, as pairs of 64 bits alone are.
func ByRank(s *linalg.Session, n int) bool { return n <= shortOf(s) && !byNetwork(s, n) }

// byNetwork tells whether Network, which needs vectors, sorts rows of n.
func byNetwork(s *linalg.Session, n int) bool { return n <= networkLength && s.Info().Host }

// WithRows calls f with rows of n pairs each, of any values, that end with f. It returns the first
// error of f or of a step. The memory is the session's spare one: a processor takes longer to find
// the pages of new memory, and to clear them, than to sort in it.
func WithRows[P Pair](s *linalg.Session, rows, n int, f func(r *Rows[P]) error) error {
	info := s.Info()
	per := chunkOf(&info, rows, n)
	if info.GPU {
		per = tilesOf(&info, rows, n)
	}
	return withRows(s, rows, n, per, info.GPU, f)
}

// withRows is WithRows with so many elements in a part.
func withRows[P Pair](s *linalg.Session, rows, n, per int, tiles bool, f func(r *Rows[P]) error) error {
	r := &Rows[P]{s: s, rows: rows, n: n, per: per, tiles: tiles}
	return inside.WithScratch(s, 1, rows*n, func(x *linalg.Array[P]) error {
		return inside.WithScratch(s, 1, rows*n, func(y *linalg.Array[P]) error {
			return inside.WithScratch(s, rows, r.counters(), func(counts *linalg.Array[int32]) error {
				r.Pairs, r.other, r.counts = x, y, counts
				return cmp.Or(f(r), r.err)
			})
		})
	})
}

// chunkOf is the elements of a chunk of rows of n. A row that is one chunk takes a launch for each
// digit, others three.
func chunkOf(info *backend.Info, rows, n int) int {
	const least, perCore = 2048, 4 // elements that are worth counting, and chunks of all rows
	units := max(1, info.ComputeUnits)
	single := 1<<13 + 1<<16/(units*units) // elements that one core has moved as soon as several; modelled beyond two
	if n <= single {
		return single
	}
	wanted := max(1, perCore*units/max(1, rows)) // chunks of a row
	return max(least, (n+wanted-1)/wanted)
}

// tilesOf is the elements of a part of some tiles: more parts keep no GPU busier, and have more
// counts.
func tilesOf(info *backend.Info, rows, n int) int {
	const perUnit = 16 // parts of all rows
	wanted := max(1, perUnit*info.ComputeUnits/max(1, rows))
	return max(1, (n+wanted*tile-1)/(wanted*tile)) * tile
}

// counters is how many numbers for each row passes take: none of many rows that have no passes.
func (r *Rows[P]) counters() int {
	if r.rows > 1 && (r.n <= shortOf(r.s) || unsafe.Sizeof(P(0)) == 4 && byNetwork(r.s, r.n)) {
		return 0
	}
	return (r.parts() + 1) * digits
}

// parts is the number of parts of a row.
func (r *Rows[P]) parts() int { return (r.n + r.per - 1) / r.per }

// idle says that there is nothing to do.
func (r *Rows[P]) idle() bool { return r.err != nil || r.rows == 0 || r.n == 0 }

// Err is the error of the first step that failed.
func (r *Rows[P]) Err() error { return r.err }

// Get makes c as [Unpack] does, of rows of n of some pairs.
func Get[E uint32 | uint64, P Pair](r *Rows[P], c *linalg.Array[E], pairs *linalg.Array[P], n int,
	o Order,
) {
	rows, cols := c.Dims()
	if rows > 0 && cols > 0 {
		r.step(func() error { return LaunchUnpack[E, P](r.s, r.grid(rows, cols), c, pairs, n, o) })
	}
}

// Put makes keys, or with shift 32 pairs, of the elements of a, as [Pack] does.
func Put[E uint8 | uint32 | uint64, P Pair](r *Rows[P], a *linalg.Array[E], line int, o Order, shift uint) {
	r.step(func() error { return LaunchPack[E, P](r.s, r.grid(a.Dims()), r.Pairs, a, line, o, shift) })
}

// PutAgain makes pairs, as many for each row of a, of themselves as [Repack] does.
func PutAgain[E uint32 | uint64](r *Rows[uint64], pairs *linalg.Array[uint64], a *linalg.Array[E], o Order,
	shift uint,
) {
	putAgain(r, pairs, pairs, a, o, shift, false)
}

func putAgain[E uint32 | uint64](r *Rows[uint64], pairs, others *linalg.Array[uint64], a *linalg.Array[E], o Order,
	shift uint, places bool,
) {
	r.step(func() error {
		rows, _ := a.Dims()
		_, all := pairs.Dims()
		n := all / rows
		return LaunchRepack[E](r.s, r.grid(rows, n), pairs, others, a, n, o, shift, places)
	})
}

// Arrange sorts pairs whose numbers are the columns that elements of a have had in their row.
func Arrange[E uint32 | uint64](r *Rows[uint64], a *linalg.Array[E], o Order) {
	Put(r, a, 0, o, 32)
	arrange(r, a, o)
}

// arrange sorts pairs of the lower halves of keys and the columns that they have in their row of a.
func arrange[E uint32 | uint64](r *Rows[uint64], a *linalg.Array[E], o Order) {
	r.Sort(32, 32, true)
	switch is64 := unsafe.Sizeof(E(0)) == 8; {
	case !is64:
	case byNetwork(r.s, r.n) && int64(r.rows)*int64(r.n) <= math.MaxUint32:
		// Network would not leave equal ones as they are: their places, which ascend, are their
		// numbers meanwhile.
		lower, upper := r.Pairs, r.other
		putAgain(r, upper, lower, a, o, 32, true)
		r.Pairs, r.other = upper, lower
		r.Sort(32, 32, true)
		r.step(func() error { return LaunchReplace(r.s, r.grid(upper.Dims()), upper, lower) })
	default:
		PutAgain(r, r.Pairs, a, o, 32)
		r.Sort(32, 32, false)
	}
}

// WithFirst calls f with rows of n pairs as Arrange makes them, of all elements of a or of some:
// they begin with the k first ones.
func WithFirst[E uint32 | uint64](a *linalg.Array[E], k int, o Order, f func(r *Rows[uint64], n int) error) error {
	rows, n := a.Dims()
	parts := partsOf(a.Session().Info(), rows, n, k)
	if parts > 0 {
		n = parts * k
	}
	return WithRows(a.Session(), rows, n, func(r *Rows[uint64]) error {
		if parts > 0 {
			putFirst(r, a, k, parts, o)
		} else {
			Put(r, a, 0, o, 32)
		}
		arrange(r, a, o)
		return f(r, n)
	})
}

// putFirst makes pairs as Put does of the k first elements of each part of a row.
func putFirst[E uint32 | uint64](r *Rows[uint64], a *linalg.Array[E], k, parts int, o Order) {
	r.step(func() error {
		rows, n := a.Dims()
		return inside.WithScratch(r.s, 1, rows*n, func(keys *linalg.Array[E]) error {
			groups, bits := backend.Grid1(rows*parts, 1), uint(8*unsafe.Sizeof(E(0)))
			return cmp.Or(LaunchPack[E, E](r.s, r.grid(rows, n), keys, a, 0, o, 0),
				LaunchSelect[E](r.s, groups, r.Pairs, keys, n, k, parts, bits))
		})
	})
}

// partsOf is how many parts of a row Select takes: 0 where sorting takes no longer. It leaves an
// eighth of the elements at most.
func partsOf(info backend.Info, rows, n, k int) int {
	const perCore = 4 // parts of all rows
	if info.GPU || n <= networkLength || k == 0 {
		return 0
	}
	return min(n/(8*k), max(1, perCore*info.ComputeUnits/max(1, rows)))
}

// Sort sorts every row by its bits from shift on, of which those beyond some are all the same.
// ascending says that the bits below shift ascend in each row before.
func (r *Rows[P]) Sort(shift, bits uint, ascending bool) {
	switch {
	case r.idle():
	case byNetwork(r.s, r.n) && (shift == 0 || ascending):
		groups := min((r.rows+networkRows-1)/networkRows, 1<<15)
		r.err = LaunchNetwork[P](r.s, backend.Grid1(groups, networkRows), r.Pairs, r.n)
	case r.n <= shortOf(r.s) && unsafe.Sizeof(P(0)) == 8:
		x, y := any(r.Pairs).(*linalg.Array[uint64]), any(r.other).(*linalg.Array[uint64])
		r.err = LaunchRank(r.s, rankGrid(r.rows, r.n), y, x, r.n, shift)
		r.Pairs, r.other = r.other, r.Pairs
	case r.tiles && r.n <= tile:
		r.move(shift, bits)
	default:
		for end := shift + bits; shift < end; shift += digitBits {
			r.count(shift)
			r.move(shift, digitBits)
		}
	}
}

// Split moves the pairs of the one row whose bit at shift, their highest, is 1 behind the others.
// It waits, and returns them.
func (r *Rows[P]) Split(shift uint) *linalg.Array[P] {
	r.count(shift)
	r.move(shift, 1)
	var zeros linalg.Matrix[int32]
	if !r.idle() { // behind which digit 1 begins
		all := r.parts() * digits
		zeros, r.err = r.counts.Slice(0, 1, all, all+1).Download()
	}
	if r.idle() {
		return r.Pairs
	}
	return r.Pairs.Slice(0, 1, int(zeros.Data[0]), r.n)
}

// count counts the digits at shift. Of rows that are one chunk move does.
func (r *Rows[P]) count(shift uint) {
	parts := r.parts()
	if !r.tiles && parts == 1 {
		return
	}
	groups := r.rows * parts
	r.step(func() error {
		if r.tiles {
			g := backend.Grid1(groups, tileItems)
			return LaunchCountTiles[P](r.s, g, r.counts, r.Pairs, r.n, r.per, shift)
		}
		return LaunchCountChunks[P](r.s, backend.Grid1(groups, 1), r.counts, r.Pairs, r.n, r.per, shift)
	})
	segments := 1
	for segments < min(parts, maxSegments) {
		segments *= 2
	}
	r.step(func() error {
		return LaunchSum(r.s, backend.Grid1(r.rows*segments, sumItems), r.counts, parts, segments)
	})
}

// move sorts by the digit at shift, of so many bits.
func (r *Rows[P]) move(shift, bits uint) {
	groups := r.rows * r.parts()
	r.step(func() error {
		if r.tiles {
			g := backend.Grid1(groups, tileItems)
			return LaunchMoveTiles[P](r.s, g, r.other, r.counts, r.Pairs, r.n, r.per, shift, bits)
		}
		return LaunchMoveChunks[P](r.s, backend.Grid1(groups, 1), r.other, r.counts, r.Pairs, r.n, r.per, shift)
	})
	r.Pairs, r.other = r.other, r.Pairs
}

// step is one step more.
func (r *Rows[P]) step(f func() error) {
	if !r.idle() {
		r.err = f()
	}
}

// grid is a grid for kernels that go by blocks.
func (r *Rows[P]) grid(rows, cols int) backend.Grid {
	info := r.s.Info()
	return kernels.ElementwiseGrid(&info, int64(rows), int64(cols))
}

// rankGrid is a grid for short rows.
func rankGrid(rows, n int) backend.Grid {
	return backend.Grid2((n+15)/16, min((rows+15)/16, 1<<15), 16, 16)
}
