package ptxsim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// kernel is PTX of one kernel k with a pointer %out, the thread's number %tid, and the registers
// %r0-9, %rd0-9, %f0-9, %p0-9.
func kernel(module, body string) string {
	return ".version 8.0\n.target sm_75\n.address_size 64\n" + module + `
.visible .entry k(.param .u64 out_param)
{
	.reg .b64 %out, %rd<10>;
	.reg .b32 %tid, %r<10>;
	.reg .f32 %f<10>;
	.reg .pred %p<10>;
	ld.param.u64 %out, [out_param];
	mov.u32 %tid, %tid.x;
	mad.wide.u32 %out, %tid, 4, %out;
` + body + "\nret;\n}\n"
}

func TestExecution(t *testing.T) {
	for _, c := range []struct {
		name, module, body string
		threads            int
		want               []uint32
	}{
		{"brx", "", `mov.u32 %r0, 99; setp.gt.u32 %p0, %tid, 2; @%p0 bra D; brx.idx %tid, T;
			T: .branchtargets A, B, C;
			A: mov.u32 %r0, 10; bra.uni D;
			B: mov.u32 %r0, 20;
			C: add.u32 %r0, %r0, 5;
			D: st.global.u32 [%out], %r0;`, 4, []uint32{10, 25, 104, 99}},
		{"scopes", "", `mov.u32 %r0, 1; { .reg .b32 %r0; mov.u32 %r0, 5; bra X; mov.u32 %r0, 6;
			X: st.global.u32 [%out], %r0; }
			{ bra X; X: ld.global.u32 %r1, [%out]; add.u32 %r0, %r0, %r1; }
			st.global.u32 [%out], %r0;`, 1, []uint32{6}},
		{
			"guards", "", `setp.eq.u32 %p0, %tid, 1; mov.u32 %r0, 3; @%p0 mov.u32 %r0, 4; @!%p0 add.u32 %r0, %r0, 7;
			st.global.u32 [%out], %r0;`,
			2,
			[]uint32{10, 4},
		},
		{
			"call", `.func (.param .b32 ret) twice(.param .b32 x) { .reg .b32 %a; ld.param.b32 %a, [x];
			shl.b32 %a, %a, 1;
			st.param.b32 [ret], %a; ret; }`,
			`.param .b32 a; .param .b32 b; st.param.b32 [a], %tid; call.uni (b), twice, (a); ld.param.b32 %r0, [b];
			st.global.u32 [%out], %r0;`,
			3,
			[]uint32{0, 2, 4},
		},
		{
			"prototype", `.extern .func (.param .b32 ret) late(.param .b32 x);`,
			`st.global.u32 [%out], 1;`, 1,
			[]uint32{1},
		},
		{"generic shared", "", `.shared .align 8 .b8 s[64]; .reg .b64 %g; mov.u64 %rd0, s; cvta.shared.u64 %g, %rd0;
			mad.wide.u32 %rd1, %tid, 4, %g; add.u32 %r0, %tid, 100; st.u32 [%rd1], %r0; bar.sync 0;
			xor.b32 %r1, %tid, 1;
			mad.wide.u32 %rd2, %r1, 4, %g; ld.u32 %r2, [%rd2]; isspacep.shared %p0, %rd2; isspacep.global %p1, %rd2;
			@!%p0 mov.u32 %r2, 0; @%p1 mov.u32 %r2, 0; cvta.to.shared.u64 %rd3, %rd2; ld.shared.u32 %r3, [%rd3];
			add.u32 %r2, %r2, %r3;
			st.global.u32 [%out], %r2;`, 2, []uint32{202, 200}},
		{"generic local", "", `.local .align 4 .b8 l[16]; mov.u64 %rd0, l; cvta.local.u64 %rd1, %rd0;
			st.u32 [%rd1+8], %tid;
			ld.local.u32 %r0, [l+8];
			add.u32 %r0, %r0, 1; st.global.u32 [%out], %r0;`, 2, []uint32{1, 2}},
		{
			"initialisers", `.global .align 4 .b8 bytes[8] = {1, 2, 0xff, 4};
			.const .align 4 .s32 words[2][2] = {{-1, 7}, {3}};
			.global .u64 pointer = words; .global .u64 second[1] = {generic(words)+4}; .global .f32 real = 0f3F800000;`,
			`ld.global.u8 %r0, [bytes+2]; ld.global.u64 %rd0, [pointer]; ld.const.s32 %r1, [%rd0+8];
			ld.global.u64 %rd1, [second];
			ld.u32 %r2, [%rd1];
			ld.global.f32 %f0, [real]; cvt.rzi.u32.f32 %r3, %f0; add.u32 %r0, %r0, %r1; add.u32 %r0, %r0, %r2;
			add.u32 %r0, %r0, %r3;
			ld.global.u8 %r4, [bytes+7]; add.u32 %r0, %r0, %r4; st.global.u32 [%out], %r0;`, 1,
			[]uint32{255 + 3 + 7 + 1},
		},
		{"vectors", `.global .align 16 .b8 v[16];`, `st.global.v4.u8 [v], {1, 2, 3, 4}; ld.global.u32 %r0, [v];
			st.global.v2.b32 [v+8], {%r0, 5};
			ld.global.v2.b16 {%r1, %r2}, [v+8]; ld.global.v2.u32 {%r3, _}, [v+8]; sub.u32 %r3, %r3, %r0;
			add.u32 %r1, %r1, %r2;
			add.u32 %r1, %r1, %r3;
			st.global.u32 [%out], %r1;`, 1, []uint32{0x0201 + 0x0403}},
		{"signed loads", `.global .align 4 .b8 v[4] = {0xff, 0x80, 1, 2};`, `ld.global.s8 %r0, [v];
			ld.global.s16 %rd0, [v]; cvt.u32.u64 %r1, %rd0;
			add.u32 %r0, %r0, %r1; st.global.u32 [%out], %r0;`, 1, []uint32{0xffffffff + 0xffff80ff - 1<<32}},
		{
			"atomics", `.global .u32 n = 5;`, `atom.global.inc.u32 %r0, [n], 6; st.global.u32 [%out], %r0;`, 5,
			[]uint32{5, 6, 0, 1, 2},
		},
		{
			"dec", `.global .u32 n = 1;`, `atom.global.dec.u32 %r0, [n], 9; st.global.u32 [%out], %r0;`, 3,
			[]uint32{1, 0, 9},
		},
		{
			"cas", `.global .u32 n = 1;`, `atom.global.cas.b32 %r0, [n], %tid, 7; st.global.u32 [%out], %r0;`, 3,
			[]uint32{1, 1, 7},
		},
		{
			"float atomics", `.global .u32 n = 1;`, `.shared .f32 s; setp.eq.u32 %p0, %tid, 0;
			@%p0 st.shared.u32 [s], 1; bar.sync 0;
			atom.shared.add.f32 %f0, [s], 0f00000001; atom.global.add.f32 %f1, [n], 0f3F800000; bar.sync 0;
			ld.shared.u32 %r0, [s]; st.global.u32 [%out], %r0; @%p0 ld.global.u32 %r1, [n];
			@%p0 st.global.u32 [%out], %r1;`,
			3,
			[]uint32{0x40400000, 4, 4},
		}, // subnormal numbers stay in shared memory and are flushed in global
		{
			"bar.red", "", `setp.gt.u32 %p0, %tid, 20; bar.red.popc.u32 %r0, 0, %p0; bar.red.and.pred %p1, 0, %p0;
			bar.red.or.pred %p2, 0, !%p0;
			selp.u32 %r1, 100, 0, %p1; selp.u32 %r2, 1000, 0, %p2; add.u32 %r0, %r0, %r1; add.u32 %r0, %r0, %r2;
			st.global.u32 [%out], %r0;`,
			40, slices.Repeat([]uint32{1019}, 40),
		},
		{"named barriers", "", `.shared .u32 s; setp.lt.u32 %p0, %tid, 32; @%p0 bra A; setp.eq.u32 %p1, %tid, 40;
			@%p1 st.shared.u32 [s], 9; barrier.arrive 3, 64; bra B;
			A: barrier.sync 3, 64; ld.shared.u32 %r0, [s]; st.global.u32 [%out], %r0;
			B: `, 64, append(slices.Repeat([]uint32{9}, 32), make([]uint32, 32)...)},
		{"spinning", `.global .u32 f = 0;`, `setp.eq.u32 %p0, %tid, 1; @%p0 bra W; L: ld.volatile.global.u32 %r0, [f];
			setp.eq.u32 %p1, %r0, 0; @%p1 bra L;
			st.global.u32 [%out], %r0; ret; W: st.volatile.global.u32 [f], 4;
			st.global.u32 [%out], 1;`, 2, []uint32{4, 1}},
		{"specials", "", `mov.u32 %r0, %laneid; mov.u32 %r1, %warpid; mad.lo.u32 %r0, %r1, 100, %r0;
			mov.u32 %r2, %lanemask_lt;
			popc.b32 %r2, %r2;
			sub.u32 %r0, %r0, %r2; mov.u32 %r3, %ntid.x; add.u32 %r0, %r0, %r3; mov.u32 %r4, %nctaid.y;
			add.u32 %r0, %r0, %r4;
			mov.u64 %rd0, %clock64;
			st.global.u32 [%out], %r0;`, 34, append(slices.Repeat([]uint32{35}, 32), 135, 135)},
		{"lane masks", "", `mov.u32 %r0, %lanemask_gt; mov.u32 %r1, %lanemask_ge; mov.u32 %r2, %lanemask_le;
			mov.u32 %r3, %lanemask_eq; xor.b32 %r4, %r0, %r1;
			sub.u32 %r4, %r4, %r3; add.u32 %r2, %r2, %r0; add.u32 %r2, %r2, 1; add.u32 %r0, %r0, %r4;
			add.u32 %r0, %r0, %r2;
			st.global.u32 [%out], %r0;`, 3, []uint32{1<<32 - 2, 1<<32 - 4, 1<<32 - 8}},
		{"shuffles", "", `shfl.sync.idx.b32 %r0, %tid, 3, 31, -1; shfl.sync.down.b32 %r1|%p0, %tid, 1, 0x1c1f, -1;
			@!%p0 mov.u32 %r1, 50;
			add.u32 %r0, %r0, %r1; match.any.sync.b32 %r2, %r1, -1; popc.b32 %r2, %r2; mad.lo.u32 %r0, %r2, 100, %r0;
			redux.sync.max.u32 %r3, %tid, -1; mad.lo.u32 %r0, %r3, 1000, %r0; bar.warp.sync -1; activemask.b32 %r4;
			st.global.u32 [%out], %r0;`, 8, []uint32{7104, 7105, 7106, 7253, 7108, 7109, 7110, 7253}},
		{
			"extern shared", `.extern .shared .align 16 .b8 dyn[];`,
			`.shared .b8 first[3]; mov.u32 %r0, dyn; st.global.u32 [%out], %r0;`, 1,
			[]uint32{32},
		},
		{"wide kernel end", "", `setp.eq.u32 %p0, %tid, 0; st.global.u32 [%out], 2; @%p0 exit;
			st.global.u32 [%out], 3;`, 2, []uint32{2, 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := make([]uint32, c.threads)
			load(t, Config{}, []byte(kernel(c.module, c.body))).launch("k", x1(1), x1(c.threads), got)
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// Faults that compilers do not produce easily.
func TestExecutionFaults(t *testing.T) {
	for _, c := range []struct {
		name, module, body string
		kind               Kind
		text               string
	}{
		{"null", "", "mov.u64 %rd0, 0; ld.global.u32 %r0, [%rd0];", OutOfBounds, "a null pointer"},
		{"before", "", "ld.global.u32 %r0, [%out+-4];", OutOfBounds, "4 bytes before an allocation of 128 bytes"},
		{
			"wild", "", "mov.u64 %rd0, 0x7fffffffffffff00; st.global.u32 [%rd0], 0;", OutOfBounds,
			"no device memory is there",
		},
		{"generic null", "", "mov.u64 %rd0, 8; st.u32 [%rd0], 0;", OutOfBounds, "null pointer"},
		{
			"local", "", ".local .b8 l[8]; st.local.u32 [l+8], 0;", OutOfBounds,
			"4 bytes at 0x8 of local memory, which has 8 bytes",
		},
		{
			"local below", "", ".local .b8 l[8]; mov.u64 %rd0, l; ld.local.u32 %r0, [%rd0+-4];", OutOfBounds,
			"of local memory",
		},
		{
			"shared wrap", "", ".shared .b8 s[8]; mov.u64 %rd0, -4; ld.shared.u32 %r0, [%rd0];", OutOfBounds,
			"no array is there",
		},
		{
			"between arrays", "", ".shared .b8 a[8]; .shared .b8 b[8]; st.shared.u32 [a+8], 0;", OutOfBounds,
			"4 bytes at shared a+8, which has 8 bytes: no array",
		},
		{
			"a byte between arrays", "", ".shared .b8 a[8]; .shared .b8 b[8]; st.shared.u8 [a+9], 0;", OutOfBounds,
			"1 bytes at shared a+9, which has 8 bytes: no array",
		},
		{
			"behind the last array", "", ".shared .b8 a[8]; .shared .b8 b[8]; ld.shared.u32 %r0, [b+8];", OutOfBounds,
			"shared b+8, which has 8 bytes",
		},
		{
			"parameters", "", "ld.param.u32 %r0, [out_param+8];", OutOfBounds,
			"of the parameter memory, which has 8 bytes",
		},
		{"vector", "", "ld.global.v2.u32 {%r0, %r1}, [%out+4];", Misaligned, "not a multiple of the access's 8 bytes"},
		{
			"shared misaligned", "", ".shared .align 8 .b8 s[8]; st.shared.u16 [s+1], 0;", Misaligned,
			"shared address 0x1",
		},
		{"trap", "", "trap;", Trap, "stopped itself"},
		{"recursion", ".func f() { call f; ret; }", "call f;", Limit, "256 calls deep"},
		{
			"index", "", "brx.idx 1, T; T: .branchtargets A; A: ret;", OutOfBounds,
			"index 1 of a branch to one of 1 targets",
		},
		{"barrier", "", "bar.sync 16;", Limit, "barrier 16"},
		{"count", "", "bar.sync 0, 33;", Limit, "multiple of 32"},
		{
			"byte race", "", `.shared .align 4 .b8 s[4]; shr.u32 %r0, %tid, 4; cvt.u64.u32 %rd0, %r0; mov.u64 %rd1, s;
			add.u64 %rd0, %rd0, %rd1; st.shared.u8 [%rd0], 1;`,
			Race, "1 bytes at shared s+0 are written, which thread (0,0,0) has used",
		},
		{
			"word and byte", "", `.shared .align 4 .b8 s[4]; setp.eq.u32 %p0, %tid, 3; @%p0 st.shared.u8 [s+2], 1;
			setp.eq.u32 %p1, %tid, 9; @%p1 st.shared.u32 [s], 1;`,
			Race, "4 bytes at shared s+0 are written, which thread (3,0,0) has used",
		},
		{"write after reads", "", `.shared .align 4 .b8 s[4]; setp.eq.u32 %p0, %tid, 3; @%p0 st.shared.u32 [s], 1;
			bar.sync 0;
			ld.shared.u32 %r0, [s];
			@%p0 st.shared.u32 [s], 1;`, Race, "which several other threads have used"},
		{
			"lanes", "", "setp.eq.u32 %p0, %tid, 3; @!%p0 bar.warp.sync -1;", DivergentBarrier,
			"thread (3,0,0) has exited",
		},
		{"own lane", "", "bar.warp.sync 2;", DivergentBarrier, "the thread's own lane 0"},
		{
			"partial uninitialised", "", `.shared .align 4 .b8 s[4]; setp.eq.u32 %p0, %tid, 3;
			@%p0 st.shared.u8 [s+2], 1;
			bar.sync 0; ld.shared.u32 %r0, [s];`,
			Uninitialised, "4 bytes at shared s+0",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := kernel(c.module, "\n"+c.body)
			err := load(t, Config{}, []byte(text)).try("k", x1(1), x1(32), 0, make([]uint32, 32))
			var f *Fault
			if !errors.As(err, &f) || f.Kind != c.kind || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("launch: %v, want %v with %s", err, c.kind, c.text)
			}
			if line := strings.Split(text, "\n")[f.Line-1]; f.Function == "" && !strings.Contains(line, ";") {
				t.Errorf("PTX line %d is %q", f.Line, line)
			}
		})
	}
}

// Use of disjoint bytes of a word, atomics with atomics, and use before and after a barrier are no
// races.
func TestNoRace(t *testing.T) {
	for name, body := range map[string]string{
		"bytes": `.shared .align 4 .b8 s[32]; cvt.u64.u32 %rd0, %tid; mov.u64 %rd1, s; add.u64 %rd0, %rd0, %rd1;
			st.shared.u8 [%rd0], 1; ld.shared.u8 %r0, [%rd0];`,
		"atomics": `.shared .u32 s; setp.eq.u32 %p0, %tid, 3; @%p0 st.shared.u32 [s], 0; bar.sync 0;
			red.shared.add.u32 [s], 1; atom.shared.max.u32 %r0, [s], 3; bar.sync 0; ld.shared.u32 %r0, [s];`,
		"barrier": `.shared .u32 s; setp.eq.u32 %p0, %tid, 3; @%p0 st.shared.u32 [s], 0; bar.sync 0;
			ld.shared.u32 %r0, [s];
			bar.sync 0; @!%p0 bra X; st.shared.u32 [s], 1; X: `,
		"own": `.shared .u32 s; setp.eq.u32 %p0, %tid, 3; @!%p0 ret; st.shared.u32 [s], 0; red.shared.add.u32 [s], 1;
			ld.shared.u32 %r0, [s]; st.shared.u8 [s], 1; ld.shared.u16 %r0, [s];`,
		"warps": ".shared .u32 s; setp.eq.u32 %p0, %tid, 3; @%p0 st.shared.u32 [s], 5; bar.warp.sync -1; " +
			"ld.shared.u32 %r0, [s];",
		"many threads": `.shared .u32 s; st.shared.u32 [s], 5; L: ld.shared.u32 %r0, [s]; add.u32 %r1, %r1, 1;
			setp.lt.u32 %p0, %r1, 40; @%p0 bra L;`,
	} {
		threads := 32
		if name == "many threads" {
			threads = 1
		}
		if err := load(t, Config{}, []byte(kernel("", body))).try("k", x1(2), x1(threads), 0,
			make([]uint32, 32)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Barriers are counted in 20 bits; the count begins again.
func TestManyBarriers(t *testing.T) {
	s := &shared{}
	s.reset(8)
	s.epoch = lastEpoch - 1
	for i := range 4 {
		if _, ok := s.use(0, 4, 1, accessWrite); !ok {
			t.Fatalf("write by one thread after %d barriers", i)
		}
		if _, ok := s.use(0, 4, 2, accessRead); ok {
			t.Fatalf("no race after %d barriers", i)
		}
		s.barrier()
		if _, ok := s.use(0, 4, 2, accessRead); !ok {
			t.Fatalf("race across a barrier after %d barriers", i)
		}
		s.barrier()
	}
}

func TestLoadErrors(t *testing.T) {
	for body, want := range map[string]string{
		"frobnicate.u32 %r0, %r1;":                         "unknown instruction frobnicate.u32",
		"add.f16 %r0, %r1, %r2;":                           "unknown instruction add.f16",
		"add.rn.u32 %r0, %r1, %r2;":                        "unknown instruction add.rn.u32",
		"wmma.load.a.sync.f16 {%r0}, [%rd0];":              "unknown instruction wmma.load.a.sync.f16",
		"fma.f32 %f0, %f1, %f2, %f3;":                      "unknown instruction fma.f32",
		"mov.u32 %r0, %nope;":                              "there is no %nope",
		"mov.u32 %nope, 1;":                                "there is no register %nope",
		"mov.u32 %r10, 1;":                                 "there is no register %r10",
		"add.u32 %r0, %r1;":                                "add has 2 operands, not 3",
		"add.u32 %p0, %r1, %r2;":                           "register %p0 of type .pred cannot take a .u32",
		"add.u64 %rd0, %r1, %rd2;":                         "register %r1 of type .b32 is not a .u64",
		"add.f32 %f0, %f1, 1;":                             "a number in the instruction is not a .f32",
		"bra NOWHERE;":                                     "there is no label NOWHERE",
		"brx.idx %r0, NOWHERE;":                            "there is no list of branch targets NOWHERE",
		"X: X: ret;":                                       "label X is defined twice",
		".reg .b32 %r0; .reg .b32 %r0;":                    "%r0 is declared twice",
		"@%r0 ret;":                                        "%r0 is not a predicate register",
		"call (a), f, (b);":                                "call of f, which is not a function of the module",
		"call printf, (b);":                                "call of printf",
		"ld.global.u32 %r0, %rd0;":                         "ld needs an address in brackets",
		"ld.global.v2.u32 %r0, [%rd0];":                    "as many registers in braces",
		"ld.shared.u32 %r0, [out_param];":                  "out_param is in another state space",
		"ld.global.u32 %r0, [%f0];":                        "register %f0 of type .f32 is not an address",
		"lop3.b32 %r0, %r1, %r2, %r3, 256;":                "from 0 to 255",
		"add.u32 %r0, %r1, %r2":                            `expected ";"`,
		".local .b8 l[1000000];":                           "a thread can have 524288",
		"st.global.u32 [%rd0], 0f3F800000; .frob;":         `unknown directive ".frob"`,
		"mov.u32 %r0, \x01;":                               "unexpected character",
		".shared .u32 s = 5;":                              "s is shared and has an initialiser",
		"prmt.b32.foo %r0, %r1, %r2, %r3;":                 "unknown instruction prmt.b32.foo",
		"atom.global.add.s64 %rd0, [%rd1], %rd2, %rd3;":    "atom.add has 4 operands, not 3",
		"cvta.param.u64 %rd0, %rd1;":                       "unknown instruction cvta.param.u64",
		"tex.2d.v4.f32.f32 {%f0,%f1,%f2,%f3}, [t, {%f0}];": "expected",
	} {
		text := kernel("", "// the next line is wrong\n"+body)
		line := strings.Count(text[:strings.Index(text, body)], "\n") + 1
		_, err := New(Config{}).Load([]byte(text))
		var p *ParseError
		if !errors.As(err, &p) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", body, err, want)
		} else if p.Line != line && p.Line != line+1 {
			t.Errorf("%s: line %d, want %d", body, p.Line, line)
		}
	}
	for text, want := range map[string]string{
		"":                               "no .target",
		"hello":                          `unknown directive "hello"`,
		".target sm_75 .version":         "expected a number after .version",
		".target sm_75 .address_size 32": "only 64 are simulated",
		".target sm_75 .global .u32 a; .global .u32 a;":       "a is declared twice",
		".target sm_75 .extern .global .u32 a;":               "other modules are not simulated",
		".target sm_75 .const .b8 a[65537];":                  "a module can have 65536",
		".target sm_75 .entry k() {":                          `expected an instruction, found "end of file"`,
		".target sm_75 .entry k() {} .entry k() {}":           "k is defined twice",
		".target sm_75 /* ":                                   "a comment does not end",
		".target sm_75 .file 1 \"a\n":                         "a string does not end",
		".target sm_75 .section .debug { { }":                 "a section does not end",
		".target sm_75 .global .u8 a[2] = {1, 2, 3};":         "too many for 2 bytes",
		".target sm_75 .global .u32 a = nothing;":             "address of nothing",
		".target sm_75 .entry k(.param .align 3 .b8 a[3]) {}": "an alignment of 3",
	} {
		if _, err := New(Config{}).Load([]byte(text)); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "ptx line ") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	d := New(Config{Memory: 1000})
	if _, err := d.Load([]byte(".target sm_75 .global .b8 a[900]; .global .b8 b[900];")); !errors.Is(err,
		ErrOutOfMemory) {
		t.Errorf("too much memory: %v", err)
	}
	if free, _ := d.memoryInfo(); free != 1000 {
		t.Errorf("a failed Load keeps %d bytes", 1000-free)
	}
}

// Blocks of a kernel that takes tickets run in order, whatever the number of workers.
func TestOrderOfTickets(t *testing.T) {
	text := kernel(".global .u32 n;", `atom.global.add.u32 %r0, [n], 1; mov.u32 %r1, %ctaid.x;
		mul.wide.u32 %rd0, %r1, 4;
			add.u64 %out, %out, %rd0;
		st.global.u32 [%out], %r0;`)
	for workers := range 4 {
		got := make([]uint32, 200)
		load(t, Config{Workers: workers + 1}, []byte(text)).launch("k", x1(200), x1(1), got)
		for i, v := range got {
			if v != uint32(i) {
				t.Fatalf("%d workers: block %d drew ticket %d", workers+1, i, v)
			}
		}
	}
}

// The grid's three dimensions reach the kernel.
func TestGrid(t *testing.T) {
	text := kernel("", `mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ctaid.y; mov.u32 %r2, %ctaid.z; mov.u32 %r3, %nctaid.x;
		mov.u32 %r4, %nctaid.y;
		mad.lo.u32 %r5, %r2, %r4, %r1; mad.lo.u32 %r5, %r5, %r3, %r0; mov.u32 %r6, %tid.z; mad.lo.u32 %r6, %r6, 3, %tid;
			mov.u32 %r7, %tid.y;
		mad.lo.u32 %r5, %r5, 12, %r6; mad.lo.u32 %r5, %r7, 6, %r5; ld.param.u64 %out, [out_param];
		mad.wide.u32 %rd0, %r5, 4, %out;
		st.global.u32 [%rd0], %r5;`)
	got := make([]uint32, 2*3*4*12)
	load(t, Config{}, []byte(text)).launch("k", [3]int{2, 3, 4}, [3]int{3, 2, 2}, got)
	for i, v := range got {
		if v != uint32(i) {
			t.Fatalf("element %d is %d", i, v)
		}
	}
}

func TestMessages(t *testing.T) {
	f := &Fault{
		Kind: Race, Kernel: "k", Function: "f", Line: 7, File: "a.cl", FileLine: 3, Block: [3]int{1, 2, 3},
		Thread: [3]int{4, 5, 6}, Text: "text",
	}
	if want := "kernel k: data race: text (a.cl:3, PTX line 7 in f, block (1,2,3), thread (4,5,6))"; f.Error() != want {
		t.Errorf("%s, want %s", f, want)
	}
	for k := range DivByZero + 1 {
		if k > 0 && (k.String() == kindNames[0] || k.String() == "") {
			t.Errorf("kind %d has no name", k)
		}
	}
	if fmt.Sprint(Kind(99)) != kindNames[0] {
		t.Error("a kind beyond the last has a name")
	}
}
