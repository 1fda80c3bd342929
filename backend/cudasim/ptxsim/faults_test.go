package ptxsim

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// A planted is a kernel of testdata/faults with a mistake, and how to launch it so that the mistake
// shows.
type planted struct {
	kernel string
	kind   Kind
	block  int
	thread int // the first that the simulator finds at fault; -1 where it does not matter
	args   func() []any
	text   string // part of the message
}

var plantedFaults = []planted{
	{
		"outofbounds", OutOfBounds, 32, 20, func() []any { return []any{int32(20), make([]float32, 20)} },
		"0 bytes behind the end of an allocation of 80 bytes",
	},
	{
		"past", OutOfBounds, 32, 31,
		func() []any { return []any{int32(32), make([]float32, 32), output{make([]float32, 32)}} }, "128 bytes",
	},
	{
		"race", Race, 64, -1, func() []any { return []any{make([]int32, 64)} },
		"written, which thread (31,0,0) has used since the last barrier",
	},
	{
		"equalrace", Race, 64, 5, func() []any { return []any{[]int32{0, 0, 0, 0, 9, 9, 9, 63: 0}} },
		"which thread (4,0,0) has used",
	},
	{
		"misaligned", Misaligned, 1, 0,
		func() []any { return []any{make([]float32, 8), int32(1), output{make([]float32, 4)}} }, "access's 16 bytes",
	},
	{
		"divergent", DivergentBarrier, 64, 0, func() []any { return []any{make([]int32, 64), int32(40)} },
		"40 of 64 threads of the block wait here, but thread (40,0,0) has exited (faults.cl:",
	},
	{
		"different", DivergentBarrier, 64, 1, func() []any { return []any{make([]int32, 64)} },
		"while thread (0,0,0) waits at the barrier of faults.cl:79",
	},
	{
		"uninitialised", Uninitialised, 64, 29, func() []any { return []any{make([]int32, 64), int32(30)} },
		"+120: nothing has been written there",
	},
	{
		"uninitialisedglobal", Uninitialised, 64, 0,
		func() []any { return []any{make([]int32, 1), output{make([]int32, 64)}} },
		"0 bytes into an allocation of 256",
	},
	{
		"endless", Timeout, 2, 0, func() []any { return []any{make([]int32, 2), int32(7)} },
		"instructions without an end",
	},
	{
		"sharedbounds", OutOfBounds, 64, 63, func() []any { return []any{make([]int32, 64)} },
		"+256, which has 256 bytes: no array is there",
	},
	{"trapped", Trap, 32, 3, func() []any { return []any{[]int32{-0, 0, 0, 1, 31: 0}} }, "stopped itself"},
	{
		"inlined", OutOfBounds, 1, 0, func() []any { return []any{make([]int32, 3), int32(3)} },
		"0 bytes behind the end of an allocation of 12 bytes",
	},
	{"atomicrace", Race, 64, -1, func() []any { return []any{make([]uint32, 64)} }, "has used since the last barrier"},
}

// mistakeLines is the lines of faults.cl that are marked.
func mistakeLines(t *testing.T, kernel string) []int { return markedLines(t, "MISTAKE", kernel) }

func markedLines(t *testing.T, mark, kernel string) (lines []int) {
	t.Helper()
	text, err := os.ReadFile("testdata/faults/faults.cl")
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(text), "\n") {
		if strings.Contains(line, "/* "+mark+" "+kernel+" */") {
			lines = append(lines, i+1)
		}
	}
	return lines
}

func TestPlantedFaults(t *testing.T) {
	broken, fixed := readPTX(t, "testdata/faults/broken.ptx.gz"), readPTX(t, "testdata/faults/fixed.ptx.gz")
	lines := strings.Split(string(broken), "\n")
	for _, c := range plantedFaults {
		t.Run(c.kernel, func(t *testing.T) {
			p := load(t, Config{MaxSteps: 3 << 20}, broken)
			var f *Fault
			if err := p.try(c.kernel, x1(3), x1(c.block), 0, c.args()...); !errors.As(err, &f) {
				t.Fatalf("launch: %v, want a fault", err)
			}
			if f.Kind != c.kind || f.Kernel != c.kernel || f.Block != [3]int{} || c.thread >= 0 &&
				f.Thread != [3]int{c.thread} {
				t.Errorf("fault %v of %s in block %v, thread %v", f.Kind, f.Kernel, f.Block, f.Thread)
			}
			if want := mistakeLines(t, c.kernel); path.Base(f.File) != "faults.cl" ||
				!slices.Contains(want, f.FileLine) {
				t.Errorf("fault at %s:%d, want lines %v of faults.cl", f.File, f.FileLine, want)
			}
			if f.Line < 1 || f.Line > len(lines) || !strings.Contains(lines[f.Line-1], ";") {
				t.Errorf("PTX line %d is not an instruction", f.Line)
			}
			if msg := f.Error(); !strings.Contains(msg, c.text) ||
				!strings.Contains(msg, fmt.Sprintf("faults.cl:%d, PTX line %d", f.FileLine, f.Line)) {
				t.Errorf("message %q", msg)
			}
			load(t, Config{}, fixed).launch(c.kernel, x1(1), x1(c.block), c.args()...)
		})
	}
}

// A fault is the same in every run, although blocks run at once.
func TestFaultsDoNotDependOnTiming(t *testing.T) {
	p := load(t, Config{Workers: 4}, readPTX(t, "testdata/faults/broken.ptx.gz"))
	first := ""
	for range 20 {
		err := p.try("outofbounds", x1(50), x1(32), 0, int32(777), make([]float32, 777))
		if err == nil {
			t.Fatal("no fault")
		}
		if first == "" {
			first = err.Error()
		} else if before, after, _ := strings.Cut(err.Error(), " at 0x"); before != strings.SplitN(first, " at 0x",
			2)[0] ||
			after[strings.Index(after, ":"):] != strings.SplitN(first, " at 0x", 2)[1][strings.Index(after, ":"):] {
			t.Fatalf("%s\n%s", first, err)
		}
	}
	if !strings.Contains(first, "block (24,0,0), thread (9,0,0)") {
		t.Error(first)
	}
}

// Division by zero is told, and does not fail the launch.
func TestDivisionByZero(t *testing.T) {
	var notes []*Fault
	c := Config{Diagnose: func(f *Fault) { notes = append(notes, f) }}
	x := []int32{100, 100, 100, 100, 100, 100, 100, 100}
	load(t, c, readPTX(t, "testdata/faults/broken.ptx.gz")).launch("dividebyzero", x1(1), x1(8), x, int32(5))
	if want := []int32{20, 25, 33, 50, 100, -1, -100, -50}; !slices.Equal(x, want) {
		t.Errorf("quotients %v, want %v", x, want)
	}
	if len(notes) != 1 || notes[0].Kind != DivByZero || notes[0].Thread != [3]int{5} ||
		notes[0].FileLine != mistakeLines(t, "dividebyzero")[0] {
		t.Errorf("diagnostics %v", notes)
	}
	notes = nil
	load(t, c, readPTX(t, "testdata/faults/fixed.ptx.gz")).launch("dividebyzero", x1(1), x1(8), x, int32(5))
	if len(notes) != 0 {
		t.Errorf("diagnostics %v of the repaired kernel", notes)
	}
}

func TestLimits(t *testing.T) {
	p := load(t, Config{}, readPTX(t, "testdata/corpus/dynamic.sm75.ptx.gz"))
	x := make([]float32, 2048)
	for _, c := range []struct {
		grid, block [3]int
		dynamic     int
		text        string
	}{
		{x1(1), x1(1025), 0, "block of 1025 threads in x; the device takes 1 to 1024"},
		{x1(1), [3]int{32, 33, 1}, 0, "block of 1056 threads; the device takes at most 1024"},
		{x1(1), [3]int{1, 1, 65}, 0, "block of 65 threads in z; the device takes 1 to 64"},
		{[3]int{1, 65536, 1}, x1(1), 0, "grid of 65536 blocks in y; the device takes 1 to 65535"},
		{[3]int{1, 1, 65536}, x1(1), 0, "grid of 65536 blocks in z; the device takes 1 to 65535"},
		{[3]int{math.MaxInt, 1, 1}, x1(1), 0, fmt.Sprintf("grid of %d blocks in x", math.MaxInt)},
		{[3]int{0, 1, 1}, x1(1), 0, "grid of 0 blocks in x"},
		{x1(1), x1(32), 48<<10 + 1, "0 bytes of static and 49153 of dynamic shared memory; a block can have 49152"},
	} {
		var f *Fault
		err := p.try("dynamic", c.grid, c.block, c.dynamic, int32(0), x)
		if !errors.As(err, &f) || f.Kind != Limit || !strings.Contains(err.Error(), c.text) {
			t.Errorf("launch: %v, want %s", err, c.text)
		}
	}
	if err := p.try("dynamic", x1(1), x1(1024), 48<<10, int32(0), x); err != nil {
		t.Error(err)
	}
	q := load(t, Config{}, readPTX(t, "testdata/corpus/reduce.sm75.ptx.gz"))
	if err := q.try("reduce", x1(1), x1(256), 0, int32(1), x, x); err == nil ||
		!strings.Contains(err.Error(), "compiled for at most 128") {
		t.Errorf("maxntid: %v", err)
	}
	f, err := q.mod.Function("reduce")
	if err != nil {
		t.Fatal(err)
	}
	err = q.dev.Launch(f, x1(1), x1(128), 0, make([]byte, 8))
	if err == nil || !strings.Contains(err.Error(), "8 bytes of parameters; the kernel has 24") {
		t.Errorf("parameters: %v", err)
	}
}
