package ptxsim

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// mmaKernel is a kernel of one mma of types such as "f64.f64.f64.f64", whose operands are 20
// numbers of each thread in 8 bytes each, one after another: a, b and c. The guard may keep threads
// away from it.
func mmaKernel(shape, types, guard string) string {
	s, bits := mmaShapes[shape], types[1:3]
	n := [4]int{s.m / 4, s.m * s.k / 32, s.k / 4, s.m / 4}
	loads, args, at := "", "", 0
	for i, name := range []string{"d", "a", "b", "c"} {
		list := ""
		for j := range n[i] {
			list += fmt.Sprintf(", %%%s%d", name, j)
			if i > 0 {
				loads += fmt.Sprintf("ld.global.b%s %%%s%d, [%%in+%d];\n", bits, name, j, 8*at)
				at++
			}
		}
		args += ", {" + list[2:] + "}"
	}
	text := ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out) {\n" +
		".reg .b64 %in, %out; .reg .b32 %tid; .reg .pred %p; .reg .b" + bits + " %a<8>, %b<4>, %c<4>, %d<4>;\n" +
		"ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %tid, %tid.x; setp.ne.u32 %p, %tid, 3;\n" +
		"mad.wide.u32 %in, %tid, 160, %in; mad.wide.u32 %out, %tid, 32, %out;\n" + loads +
		guard + "mma.sync.aligned." + shape + ".row.col." + types + " " + args[2:] + ";\n"
	for i := range n[0] {
		text += fmt.Sprintf("st.global.b%s [%%out+%d], %%d%d;\n", bits, 8*i, i)
	}
	return text + "ret;\n}\n"
}

// The result of mma is the product of the matrices that the threads hold parts of.
func TestMMA(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	number := func() uint64 { return math.Float64bits(math.Ldexp(rng.Float64()-0.5, rng.IntN(60)-30)) }
	chain := func(a, b, c uint64) uint64 {
		return bits64(math.FMA(math.Float64frombits(a), math.Float64frombits(b), math.Float64frombits(c)))
	}
	for shape, s := range mmaShapes {
		if !s.bytes {
			testMMA(t, shape, "f64.f64.f64.f64", number, chain)
		}
	}
	word := func() uint64 { return uint64(rng.Uint32()) }
	for _, a := range []string{"s8", "u8"} {
		for _, b := range []string{"s8", "u8"} {
			testMMA(t, "m16n8k32", "s32."+a+"."+b+".s32", word, func(x, y, sum uint64) uint64 {
				for range 4 {
					sum += byteOf(a, x) * byteOf(b, y)
					x, y = x>>8, y>>8
				}
				return uint64(uint32(sum)) // wraps
			})
		}
	}
}

// byteOf is the lowest byte of x, modulo 2^64.
func byteOf(typ string, x uint64) uint64 {
	if x &= 0xff; typ == "s8" && x >= 128 {
		x -= 256
	}
	return x
}

func testMMA(t *testing.T, shape, types string, number func() uint64, add func(a, b, c uint64) uint64) {
	s := mmaShapes[shape]
	var a, b, c [16][16]uint64
	for i := range 16 {
		for j := range 16 {
			a[i][j], b[i][j], c[i][j] = number(), number(), number()
		}
	}
	if !s.bytes {
		a[5][2], c[7][7] = math.Float64bits(math.NaN()), 1 // and the smallest number
	}
	in, got := make([]uint64, 32*20), make([]uint64, 32*4)
	for lane := range 32 {
		group, member := lane/4, lane%4
		var v []uint64
		for k := member; k < s.k; k += 4 {
			for row := group; row < s.m; row += 8 {
				v = append(v, a[row][k])
			}
		}
		for k := member; k < s.k; k += 4 {
			v = append(v, b[k][group])
		}
		for row := group; row < s.m; row += 8 {
			v = append(v, c[row][2*member], c[row][2*member+1])
		}
		copy(in[20*lane:], v)
	}
	p := load(t, Config{Arch: 90}, []byte(mmaKernel(shape, types, "")))
	p.launch("k", x1(1), x1(32), in, got)
	for row := range s.m {
		for col := range 8 {
			want := c[row][col]
			for k := range s.k {
				want = add(a[row][k], b[k][col], want)
			}
			if x := got[4*(row%8*4+col/2)+row/8*2+col%2]; x != want {
				t.Fatalf("%s.%s: (%d,%d) is %#x, want %#x", shape, types, row, col, x, want)
			}
		}
	}
}

// What is no mma of the simulated GPU is an error before it runs.
func TestUnknownMMA(t *testing.T) {
	for _, c := range []struct{ shape, types, target, want string }{
		{"m16n8k32", "satfinite.s32.s8.s8.s32", "sm_90", "unknown instruction"},
		{"m16n8k32", "s32.s8.s4.s32", "sm_90", "unknown instruction"},
		{"m16n8k32", "s32.s8.s8.s32.rn", "sm_90", "unknown instruction"},
		{"m16n8k32", "f64.f64.f64.f64", "sm_90", "unknown instruction"},
		{"m16n8k4", "s32.s8.s8.s32", "sm_90", "unknown instruction"},
		{"m16n8k32", "s32.s8.s8.s32", "sm_75", "needs .target sm_80 or higher"},
		{"m16n8k32", "s32.s8.s8.s32", "sm_80", ""},
	} {
		text := strings.Replace(mmaKernel(c.shape, "s32.s8.s8.s32", ""), "s32.s8.s8.s32", c.types, 1)
		_, err := New(Config{Arch: 90}).Load([]byte(strings.Replace(text, "sm_90", c.target, 1)))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestMMAFaults(t *testing.T) {
	for _, c := range []struct {
		guard   string
		threads int
		text    string
	}{
		{"@%p ", 32, "mma needs all 32 threads of the warp, but thread (3,0,0) has exited"},
		{"", 24, "mma needs all 32 threads of the warp, which has 24"},
		{"@!%p bar.sync 0;\n", 32, "while thread (0,0,0) waits at the mma of PTX line"},
	} {
		err := load(t, Config{Arch: 90}, []byte(mmaKernel("m16n8k8", "f64.f64.f64.f64", c.guard))).try("k", x1(1),
			x1(c.threads), 0, make([]float64, 640), make([]float64, 128))
		var f *Fault
		if !errors.As(err, &f) || f.Kind != DivergentBarrier || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%q: %v, want %q", c.guard, err, c.text)
		}
	}
}

// Instructions are for the GPUs that have them.
func TestDotNeedsTarget(t *testing.T) {
	const text = ".version 7.0\n.target %s\n.address_size 64\n.visible .entry k() {\n.reg .b32 %%r<4>;\n" +
		"mov.u32 %%r1, 1;\ndp4a.u32.s32 %%r0, %%r1, %%r1, %%r1;\nret;\n}\n"
	for target, want := range map[string]string{"sm_60": "dp4a needs .target sm_61 or higher", "sm_61": ""} {
		_, err := New(Config{Arch: 90}).Load(fmt.Appendf(nil, text, target))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", target, err, want)
		}
	}
}
