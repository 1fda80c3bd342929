package bench

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	_ "github.com/tandem-gpu/tandem/backend/cudasim"
	"github.com/tandem-gpu/tandem/internal/faulttest"
	"github.com/tandem-gpu/tandem/internal/racetest"
	"github.com/tandem-gpu/tandem/linalg"
)

// endurance makes TestEndurance run for minutes:
//
//	go test ./bench -run Endurance -endurance -v -timeout 60m
//
// -backend chooses the devices.
var (
	endurance = flag.Bool("endurance", false,
		"open and close every device 10,000 times, and run as many operations as a busy program does in an hour")
	devices = flag.String("backend", "cpu,opencl,cudasim",
		"the `specs` of the devices of TestEndurance, with commas between")
)

// What a program holds stays the same, however long it runs: memory of Go and in all, goroutines,
// open files. The handles of the drivers are counted in their own tests.
func TestEndurance(t *testing.T) {
	backendtest.EmptyCache(t)
	for _, spec := range strings.Split(*devices, ",") {
		t.Run(spec, func(t *testing.T) {
			s, err := linalg.Open(spec)
			backendtest.Require(t, spec, err)
			check(t, s.Close())
			cycles, operations := 100, 300
			if spec == "opencl" { // the compiler of PoCL takes its memory in the first 100 cycles or so
				cycles = 250
			}
			if racetest.Enabled {
				cycles, operations = 50, 50 // what grows slowly is for the other runs to find
			}
			if *endurance {
				cycles, operations = 10_000, operationsOf(s.Info())
			}
			t.Run("open and close", func(t *testing.T) {
				c := newCycle(spec)
				endure(t, cycles, c.run)
			})
			t.Run("operations", func(t *testing.T) {
				s, err := linalg.Open(spec)
				check(t, err)
				m := newMixed(t, s)
				endure(t, operations, m.run)
				check(t, s.Close())
			})
		})
	}
	if !*endurance {
		t.Log("a short run; -endurance makes it a long one")
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// operationsOf is what a program does in an hour that computes 100 times a second, and less on a
// device that is simulated.
func operationsOf(info backend.Info) int {
	if info.Note == "simulated" {
		return 20_000
	}
	return 360_000
}

// A usage is what the process holds.
type usage struct {
	done              int // runs before
	heap, resident    int64
	goroutines, files int
}

func (u usage) String() string {
	return fmt.Sprintf("after %6d: heap %7.1f KiB, resident %9.1f KiB, %d goroutines, %d files",
		u.done, float64(u.heap)/1024, float64(u.resident)/1024, u.goroutines, u.files)
}

// now is the usage when background work has ended, so that no more than the goroutines of the test
// are left, and everything unused is given back.
func now(done, goroutines int) usage {
	runtime.GC()
	for n := 0; n < 1000 && runtime.NumGoroutine() > goroutines; n++ {
		time.Sleep(time.Millisecond)
	}
	debug.FreeOSMemory()
	debug.FreeOSMemory() // what finalizers and cleanups of the first have let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u := usage{done: done, heap: int64(m.HeapAlloc), resident: resident(), goroutines: runtime.NumGoroutine()}
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		u.files = len(open)
	}
	return u
}

// resident is the memory of the process in bytes, 0 where the system does not tell.
func resident() int64 {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := bytes.Cut(status, []byte("VmRSS:"))
	var kb int64
	fmt.Sscan(string(rest), &kb)
	return kb << 10
}

// Growth that is no leak: caches of the runtime that fill slowly, and memory that comes in pieces
// of some pages. Over the 5,000 runs of a long test that are compared, the limits are 105 bytes of
// Go's memory a run, and 1.6 KiB of all. PoCL 3.1 itself keeps about 50 bytes of every program that
// it has built and run, and Intel's runtime 2026.2 about 600, as a program in C shows that does
// nothing else: its 10,000 sessions grow by 3.1 KiB each.
const (
	maxHeapGrowth     = 512 << 10
	maxResidentGrowth = 8 << 20
)

// endure calls run n times, and compares what the process holds after half of them with what it
// holds at the end. Where memory has grown, half as many calls follow, and are compared in the same
// way: drivers take memory in pieces of megabytes now and then, and a leak goes on.
func endure(t *testing.T, n int, run func(i int) error) {
	t.Helper()
	const samples = 10
	own := runtime.NumGoroutine()
	var seen []usage
	runTo := func(from, to int) {
		for i := from; i < to; i++ {
			if i%(n/samples) == 0 {
				seen = append(seen, now(i, own))
			}
			if err := run(i); err != nil {
				t.Fatalf("run %d: %v", i, err)
			}
		}
		seen = append(seen, now(to, own))
	}
	runTo(0, n)
	first, last := seen[samples/2], seen[len(seen)-1]
	if hasGrown(first, last) {
		runTo(n, n+n/2)
		first, last = last, seen[len(seen)-1]
	}
	for _, u := range seen {
		t.Log(u)
	}
	runs := float64(last.done - first.done)
	t.Logf("growth a run: heap %.1f bytes, resident %.1f bytes",
		float64(last.heap-first.heap)/runs, float64(last.resident-first.resident)/runs)
	if hasGrown(first, last) {
		t.Errorf("memory has grown from %v to %v", first, last)
	}
	if last.goroutines != first.goroutines || last.files != first.files {
		t.Errorf("goroutines or files have grown from %v to %v", first, last)
	}
}

// hasGrown compares memory. The race detector keeps some of its own for what was ever touched, and
// PoCL's compiler touches more in its first hundred runs.
func hasGrown(first, last usage) bool {
	return last.heap-first.heap > maxHeapGrowth || last.resident-first.resident > maxResidentGrowth && !racetest.Enabled
}

// A cycle opens a device, multiplies on it, and closes it.
type cycle struct {
	spec       string
	a, b, want linalg.Matrix[float32]
}

func newCycle(spec string) *cycle {
	rng := rand.New(rand.NewPCG(1, 2))
	c := &cycle{spec: spec, a: normal(rng, 33, 17), b: normal(rng, 17, 20)}
	c.want = onHost(c.a, c.b)
	return c
}

func normal(rng *rand.Rand, rows, cols int) linalg.Matrix[float32] {
	m := linalg.NewMatrix[float32](rows, cols, nil)
	for i := range m.Data {
		m.Data[i] = float32(rng.NormFloat64())
	}
	return m
}

// onHost is a*b on the host.
func onHost(a, b linalg.Matrix[float32]) linalg.Matrix[float32] {
	s, err := linalg.Open("cpu")
	if err != nil {
		panic(err)
	}
	defer s.Close()
	c, err := linalg.MatMul(a, b, linalg.On(s))
	if err != nil {
		panic(err)
	}
	return c
}

func (c *cycle) run(int) error {
	s, err := linalg.Open(c.spec)
	if err != nil {
		return err
	}
	got, err := linalg.MatMul(c.a, c.b, linalg.On(s))
	if err == nil && !slices.Equal(got.Data, c.want.Data) {
		err = errors.New("a wrong product")
	}
	return errors.Join(err, s.Close())
}

// mixed is all that a program does with a session, in a random order.
type mixed struct {
	s    *linalg.Session
	rng  *rand.Rand
	want [][]float32
}

func newMixed(t *testing.T, s *linalg.Session) *mixed {
	want, err := faulttest.Results(faulttest.Operations)
	check(t, err)
	return &mixed{s: s, rng: rand.New(rand.NewPCG(3, 4)), want: want}
}

func (m *mixed) run(int) error {
	more := []func() error{m.forgotten, m.cancelled, m.refused}
	i := m.rng.IntN(len(faulttest.Operations) + len(more))
	if i >= len(faulttest.Operations) {
		return more[i-len(faulttest.Operations)]()
	}
	got, err := faulttest.Operations[i].Run(m.s)
	if err == nil && !slices.Equal(got, m.want[i]) {
		err = errors.New("a wrong result")
	}
	return err
}

// forgotten leaves an array and an event to the garbage collector.
func (m *mixed) forgotten() error {
	_, err1 := linalg.NewArray[float32](m.s, 10, 10)
	_, err2 := m.s.Queue().Record()
	return errors.Join(err1, err2)
}

// cancelled is a product that nobody wants any more.
func (m *mixed) cancelled() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	a := linalg.NewMatrix[float32](5, 5, nil)
	if _, err := linalg.MatMul(a, a, linalg.On(m.s), linalg.WithContext(ctx)); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("a cancelled product: %w", err)
	}
	return nil
}

// refused are calls that fail.
func (m *mixed) refused() error {
	if _, err := linalg.NewArray[float32](m.s, 1<<24, 1<<24); !errors.Is(err, backend.ErrOutOfMemory) {
		return fmt.Errorf("an array of a PiB: %w", err)
	}
	a, b := linalg.NewMatrix[float32](5, 5, nil), linalg.NewMatrix[float32](6, 5, nil)
	if _, err := linalg.MatMul(a, b, linalg.On(m.s)); !errors.Is(err, linalg.ErrShape) {
		return fmt.Errorf("a product of shapes that do not fit: %w", err)
	}
	return nil
}
