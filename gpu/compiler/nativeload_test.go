package compiler

import (
	"strings"
	"testing"
)

// A program that runs machine code under all that Go's run time does beside it.
const loadProgram = `package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	_ "github.com/tandem-gpu/tandem/backend/cpu"
	"github.com/tandem-gpu/tandem/gpu"
)

//tandem:kernel
func spin(it gpu.Item, x []uint64, steps int) {
	v := x[it.Global(0)]
	for range steps {
		v = v*6364136223846793005 + 1442695040888963407
	}
	x[it.Global(0)] = v
}

func main() {
	var profile bytes.Buffer
	check(pprof.StartCPUProfile(&profile))
	d, err := backend.Lookup("cpu").Open(0)
	check(err)
	k, err := d.Compile(spinKernel)
	check(err)
	many(d, k)
	wait, launch := collect(d, k)
	for range len(os.Args[1:]) { // a loaded machine makes anything wait
		if wait >= launch/6 {
			wait, launch = collect(d, k)
		}
	}
	pprof.StopCPUProfile()
	r, err := gzip.NewReader(&profile)
	check(err)
	names, err := io.ReadAll(r)
	check(err)
	fmt.Println("profile has it below the entry:", bytes.Contains(names, []byte("backend/cpu.enter")))
	fmt.Println("collector does not wait:", wait < launch/6) // a core runs two groups
	fmt.Println("longest collection beside a launch of", launch, "is", wait)
}

// many launches from many goroutines, whose stacks grow, beside a collector that never rests.
func many(d *backend.Device, k *backend.Kernel) {
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	var stop atomic.Bool
	var collector, all sync.WaitGroup
	collector.Go(func() {
		for !stop.Load() {
			runtime.GC()
		}
	})
	var wrong atomic.Int64
	for i := range 200 {
		all.Go(func() {
			grow(i % 50)
			q, err := d.NewQueue()
			check(err)
			defer q.Close()
			for range 4 {
				x, want := make([]uint64, 1000), make([]uint64, 1000)
				for i := range x {
					x[i], want[i] = uint64(i), uint64(i)
				}
				check(launch(d, q, k, x, 500))
				check(gpu.Run(backend.Grid1(1, 10), func(it gpu.Item) { spin(it, want, 500) }))
				for i := range 10 {
					if x[i] != want[i] {
						wrong.Add(1)
					}
				}
			}
		})
	}
	all.Wait()
	stop.Store(true)
	collector.Wait()
	fmt.Println("wrong:", wrong.Load())
}

// collect tells how long the collector waits beside groups that take long.
func collect(d *backend.Device, k *backend.Kernel) (longest, took time.Duration) {
	q, err := d.NewQueue()
	check(err)
	done := make(chan bool)
	go func() {
		x := make([]uint64, 1000)
		check(launch(d, q, k, x, 5)) // which says nothing of the next one
		start := time.Now()
		check(launch(d, q, k, x, 500_000))
		took = time.Since(start)
		close(done)
	}()
	for {
		start := time.Now()
		runtime.GC()
		longest = max(longest, time.Since(start))
		select {
		case <-done:
			return longest, took
		case <-time.After(time.Millisecond):
		}
	}
}

func launch(d *backend.Device, q *backend.Queue, k *backend.Kernel, x []uint64, steps int) error {
	b, err := d.Register(backend.Bytes(x))
	check(err)
	defer b.Free()
	return q.Launch(k, backend.Grid1(4, 250), backend.Buf(b), backend.Uint64(0), backend.Uint64(uint64(len(x))),
		backend.Int64(int64(steps)))
}

func grow(n int) byte {
	var b [512]byte
	if n > 0 {
		b[n] = grow(n - 1)
	}
	return b[7]
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
`

const loadText = `
KERNEL(spin_kernel) {
  u64 *x = (u64 *)c->arg[0] + c->arg[1], *local = c->scratch;
  for (i64 g = c->lo; g < c->hi; g++)
    for (i64 l = 0; l < c->local[0]; l++) {
      const i64 i = g * c->local[0] + l;
      if ((u64)i >= c->arg[2]) fail(c, FAIL_INDEX, 23, i, (i64)c->arg[2]);
      local[l] = x[i];
      for (i64 n = 0; n < (i64)c->arg[3]; n++) local[l] = local[l] * 6364136223846793005 + 1442695040888963407;
      x[i] = local[l];
    }
  return 0;
}
const i64 spin_kernel_lanes = 8, spin_kernel_scratch[2] = {0, 64};
`

// Machine code runs right beside a collector that never rests, a profile, and stacks that grow and
// shrink. Where it runs through a system call's way, nothing waits for it, and the profile has its
// time there.
func TestNativeUnderLoad(t *testing.T) {
	needNative(t)
	dir := newModule(t, map[string]string{"main.go": loadProgram})
	o := Options{NoLaunch: true, NoPTX: true, Native: ownMachine()}
	o.text = func(string) (string, error) { return loadText, nil }
	if err := Write(dir, o); err != nil {
		t.Fatal(err)
	}
	const byEntry = "profile has it below the entry: true\ncollector does not wait: true\n"
	for tag, want := range map[string]string{"": byEntry, "tandem_nolibs": ""} {
		args := []string{"run", "-tags", tag, "."}
		if tag == "" {
			args = append(args, "again", "again", "again", "again")
		}
		t.Setenv("CGO_ENABLED", "0")
		out, err := goTool(t, dir, args...)
		if err != nil || !strings.HasPrefix(out, "wrong: 0\n"+want) {
			t.Errorf("tag %q: %v\n%s", tag, err, out)
		}
		t.Logf("tag %q: %s", tag, out)
	}
}
