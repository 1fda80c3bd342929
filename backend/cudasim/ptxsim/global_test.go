package ptxsim

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
)

// A globalRace is a kernel of testdata/faults whose threads race in global memory, and where that
// is found, however many blocks run at once.
type globalRace struct {
	kernel        string
	grid          int
	block, thread int // at fault
	args          func() []any
	text          string // part of the message
}

var globalRaces = []globalRace{
	{
		"counter", 2, 0, 1, func() []any { return []any{make([]int32, 1)} },
		"0 bytes into an allocation of 4, are read, and written by thread (0,0,0) of block (0,0,0) at ",
	},
	{
		"reversed", 5, 0, 32, func() []any { return []any{make([]int32, 64), make([]int32, 64)} },
		"128 bytes into an allocation of 256, are written, and read by thread (31,0,0) of block (0,0,0) at ",
	},
	{
		"overwritten", 5, 0, 32, func() []any { return []any{ints[int32](64, 99)} },
		"are read, and written by thread (31,0,0) of block (0,0,0) at ",
	},
	{
		"blocks", 9, 1, 0, func() []any { return []any{make([]int32, 9*64)} },
		"are written, and written by thread (0,0,0) of block (0,0,0) at ",
	},
	{
		"neighbours", 8, 1, 0, func() []any { return []any{make([]int32, 8*64), make([]int32, 8*64)} },
		"thread (0,0,0) of block (0,0,0) at ",
	},
	{
		"total", 3, 0, 1, func() []any { return []any{ints[int32](64, 9), make([]int32, 2)} },
		"are written, and written by thread (0,0,0) of block (0,0,0) at ",
	},
	{
		"lateread", 5, 0, 1, func() []any { return []any{make([]int32, 1), make([]int32, 64)} },
		"are changed, and read by thread (0,0,0) of block (0,0,0) at ",
	},
	{
		"bytes", 5, 0, 1, func() []any { return []any{make([]uint8, 64)} },
		"1 bytes at 0x7f0000000100, 0 bytes into an allocation of 64, are read, and written by ",
	},
	{
		"wide", 5, 0, 13, func() []any { return []any{make([]float32, 64), make([]float32, 64)} },
		"16 bytes at 0x7f00000001d0, 208 bytes into an allocation of 256, are written, and read by thread (11,0,0) ",
	},
	{
		"passes", 5, 0, 2, func() []any { return []any{ints[int32](64, 9)} },
		"are read, and written by thread (0,0,0) of block (0,0,0) at ",
	},
}

// A race in global memory fails the launch, and the message has both places. The fixed kernels run.
func TestGlobalRaces(t *testing.T) {
	broken, fixed := readPTX(t, "testdata/faults/broken.ptx.gz"), readPTX(t, "testdata/faults/fixed.ptx.gz")
	for _, c := range globalRaces {
		t.Run(c.kernel, func(t *testing.T) {
			for i := range 8 {
				err := load(t, Config{Workers: 1 + i%4}, broken).try(c.kernel, x1(c.grid), x1(64), 0, c.args()...)
				wantGlobalRace(t, err, &c)
			}
			load(t, Config{}, fixed).launch(c.kernel, x1(1), x1(64), c.args()...)
		})
	}
}

func wantGlobalRace(t *testing.T, err error, c *globalRace) {
	t.Helper()
	var f *Fault
	if !errors.As(err, &f) || f.Kind != Race {
		t.Fatalf("launch: %v, want a race", err)
	}
	if f.Block != [3]int{c.block} || f.Thread != [3]int{c.thread} {
		t.Errorf("block %v, thread %v: %v", f.Block, f.Thread, f)
	}
	if path.Base(f.File) != "faults.cl" || !slices.Contains(mistakeLines(t, c.kernel), f.FileLine) {
		t.Errorf("%s:%d, want lines %v: %v", f.File, f.FileLine, mistakeLines(t, c.kernel), f)
	}
	with := markedLines(t, "WITH", c.kernel)
	if !slices.ContainsFunc(with, func(n int) bool { return strings.Contains(f.Text, fmt.Sprintf(".cl:%d, PTX", n)) }) {
		t.Errorf("want another of lines %v: %v", with, f)
	}
	if !strings.Contains(f.Text, c.text) {
		t.Errorf("want %q: %v", c.text, f)
	}
}

// Of two blocks that run at once and touch one word, one sees the other.
func TestGlobalRaceOfTwoBlocks(t *testing.T) {
	p := load(t, Config{Workers: 2}, readPTX(t, "testdata/faults/broken.ptx.gz"))
	for range 500 {
		if err := p.try("blocks", x1(2), x1(1), 0, make([]int32, 1)); err == nil {
			t.Fatal("no race was found")
		}
	}
}

// The numbers of blocks begin again: what was noted before then is forgotten, and races are found
// as ever.
func TestBlockNumbers(t *testing.T) {
	broken, fixed := readPTX(t, "testdata/faults/broken.ptx.gz"), readPTX(t, "testdata/faults/fixed.ptx.gz")
	c := globalRaces[slices.IndexFunc(globalRaces, func(c globalRace) bool { return c.kernel == "blocks" })]
	for _, used := range []uint64{maxBlocks - 20, maxBlocks - 11, maxBlocks - 10, maxBlocks - 9, maxBlocks - 1} {
		p := load(t, Config{}, fixed)
		bad, err := p.dev.Load(broken)
		if err != nil {
			t.Fatal(err)
		}
		x, _ := p.buffer(make([]int32, 9*64), true)
		p.launch("blocks", x1(9), x1(64), x)
		p.dev.blocks = used
		for range 5 {
			p.launch("blocks", x1(9), x1(64), x)
			if p.dev.blocks >= maxBlocks {
				t.Fatalf("%d blocks are numbered", p.dev.blocks)
			}
		}
		good := p.mod
		p.mod = bad
		wantGlobalRace(t, p.try("blocks", x1(9), x1(64), 0, x), &globalRace{"blocks", 9, 1, 0, nil, c.text})
		p.mod = good
	}
}

// Where a block passes more barriers than are counted, no race is invented.
func TestMoreBarriersThanCounted(t *testing.T) {
	p := load(t, Config{}, []byte(`.version 7.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n)
{
	.reg .b64 %x<3>;
	.reg .b32 %r<4>;
	.reg .pred %p;
	ld.param.u64 %x0, [p];
	ld.param.u32 %r0, [n];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %x1, %r1, 4;
	add.u64 %x1, %x0, %x1;
	xor.b32 %r1, %r1, 1;
	mul.wide.u32 %x2, %r1, 4;
	add.u64 %x2, %x0, %x2;
AGAIN:
	ld.global.u32 %r2, [%x2];
	bar.sync 0;
	st.global.u32 [%x1], %r2;
	bar.sync 0;
	sub.u32 %r0, %r0, 1;
	setp.ne.u32 %p, %r0, 0;
	@%p bra AGAIN;
	ret;
}
`))
	x := []int32{1, 2}
	p.launch("k", x1(1), x1(2), x, int32(maxEpochs+1))
	if x[0] != 2 || x[1] != 1 {
		t.Errorf("got %v", x)
	}
}

// A sum by compare and swap reads its first guess as it likes.
func TestCompareAndSwap(t *testing.T) {
	ptx := readPTX(t, "testdata/faults/broken.ptx.gz")
	sum := []float32{0}
	load(t, Config{Workers: 4}, ptx).launch("guess", x1(8), x1(64), sum, prefill[float32](8*64, 0.5))
	if sum[0] != 8*64/2 {
		t.Errorf("the sum is %v", sum)
	}
}
