package sums

import (
	"cmp"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/inside"
	"github.com/tandem-gpu/tandem/linalg"
)

// As in sum.go.
var (
	prefixFloat32  = prefix[float32, single]
	prefixFloat64  = prefix[float64, double]
	prefixInt32    = prefix[int32, integer]
	scatterFloat32 = scatter[float32, single]
	scatterFloat64 = scatter[float64, double]
	scatterInt32   = scatter[int32, integer]
)

// CumSum makes each element of c the sum of those of x in its row up to there. c may be x.
func CumSum[T linalg.Element](c, x *linalg.Array[T]) error {
	switch c := any(c).(type) {
	case *linalg.Array[float32]:
		return prefixFloat32(c, any(x).(*linalg.Array[float32]), single{})
	case *linalg.Array[float64]:
		return prefixFloat64(c, any(x).(*linalg.Array[float64]), double{})
	case *linalg.Array[int32]:
		return prefixInt32(c, any(x).(*linalg.Array[int32]), integer{})
	}
	return nil
}

// maxScratch is the bytes that sums of blocks take at most: rows beyond wait for the next launch.
const maxScratch = 32 << 20

// prefix takes as many rows at a time as scratch memory has room for.
func prefix[T linalg.Element, F interface {
	single | double | integer
	words() int
}](c, x *linalg.Array[T], f F,
) error {
	s := c.Session()
	rows, cols := c.Dims()
	if rows == 0 || cols == 0 {
		return nil
	}
	const least = 128 // elements of a block: it costs as much as many of them
	words := f.words() + 1
	blocks := max(1, min((cols+least-1)/least, workItems(s.Info())/rows, maxScratch/8/words))
	block := (cols + blocks - 1) / blocks
	blocks = (cols + block - 1) / block
	height := min(rows, max(1, maxScratch/8/words/blocks))
	return inside.WithScratch(s, 1, words*height*blocks, func(sums *linalg.Array[int64]) error {
		for i := 0; i < rows; i += height {
			n := min(height, rows-i)
			grid := gridOf(s.Info(), n*blocks)
			to, from := c.Slice(i, i+n, 0, cols), x.Slice(i, i+n, 0, cols)
			if blocks > 1 {
				err := cmp.Or(LaunchTotals[T](s, grid, f, from, sums, block, blocks),
					offsets(s, sums, n, blocks, f.words()))
				if err != nil {
					return err
				}
			}
			if err := LaunchPrefix[T](s, grid, f, to, from, sums, block, blocks); err != nil {
				return err
			}
		}
		return nil
	})
}

// offsets makes of the sums of blocks those of what is before each.
func offsets(s *linalg.Session, sums *linalg.Array[int64], rows, blocks, words int) error {
	info := s.Info()
	lanes := lanesFor(info)
	if info.GPU {
		lanes = groupOf(info)
	}
	grid := backend.Grid2(min(rows*(words+1), maxGroups), 1, lanes, 1)
	return LaunchOffsets(s, grid, sums, rows, blocks, words)
}

// lanesFor is the work-items of a group where each has much to do: a strip of the cpu device.
func lanesFor(info backend.Info) int {
	if info.Host {
		return 16
	}
	return 64
}

// gridOf is a work-item for each of n outputs, or for some of them, each with much to do.
func gridOf(info backend.Info, n int) backend.Grid {
	lanes := min(n, lanesFor(info)) // one work-item alone is done sooner than a strip of them
	return backend.Grid2(min((n+lanes-1)/lanes, maxGroups), 1, lanes, 1)
}

// workItems is how many work-items keep a device busy.
func workItems(info backend.Info) int { return 4 * lanesFor(info) * max(1, info.ComputeUnits) }

// AddRows adds each row of x to the row of c that index has for it, unless bad is above 0. order is
// what sorts index.
func AddRows[T linalg.Element](c, x *linalg.Array[T], index, order, bad *linalg.Array[int32]) error {
	switch c := any(c).(type) {
	case *linalg.Array[float32]:
		return scatterFloat32(c, any(x).(*linalg.Array[float32]), index, order, bad, single{})
	case *linalg.Array[float64]:
		return scatterFloat64(c, any(x).(*linalg.Array[float64]), index, order, bad, double{})
	case *linalg.Array[int32]:
		return scatterInt32(c, any(x).(*linalg.Array[int32]), index, order, bad, integer{})
	}
	return nil
}

func scatter[T linalg.Element, F interface {
	single | double | integer
	words() int
}](c, x *linalg.Array[T], index, order, bad *linalg.Array[int32], f F,
) error {
	s := c.Session()
	info := s.Info()
	n, cols := x.Dims()
	room, lanes := maxScratch/8/(f.words()+1), lanesFor(info)
	grid, short := gridOf(info, min(n, workItems(info), room)), cols < lanes
	switch {
	case short && info.Host: // most work-items have nothing to do, so strips would be idle
		grid = backend.Grid1(grid.Count()*grid.Items(), 1)
	case !short:
		wide := min((cols+lanes-1)/lanes, 16)
		grid = backend.Grid2(wide, min(n, max(1, room/lanes/wide), maxGroups), lanes, 1)
	}
	return inside.WithScratch(s, 1, (f.words()+1)*grid.Items()*grid.Count(), func(words *linalg.Array[int64]) error {
		return LaunchScatter[T](s, grid, f, c, x, index, order, bad, words, short)
	})
}
