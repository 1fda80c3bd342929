package gpu_test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/gpu"
)

// Work-items know their places, meet at barriers and share local memory, group by group.
func TestRun(t *testing.T) {
	grid := backend.Grid3(2, 3, 2, 4, 2, 2)
	out := make([]int, 8*6*4)
	err := gpu.Run(grid, func(it gpu.Item) {
		s, count := gpu.Local[[16]int](it), gpu.Local[[1]int32](it)
		l := (it.Local(2)*it.LocalSize(1)+it.Local(1))*it.LocalSize(0) + it.Local(0)
		for round := range 3 {
			s[l] = l * round
			it.Barrier()
			next := s[(l+1)%16]
			it.Barrier()
			s[l] = next
		}
		gpu.AtomicAdd(&count[0], 1)
		it.Barrier()
		at := (it.Global(2)*it.GlobalSize(1)+it.Global(1))*it.GlobalSize(0) + it.Global(0)
		out[at] = s[l]*100 + int(count[0]) + 1000000*(it.Group(0)+it.Groups(1))
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range out {
		x, y, z := i%8, i/8%6, i/48
		l := (z%2*2+y%2)*4 + x%4
		if want := (l+1)%16*2*100 + 16 + 1000000*(x/4+3); got != want {
			t.Fatalf("element %d: %d, want %d", i, got, want)
		}
	}
}

// Any and Uniform give all work-items of a group the same, in loops until nothing changes too.
func TestVotes(t *testing.T) {
	grid := backend.Grid2(3, 2, 4, 2)
	turns, firsts := make([]int, 48), make([]float32, 48)
	err := gpu.Run(grid, func(it gpu.Item) {
		at := it.Global(1)*it.GlobalSize(0) + it.Global(0)
		left := it.Local(0)*it.Group(0) + it.Local(1)
		for it.Any(left > 0) {
			left--
			turns[at]++
		}
		firsts[at] = gpu.Uniform(it, float32(at))
		if gpu.Uniform(it, it.Group(0) == 1) {
			it.Barrier()
		}
		if it.Any(it.Local(0)+it.Local(1) == 0) {
			firsts[at]++
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range turns {
		x, y := i%12, i/12
		if want := 3*(x/4) + 1; got != want {
			t.Errorf("element %d: %d turns, want %d", i, got, want)
		}
		if want := float32(y/2*24+x/4*4) + 1; firsts[i] != want {
			t.Errorf("element %d: %v, want %v", i, firsts[i], want)
		}
	}
}

// A work-item that ends, panics or waits elsewhere while others wait is an error that names the
// places, not a hang.
func TestRunFails(t *testing.T) {
	for name, c := range map[string]struct {
		kernel func(gpu.Item)
		want   []string
	}{
		"ends": {func(it gpu.Item) {
			it.Barrier()
			if it.Local(0) != 2 {
				it.Barrier()
			}
		}, []string{
			"work-item [2 0 0] ended after the barrier at gpu_test.go:",
			"others wait at the barrier at gpu_test.go:",
		}},
		"ends at once": {func(it gpu.Item) {
			if it.Local(0) > 0 {
				it.Barrier()
			}
		}, []string{"work-item [0 0 0] ended without a barrier while others wait"}},
		"elsewhere": {func(it gpu.Item) {
			if it.Local(0) == 1 {
				it.Barrier()
			} else {
				it.Barrier()
			}
		}, []string{"different barriers"}},
		"asks elsewhere": {func(it gpu.Item) {
			if it.Local(0) == 1 {
				it.Any(true)
			} else {
				gpu.Uniform(it, 1)
			}
		}, []string{"different barriers, gpu_test.go:"}},
		"panics": {func(it gpu.Item) {
			if it.Local(0) == 3 {
				_ = []int{}[it.Local(0)]
			}
			it.Barrier()
		}, []string{"work-item [3 0 0] at gpu_test.go:", "index out of range"}},
	} {
		err := gpu.Run(backend.Grid1(2, 4), c.kernel)
		for _, w := range c.want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v, want %q", name, err, w)
			}
		}
	}
}

func TestFMA(t *testing.T) {
	x := float32(1 + 1.0/4096)
	if got, want := gpu.FMA(x, x, -1), float32(math.FMA(float64(x), float64(x), -1)); got != want {
		t.Errorf("float32: %v, want %v", got, want)
	}
	y := 1 + 1.0/(1<<30)
	if got := gpu.FMA(y, y, -1); got != math.FMA(y, y, -1) {
		t.Errorf("float64: %v", got)
	}
	if got := gpu.FMA[int8](100, 3, 50); got != 94 {
		t.Errorf("int8: %v", got)
	}
}

// The atomic operations return the old value, on 32 and 64 bits.
func TestAtomics(t *testing.T) {
	testAtomics[int32](t)
	testAtomics[uint32](t)
	testAtomics[int64](t)
	testAtomics[uint64](t)
	testAtomics[int](t)
}

func testAtomics[T gpu.Atomic](t *testing.T) {
	x := T(12)
	for i, c := range []struct{ old, want, now T }{
		{gpu.AtomicAdd(&x, 5), 12, 17},
		{gpu.AtomicAdd(&x, ^T(0)), 17, 16},
		{gpu.AtomicMin(&x, 9), 16, 9},
		{gpu.AtomicMax(&x, 20), 9, 20},
		{gpu.AtomicAnd(&x, 6), 20, 4},
		{gpu.AtomicOr(&x, 3), 4, 7},
		{gpu.AtomicXor(&x, 5), 7, 2},
		{gpu.AtomicExchange(&x, 40), 2, 40},
		{gpu.AtomicCompareExchange(&x, 41, 1), 40, 40},
		{gpu.AtomicCompareExchange(&x, 40, 1), 40, 1},
	} {
		if c.old != c.want {
			t.Errorf("%T, step %d: %v, want %v", x, i, c.old, c.want)
		}
	}
	if x != 1 {
		t.Errorf("%T ends as %v", x, x)
	}
}

func TestMatrix(t *testing.T) {
	m := gpu.Matrix[int]{Data: make([]int, 11), Rows: 3, Cols: 3, Stride: 4}
	m.Set(2, 2, 7)
	if m.At(2, 2) != 7 || m.Data[10] != 7 {
		t.Error(m)
	}
	defer func() {
		if recover() == nil {
			t.Error("an element outside is no panic")
		}
	}()
	m.At(0, 3)
}

// The race detector finds groups that write one element, and none where each writes its own.
func TestGroupsRace(t *testing.T) {
	if !gpu.Goroutines {
		t.Skip("needs -race")
	}
	const child = "TANDEM_TEST_CHILD"
	for _, shared := range []bool{false, true} {
		if os.Getenv(child) != "" {
			x := make([]int, 64)
			err := gpu.Run(backend.Grid1(8, 4), func(it gpu.Item) {
				if it.Barrier(); it.Local(0) == 2 {
					if os.Getenv(child) == "true" {
						x[it.Group(0)/2]++ // of two neighbours
					} else {
						x[it.Group(0)]++
					}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			return
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestGroupsRace$")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%t", child, shared))
		out, _ := cmd.CombinedOutput()
		if found := strings.Contains(string(out), "DATA RACE"); found != shared {
			t.Errorf("shared %t: %s", shared, out)
		}
	}
}
