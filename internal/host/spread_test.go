package host

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

func TestEqual(t *testing.T) {
	for _, unit := range []int{1, 8, 12} {
		for n := 1; n <= 300; n++ {
			for limit := unit; limit <= 100; limit++ {
				size := equal(n, limit, unit)
				if size%unit != 0 || size < unit || size > limit {
					t.Fatalf("equal(%d, %d, %d) = %d", n, limit, unit, size)
				}
				if whole := limit / unit * unit; (n+size-1)/size > (n+whole-1)/whole {
					t.Fatalf("equal(%d, %d, %d) = %d, which makes more parts than %d", n, limit, unit, size, whole)
				}
			}
		}
	}
}

// The tasks of a block cover each element once.
func TestSplit(t *testing.T) {
	for workers := 2; workers <= 9; workers++ {
		for _, shape := range [][2]int{{1, 1}, {8, 300}, {17, 48}, {100, 49}, {64, 1000}, {1000, 5}} {
			var p product[float32]
			p.kern, p.workers, p.m, p.n = kernels[float32]()[0], workers, shape[0], shape[1]
			p.cols = 3 * p.kern.cols
			seen := make([]int, p.m*p.n)
			for _, task := range p.split(nil, 0, p.m) {
				for i := task.i; i < task.i+task.rows; i++ {
					for j := task.j; j < task.j+task.cols; j++ {
						seen[i*p.n+j]++
					}
				}
			}
			for at, n := range seen {
				if n != 1 {
					t.Fatalf("%dx%d, workers: %d: element (%d, %d) is in %d tasks",
						p.m, p.n, workers, at/p.n, at%p.n, n)
				}
			}
		}
	}
}

// slowKernel is the portable kernel with small blocks, which calls before in front of every tile.
func slowKernel(before func()) *microKernel[float32] {
	kern := portable(portableF32)
	kern.kc, kern.mc, kern.nc = 8, 4*kern.rows, 2*kern.cols
	run := kern.run
	kern.run = func(
		rows, cols, kc int, a *float32, aRow, aStep int, b *float32, bStep int, c *float32, ldc int, zero bool,
	) {
		before()
		run(rows, cols, kc, a, aRow, aStep, b, bStep, c, ldc, zero)
	}
	return kern
}

// spreadSmall multiplies on four workers, whatever the size.
func spreadSmall(kern *microKernel[float32], m, n, k int, a, b, c matrix[float32]) {
	p := newProduct(kern, problem[float32]{
		m: m, n: n, k: k, alpha: 1, a: a.data, lda: a.ld, b: b.data, ldb: b.ld, c: c.data, ldc: c.ld,
	})
	p.workers, p.directA, p.directB = 4, false, false
	p.spread()
}

// Workers that stop now and then, wherever they are: whoever overtakes them must wait for what he
// needs.
func TestSpreadWaits(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	const m, n, k = 40, 41, 60
	rng := rand.New(rand.NewPCG(1, 2))
	in := inputs[float32]()[0]
	a, b, c := in.matrix(rng, m, k, 1), in.matrix(rng, k, n, 1), in.matrix(rng, m, n, 1)
	want := c.clone()
	GemmReference(m, n, k, 1, a.data, a.ld, b.data, b.ld, 0, want.data, want.ld)
	for every := int64(30); every < 150; every += 7 {
		var calls atomic.Int64
		spreadSmall(slowKernel(func() {
			if calls.Add(1)%every == 0 {
				time.Sleep(200 * time.Microsecond)
			}
		}), m, n, k, a, b, c)
		if err := c.diff(want); err != nil {
			t.Fatalf("a pause every %d tiles: %v", every, err)
		}
	}
}

// A panic on one core ends the product on all of them.
func TestSpreadPanics(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	const n = 40
	rng := rand.New(rand.NewPCG(1, 2))
	in := inputs[float32]()[0]
	a, b, c := in.matrix(rng, n, n, 0), in.matrix(rng, n, n, 0), in.matrix(rng, n, n, 0)
	for at := int64(1); at < 900; at += 100 {
		done := make(chan any, 1)
		go func() {
			defer func() { done <- recover() }()
			var calls atomic.Int64
			spreadSmall(slowKernel(func() {
				if calls.Add(1) == at {
					panic("a tile")
				}
			}), n, n, n, a, b, c)
		}()
		select {
		case v := <-done:
			if v != "a tile" {
				t.Errorf("tile %d panics: spread panicked with %v", at, v)
			}
		case <-time.After(time.Minute):
			t.Fatalf("tile %d panics: spread hangs", at)
		}
	}
}

// A worker that waits for long sleeps, and is woken by what it waits for.
func TestWorkersSleep(t *testing.T) {
	w := newTeam[float32]()
	var n atomic.Int32
	done := make(chan bool)
	go func() {
		w.await(&n, 1)
		done <- true
	}()
	for deadline := time.Now().Add(time.Minute); w.asleep.Load() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a worker that waits in vain never sleeps")
		}
	}
	w.tell() // of something else
	n.Store(1)
	w.tell()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("a worker is not woken")
	}
	if w.asleep.Load() != 0 {
		t.Error("a worker that is awake counts as asleep")
	}
}

// A team that is used again has nothing of the product before.
func TestTeamsAreUsedAgain(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	rng := rand.New(rand.NewPCG(3, 4))
	in := inputs[float32]()[0]
	for _, n := range []int{70, 20, 90, 33} {
		a, b, c := in.matrix(rng, n, n+3, 1), in.matrix(rng, n+3, n, 1), in.matrix(rng, n, n, 1)
		want := c.clone()
		GemmReference(n, n, n+3, 1, a.data, a.ld, b.data, b.ld, 0, want.data, want.ld)
		spreadSmall(slowKernel(func() {}), n, n, n+3, a, b, c)
		if err := c.diff(want); err != nil {
			t.Fatal(n, err)
		}
	}
	if w := newTeam[float32](); len(w.stages)+len(w.tasks)+len(w.ends)+w.items != 0 {
		t.Errorf("a team begins with %d stages, %d tasks, %d items", len(w.stages), len(w.tasks), w.items)
	}
}

// envSpin makes the test binary a process that keeps a core busy.
const envSpin = "TANDEM_TEST_SPIN"

// TestSpin is what the processes beside BenchmarkBusy run, until they are killed.
func TestSpin(t *testing.T) {
	if os.Getenv(envSpin) == "" {
		t.Skip("a part of BenchmarkBusy")
	}
	for start := time.Now(); time.Since(start) < 5*time.Minute; {
	}
}

// BenchmarkBusy is a product on one thread and on more, also than there are cores, on an idle
// machine and beside two busy processes: the median, and what nine of ten calls take at most. No
// number of threads should take more than twice the time of one.
func BenchmarkBusy(b *testing.B) {
	const n = 512
	x, y, z := make([]float64, n*n), make([]float64, n*n), make([]float64, n*n)
	for _, others := range []int{0, 2} {
		b.Run(fmt.Sprintf("beside %d", others), func(b *testing.B) {
			for range others {
				cmd := exec.CommandContext(b.Context(), os.Args[0], "-test.run=^TestSpin$")
				cmd.Env = append(os.Environ(), envSpin+"=1", "GOMAXPROCS=1")
				if err := cmd.Start(); err != nil {
					b.Fatal(err)
				}
				defer cmd.Wait()
				defer cmd.Process.Kill()
			}
			for _, threads := range []int{1, 2, 4, 8} {
				b.Run(fmt.Sprint(threads), func(b *testing.B) {
					defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
					var times []float64 // milliseconds
					for b.Loop() {
						start := time.Now()
						Gemm(n, n, n, 1, x, n, y, n, 0, z, n)
						times = append(times, time.Since(start).Seconds()*1e3)
					}
					slices.Sort(times)
					b.ReportMetric(times[len(times)/2], "ms-median")
					b.ReportMetric(times[len(times)*9/10], "ms-p90")
				})
			}
		})
	}
}
