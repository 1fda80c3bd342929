package outofcore

import "math"

// A geometry is the largest tile of the result that a device computes, and the panels that it keeps
// for it: in elements.
type geometry struct {
	rows, cols   int
	depth        int // steps in a panel
	a, b         int // elements of a panel
	keepA, keepB int // panels
}

// keptTiles is the number of tiles of the result on a device: one is computed while another goes
// out.
const keptTiles = 2

func (g geometry) total() int {
	return keptTiles*g.rows*g.cols + g.keepA*g.a + g.keepB*g.b
}

// panelDepth is the least depth of a panel, where the steps and the memory allow it. Tests make it
// small.
var panelDepth = 256

// tileElements is how many elements a tile has at most where nothing is used twice.
const tileElements = 4 << 20

// fit chooses the geometry in so many elements, with no buffer larger than single, so that as
// little as possible has to be copied twice. Where none fits it has no rows.
func (s *Shape) fit(most, single int) geometry {
	if !s.reuses() {
		return s.fitOnce(most, single)
	}
	f := fitting{Shape: s, most: most, single: single, least: math.Inf(1)}
	for depth := min(s.Steps, max(panelDepth, min(4*panelDepth, s.Steps/8))); depth > 0; depth /= 2 {
		for parts := 1; ; parts *= 2 {
			cols := ceil(s.Cols, parts)
			f.tryWidth(depth, cols)
			if cols == 1 {
				break
			}
		}
		if !math.IsInf(f.least, 1) {
			break
		}
	}
	if all := f.best; all.rows > 0 { // the panels of A for some rows stay too, where there is room
		if all.keepA = ceil(s.Steps, all.depth) + 2; all.total() <= most {
			return all
		}
	}
	return f.best
}

// fitOnce is fit where every element is used once.
func (s *Shape) fitOnce(most, single int) geometry {
	area := max(1, min(most/(2*keptTiles+2*(s.Inputs-1)), single, tileElements))
	g := geometry{cols: min(s.Cols, area), depth: 1, keepA: 2}
	g.rows = min(s.Rows, area/g.cols)
	g.a = g.rows * g.cols
	if s.Inputs == 2 {
		g.b, g.keepB = g.a, 2
	}
	return g
}

// A fitting is a search for the geometry that copies least.
type fitting struct {
	*Shape
	most, single int
	best         geometry
	least        float64
}

// tryWidth considers tiles of so many columns, and panels of so many steps.
func (f *fitting) tryWidth(depth, cols int) {
	g := geometry{cols: cols, depth: depth, keepA: 3, b: depth * cols}
	all := ceil(f.Steps, depth)
	if cols < f.Cols {
		all++
	}
	// all panels of B for these columns stay, with one for the next, or they come for each tile
	for _, keep := range []int{all, 3} {
		g.keepB = keep
		g.rows = min(f.Rows, (f.most-keep*g.b)/(keptTiles*cols+g.keepA*depth), f.single/max(cols, depth))
		g.a = g.rows * depth
		if keep == 3 || cols == f.Cols || g.rows >= min(f.Rows, panelDepth/2) {
			f.consider(g)
		}
	}
}

// consider makes g the best, if it fits and less is copied with it.
func (f *fitting) consider(g geometry) {
	if g.rows < 1 || g.cols < 1 || g.total() > f.most || max(g.rows*g.cols, g.a, g.b) > f.single {
		return
	}
	m, n := float64(f.Rows), float64(f.Cols)
	copied := m * math.Ceil(n/float64(g.cols)) // elements for each step
	if g.keepB*g.depth < f.Steps {
		copied += n * math.Ceil(m/float64(g.rows))
	} else {
		copied += n
	}
	if copied < f.least*0.99 {
		f.best, f.least = g, copied
	}
}
