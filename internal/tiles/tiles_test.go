package tiles

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// work lets workers of the rates do all tiles of rows by cols, two of each at a time, and returns
// the time that takes, and who did each element. fails is when a worker fails; 0: never.
func work(t *testing.T, rows, cols, granularity int, workers []Worker, rates []float64, fails []time.Duration,
) (took time.Duration, by []int) {
	t.Helper()
	by = make([]int, rows*cols)
	synctest.Test(t, func(t *testing.T) {
		p := New(rows, cols, granularity, workers)
		start := time.Now()
		var mu sync.Mutex
		var wait sync.WaitGroup
		for w, rate := range rates {
			wait.Go(func() {
				queue := make(chan Tile) // and so one waits there while another is done
				done := make(chan struct{})
				go func() {
					defer close(done)
					dead := false
					for tile := range queue {
						if dead {
							continue
						}
						if w := workers[w]; w.MaxRows > 0 && tile.Rows > w.MaxRows ||
							w.MaxCols > 0 && tile.Cols > w.MaxCols {
							t.Errorf("a tile of %d by %d for %+v", tile.Rows, tile.Cols, w)
						}
						time.Sleep(time.Duration(float64(tile.Rows*tile.Cols) / rate * 1e9))
						done := tile.Rows // of a tile that fails, its first rows are done all the same
						if fails != nil && fails[w] > 0 && time.Since(start) > fails[w] {
							dead, done = true, tile.Rows/2
						}
						mu.Lock()
						for i := range done {
							for j := range tile.Cols {
								by[(tile.Row+i)*cols+tile.Col+j] += w + 1
							}
						}
						mu.Unlock()
						p.Done(w, done/3)
						p.Done(w, done-done/3)
						if dead {
							p.Fail(w)
						}
					}
				}()
				for {
					tile, ok := p.Next(w)
					if !ok {
						break
					}
					queue <- tile
				}
				close(queue)
				<-done
			})
		}
		wait.Wait()
		took = time.Since(start)
		if left := p.Left(); left != 0 {
			t.Errorf("%d elements are left", left)
		}
	})
	return took, by
}

// Workers of unequal rates finish together, whether the rates are known or not.
func TestBalance(t *testing.T) {
	for _, known := range []bool{true, false} {
		for n := 1; n <= 8; n++ {
			var rates []float64
			var workers []Worker
			sum := 0.0
			for i := range n {
				rate := 1e6 * float64(int(1)<<(i%4))
				rates = append(rates, rate)
				sum += rate
				w := Worker{}
				if known {
					w.Rate = rate
				}
				workers = append(workers, w)
			}
			const size = 2000
			took, _ := work(t, size, size, 64, workers, rates, nil)
			got := size * size / sum / took.Seconds()
			t.Logf("%d workers, known %v: %.3f of the sum of rates", n, known, got)
			if got < 0.92 {
				t.Errorf("%d workers, known %v: %.3f of the sum of rates, want 0.92", n, known, got)
			}
		}
	}
}

// What a cold worker takes for its first tile is not its rate.
func TestCold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rate = 1e6
		p := New(2000, 2000, 64, []Worker{{Rate: rate}, {Cold: true}})
		for _, want := range []float64{0, rate, rate} {
			tile, ok := p.Next(1)
			if !ok {
				t.Fatal("no tile")
			}
			time.Sleep(time.Duration(tile.area() / rate * 1e9))
			if want == 0 {
				time.Sleep(time.Hour)
			}
			p.Done(1, tile.Rows)
			if got := p.Rate(1); math.Abs(got-want) > rate/1e6 {
				t.Errorf("the rate is %v, want %v", got, want)
			}
		}
	})
}

// Every element is in one tile that is done, whatever the shapes, the limits and the failures.
func TestOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 300 {
		rows, cols, granularity := rng.IntN(70), rng.IntN(70), 1+rng.IntN(9)
		workers := make([]Worker, 1+rng.IntN(4))
		rates, fails := make([]float64, len(workers)), make([]time.Duration, len(workers))
		for i := range workers {
			rates[i] = float64(1 + rng.IntN(50))
			if rng.IntN(2) == 0 {
				workers[i].Rate = rates[i] * rng.Float64() * 3
			}
			if rng.IntN(2) == 0 {
				workers[i].MaxRows, workers[i].MaxCols = 1+rng.IntN(30), 1+rng.IntN(30)
			}
			if i > 0 && rng.IntN(3) == 0 {
				fails[i] = time.Duration(rng.IntN(100)) * time.Second
			}
		}
		what := fmt.Sprintf("%d: %dx%d by %d, %+v at %v, failing %v", n, rows, cols, granularity, workers, rates, fails)
		_, by := work(t, rows, cols, granularity, workers, rates, fails)
		for i, w := range by {
			if w < 1 || w > len(workers) {
				t.Fatalf("%s: element %d was done by %d", what, i, w)
			}
		}
	}
}

// With all workers failed, and after Stop, nothing is handed out.
func TestEnd(t *testing.T) {
	p := New(10, 10, 1, make([]Worker, 2))
	if _, ok := p.Next(0); !ok {
		t.Fatal("no tile")
	}
	p.Fail(0)
	p.Fail(1)
	for w := range 2 {
		if tile, ok := p.Next(w); ok {
			t.Errorf("worker %d has failed, and gets %v", w, tile)
		}
	}
	if p.Left() != 100 {
		t.Errorf("%d elements are left, want all", p.Left())
	}
	p = New(10, 10, 1, make([]Worker, 1))
	p.Stop()
	if tile, ok := p.Next(0); ok {
		t.Errorf("after Stop: %v", tile)
	}
	if _, ok := New(0, 5, 1, make([]Worker, 1)).Next(0); ok {
		t.Error("a tile of nothing")
	}
}
