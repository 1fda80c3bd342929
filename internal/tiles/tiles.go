// Package tiles hands out the tiles of a matrix to workers of different speeds, so that all finish
// at about the same time: large tiles at first, smaller ones towards the end, each of a size that
// the worker's measured rate suggests. It knows nothing of devices.
package tiles

import (
	"slices"
	"sync"
	"time"
)

// A Tile is a part of a matrix.
type Tile struct{ Row, Col, Rows, Cols int }

func (t Tile) area() float64 { return float64(t.Rows) * float64(t.Cols) }

// Contains tells whether o is a part of t.
func (t Tile) Contains(o Tile) bool {
	return t.Row <= o.Row && o.Row+o.Rows <= t.Row+t.Rows && t.Col <= o.Col && o.Col+o.Cols <= t.Col+t.Cols
}

// A Worker is what a pool has to know of one.
type Worker struct {
	Rate             float64 // elements a second, from earlier work; 0 where that is not known
	Cold             bool    // its first tile takes longer than others, as kernels are compiled for it
	MaxRows, MaxCols int     // of a tile; 0 for no limit
}

// A Pool is the tiles of one matrix. Every element is in exactly one tile that ends with Done,
// unless all workers fail. It is safe for concurrent use: each worker calls Next, and Done for the
// rows of its tiles in the order in which it got them.
type Pool struct {
	granularity int     // tiles are cut at multiples of it
	least       float64 // elements of a tile, unless there are no more

	mu      sync.Mutex
	changed sync.Cond // with mu
	free    []Tile
	left    float64 // elements not done
	workers []worker
	stopped bool
}

type worker struct {
	Worker
	measured bool // Rate is of this pool's work
	dead     bool
	taken    []Tile
	part     float64   // elements of the first of taken that are done, and no longer in it
	since    time.Time // the start of the first of taken
	last     Tile      // the most recent one taken
	columns  Tile      // those that it was cut from
}

// share is the part of the elements left that all workers together have in their next tiles, alone
// that of one worker, whose first tile is to come out early, and probe that of the first tiles of
// workers whose rates are not known.
const (
	share = 1.0 / 3
	alone = 1.0 / 8
	probe = 1.0 / 8
)

// New is the tiles of a matrix of rows by cols. Cuts are at multiples of granularity rows and
// columns, but for workers whose limits are less.
func New(rows, cols, granularity int, workers []Worker) *Pool {
	p := &Pool{granularity: granularity, left: float64(rows) * float64(cols)}
	p.least = max(p.left/float64(32*len(workers)*min(2, len(workers))), 4*float64(granularity)*float64(granularity))
	p.changed.L = &p.mu
	if rows > 0 && cols > 0 {
		p.free = []Tile{{Rows: rows, Cols: cols}}
	}
	for _, w := range workers {
		p.workers = append(p.workers, worker{Worker: w})
	}
	return p
}

// Next is a tile for worker w, which it blocks for while others have what may come back. It is
// false when all is done, after Stop, and after Fail of w.
func (p *Pool) Next(w int) (t Tile, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		if p.stopped || p.left == 0 || p.workers[w].dead {
			return Tile{}, false
		}
		if area := p.grant(w); area > 0 {
			return p.take(w, area), true
		}
		p.changed.Wait()
	}
}

// Done says that worker w has finished the next rows of the first of its tiles.
func (p *Pool) Done(w, rows int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	x := &p.workers[w]
	if len(x.taken) == 0 {
		return // they were given back
	}
	first := &x.taken[0]
	area := float64(rows) * float64(first.Cols)
	first.Row += rows
	first.Rows -= rows
	x.part += area
	p.left -= area
	if first.Rows > 0 {
		return
	}
	now := time.Now()
	if took := now.Sub(x.since).Seconds(); x.Cold {
		x.Cold = false // that tells nothing of its rate
	} else if took > 0 {
		rate := x.part / took
		if x.measured {
			rate = (rate + x.Rate) / 2
		}
		x.Rate, x.measured = rate, true
	}
	x.taken, x.part, x.since = x.taken[1:], 0, now
	p.changed.Broadcast()
}

// Fail gives back what is not done of the tiles of worker w, which gets no more.
func (p *Pool) Fail(w int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	x := &p.workers[w]
	p.free = append(p.free, x.taken...)
	x.taken, x.dead = nil, true
	p.changed.Broadcast()
}

// Limit changes the limits of worker w.
func (p *Pool) Limit(w, maxRows, maxCols int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.workers[w].MaxRows, p.workers[w].MaxCols = maxRows, maxCols
}

// Stop ends the work: Next gives no tiles any more.
func (p *Pool) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	p.changed.Broadcast()
}

// Left is the number of elements that are not done.
func (p *Pool) Left() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int(p.left)
}

// Rate is the rate of worker w in elements a second, as measured; 0 where it was not.
func (p *Pool) Rate(w int) float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.workers[w].measured {
		return 0
	}
	return p.workers[w].Rate
}

// grant is how many elements the next tile of worker w is to have; 0: it has to wait.
func (p *Pool) grant(w int) float64 {
	x := &p.workers[w]
	free := 0.0
	for _, t := range p.free {
		free += t.area()
	}
	if free == 0 {
		return 0
	}
	rates, alive := p.rates()
	if alive > 1 && x.Rate == 0 {
		if len(x.taken) > 0 {
			return 0 // its first tile tells how large the second should be
		}
		return max(p.least, probe*free/float64(alive))
	}
	all, ahead := 0.0, free // rates and elements of all
	for i, r := range rates {
		all += r
		ahead += p.ahead(i, r)
	}
	spare := ahead/all*rates[w] - p.ahead(w, rates[w]) // what w can do until all are done
	part := share
	if alive == 1 {
		part = alone
	}
	area := min(spare, part*free*rates[w]/all)
	if area >= p.least {
		return area
	}
	if alive > 1 {
		for i, r := range rates {
			if r > 0 && (p.ahead(i, r)+p.least)/r < (p.ahead(w, rates[w])+p.least)/rates[w] {
				return 0 // i would finish it earlier, and is going to ask
			}
		}
	}
	return p.least
}

// rates is a guess of each worker's rate, 0 for one that has failed, and the number of the others.
func (p *Pool) rates() (rates []float64, alive int) {
	rates = make([]float64, len(p.workers))
	sum, known := 0.0, 0
	for i, x := range p.workers {
		if x.dead {
			continue
		}
		alive++
		if x.Rate > 0 {
			rates[i] = x.Rate
			sum += x.Rate
			known++
		}
	}
	for i, x := range p.workers {
		if x.dead || x.Rate > 0 {
			continue
		}
		rates[i] = 1
		if known > 0 {
			rates[i] = sum / float64(known)
		}
		if len(x.taken) > 0 { // it would be done if it were faster
			if s := time.Since(x.since).Seconds(); s > 0 {
				rates[i] = min(rates[i], x.taken[0].area()/s)
			}
		}
	}
	return rates, alive
}

// ahead is how many elements worker i still has to do of its tiles, if its rate is r.
func (p *Pool) ahead(i int, r float64) (n float64) {
	x := &p.workers[i]
	for k, t := range x.taken {
		if n += t.area(); k == 0 {
			n -= min(t.area(), max(0, r*time.Since(x.since).Seconds()-x.part))
		}
	}
	return n
}

// take cuts a tile of about area elements for worker w: of the rows, or the columns, that its last
// tile had, where there are such, so that what it has of them is of use again.
func (p *Pool) take(w int, area float64) Tile {
	x := &p.workers[w]
	best := 0
	use := func(t Tile) int {
		switch {
		case t.Row == x.last.Row && t.Rows == x.last.Rows:
			return 2
		case t.Col == x.columns.Col && t.Cols == x.columns.Cols:
			return 1
		}
		return 0
	}
	for i, t := range p.free {
		old := p.free[best]
		if a, b := use(t), use(old); a > b || a == b && t.area() > old.area() {
			best = i
		}
	}
	from := p.free[best]
	p.free = slices.Delete(p.free, best, best+1)

	// as many columns as may be, some rows of these, and of those a part, if need be
	width := evenly(from.Cols, x.MaxCols, p.granularity)
	rows, cols := p.round(area/float64(width), from.Rows, x.MaxRows), width
	if area/float64(rows) < float64(width)*3/4 && (len(p.workers) > 1 || from.Rows <= p.granularity) {
		cols = p.round(area/float64(rows), width, 0)
	}
	t := Tile{from.Row, from.Col, rows, cols}
	for _, rest := range []Tile{
		{from.Row, from.Col + width, from.Rows, from.Cols - width},
		{from.Row + rows, from.Col, from.Rows - rows, width},
		{from.Row, from.Col + cols, rows, width - cols},
	} {
		if rest.Rows > 0 && rest.Cols > 0 {
			p.free = append(p.free, rest)
		}
	}
	if len(x.taken) == 0 {
		x.since = time.Now()
	}
	x.taken = append(x.taken, t)
	x.last, x.columns = t, Tile{Col: from.Col, Cols: width}
	return t
}

// evenly is the length of the first of several even parts of n, each at most limit.
func evenly(n, limit, granularity int) int {
	if limit <= 0 || n <= limit {
		return n
	}
	parts := (n + limit - 1) / limit
	part := (n + parts - 1) / parts
	if up := (part + granularity - 1) / granularity * granularity; up <= limit {
		return up
	}
	return part
}

// round is a length near want, at least the granularity and at most all and limit, that leaves no
// sliver of all.
func (p *Pool) round(want float64, all, limit int) int {
	if limit <= 0 {
		limit = all
	}
	n := max(int(want/float64(p.granularity)+0.5), 1) * p.granularity
	if n > limit {
		n = max(limit/p.granularity*p.granularity, min(limit, p.granularity))
	}
	if all <= limit && all-n < p.granularity {
		return all
	}
	return min(n, all)
}
