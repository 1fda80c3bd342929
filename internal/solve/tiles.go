package solve

import (
	"math"

	"github.com/tandem-gpu/tandem/internal/host"
)

const tileColumns = host.RotationColumns

// tiles are the columns of a matrix by tileColumns, each tile with its rows after each other.
type tiles struct {
	rows, cols int
	data       []float64
}

// unitTiles is I, of n rows, in memory of at least tileMemory(n) elements.
func unitTiles(n int, data []float64) tiles {
	t := tiles{rows: n, cols: n, data: data[:tileMemory(n)]}
	clear(t.data)
	for i := range n {
		t.tile(i / tileColumns)[i*tileColumns+i%tileColumns] = 1
	}
	return t
}

// tileMemory is the elements of n rows and columns.
func tileMemory(n int) int { return (n + tileColumns - 1) / tileColumns * tileColumns * n }

// count is how many there are.
func (t *tiles) count() int { return (t.cols + tileColumns - 1) / tileColumns }

func (t *tiles) tile(i int) []float64 { return t.data[i*tileColumns*t.rows:][:tileColumns*t.rows] }

// row copies row i.
func (t *tiles) row(i int, to []float64) {
	for k := range t.count() {
		copy(to[k*tileColumns:], t.tile(k)[i*tileColumns:][:min(tileColumns, t.cols-k*tileColumns)])
	}
}

// rotate rotates rows from start on, as [host.Rotate] does it.
func (t *tiles) rotate(up bool, start int, st []float64) {
	for i := range t.count() {
		host.Rotate(up, st, t.tile(i)[start*tileColumns:])
	}
}

// turn rotates rows i and i+1, by more than a right angle in two halves.
func (t *tiles) turn(i int, c, s float64) {
	if c < 0 {
		half := math.Copysign(math.Sqrt((1-c)/2), s)
		c, s = s/(2*half), half
		t.rotate(false, i, []float64{s, s / (1 + c)})
	}
	t.rotate(false, i, []float64{s, s / (1 + c)})
}
