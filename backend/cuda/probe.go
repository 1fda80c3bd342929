package cuda

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/diskcache"
)

// What devices say of their arithmetic is not always so. A probe runs a few operations whose results tell right from wrong:
// the numerics contract's fma, multiplication and addition, with subnormal numbers, and without contraction. It comes as PTX, so that it
// needs no compiler.

// findings is what the probe found.
type findings struct {
	Float32, Float64 bool
	Notes            []string
}

func (f *findings) apply(info *backend.Info) {
	notes := f.Notes
	if info.Note != "" {
		notes = append([]string{info.Note}, notes...)
	}
	info.Float32, info.Float64, info.Note = f.Float32, f.Float64, strings.Join(notes, "; ")
}

// probe is what the probe finds on d, a device of e. It runs once: its findings are kept here and in the disk cache.
func (e *entry) probe(d *device) (*findings, error) {
	if f := e.remembered(); f != nil {
		return f, nil
	}
	e.probing.Lock()
	defer e.probing.Unlock()
	if e.found == nil {
		f, err := d.examine()
		if err != nil {
			return nil, err
		}
		e.found = f
		if data, err := json.Marshal(f); err == nil {
			d.disk.Put(e.probeKey(), data)
		}
	}
	return e.found, nil
}

// remembered is what an earlier probe found, in this process or another; nil if there was none.
func (e *entry) remembered() *findings {
	e.probing.Lock()
	defer e.probing.Unlock()
	if e.found == nil {
		if data, ok := diskcache.Open(diskFolder).Get(e.probeKey()); ok {
			f := new(findings)
			if json.Unmarshal(data, f) == nil {
				e.found = f
			}
		}
	}
	return e.found
}

func (e *entry) probeKey() diskcache.Key {
	return diskcache.KeyOf("probe 1", e.id, string(probePTX("f32")), string(probePTX("f64")), fmt.Sprint(vectors32, vectors64))
}

// probeText computes out[5*i ...] from a, b, c = in[3*i ...] for i < n: see operations. FT is a float type, BT and ST integers of its size,
// LOG the logarithm of that.
const probeText = `.version 6.4
.target sm_50
.address_size 64

.visible .entry probe(.param .u64 .ptr .global .align 8 in, .param .u64 .ptr .global .align 8 out, .param .u32 n)
{
	.reg .pred %p;
	.reg .b32 %i, %n, %size, %item;
	.reg .b64 %in, %out, %off;
	.reg .FT %a, %b, %c, %r;
	.reg .BT %x, %y, %z;
	ld.param.u64 %in, [in];
	ld.param.u64 %out, [out];
	ld.param.u32 %n, [n];
	cvta.to.global.u64 %in, %in;
	cvta.to.global.u64 %out, %out;
	mov.u32 %i, %ctaid.x;
	mov.u32 %size, %ntid.x;
	mov.u32 %item, %tid.x;
	mad.lo.u32 %i, %i, %size, %item;
	setp.ge.u32 %p, %i, %n;
	@%p bra DONE;
	mul.wide.u32 %off, %i, 3*SIZE;
	add.u64 %in, %in, %off;
	mul.wide.u32 %off, %i, 5*SIZE;
	add.u64 %out, %out, %off;
	ld.global.BT %x, [%in];
	ld.global.BT %y, [%in+SIZE];
	ld.global.BT %z, [%in+2*SIZE];
	mov.BT %a, %x;
	mov.BT %b, %y;
	mov.BT %c, %z;
	fma.rn.FT %r, %a, %b, %c;
	st.global.FT [%out], %r;
	mul.rn.FT %r, %a, %b;
	st.global.FT [%out+2*SIZE], %r;
	add.rn.FT %r, %r, %c;
	st.global.FT [%out+SIZE], %r;
	add.rn.FT %r, %a, %c;
	st.global.FT [%out+3*SIZE], %r;
	mad.lo.ST %x, %x, %y, %z;
	st.global.BT [%out+4*SIZE], %x;
DONE:
	ret;
}
`

// operations names the five results of a vector.
var operations = [5]string{"fma(a, b, c)", "a*b + c", "a*b", "a + c", "the integer a*b + c"}

// probePTX is the probe for "f32" or "f64".
func probePTX(float string) []byte {
	bits, size := float[1:], map[string]int{"f32": 4, "f64": 8}[float]
	var pairs []string
	for n := 5; n > 1; n-- {
		pairs = append(pairs, fmt.Sprintf("%d*SIZE", n), strconv.Itoa(n*size))
	}
	pairs = append(pairs, "SIZE", strconv.Itoa(size), "FT", float, "BT", "b"+bits, "ST", "s"+bits)
	return []byte(strings.NewReplacer(pairs...).Replace(probeText))
}

func probeSource(float string) *backend.Source {
	return &backend.Source{
		Name: "probe", File: "probe_" + float + ".ptx", PTX: probePTX(float),
		Params: []backend.Param{{Name: "in", Buffer: true}, {Name: "out", Buffer: true}, {Name: "n", Size: 4}},
	}
}

// vectors32 is a, b, c and the correctly rounded fma(a, b, c), as bits.
var vectors32 = [][4]uint32{
	{0x3f800800, 0x3f800800, 0x21800000, 0x3f801001}, // rounded twice: 0x3f801000
	{0xbf800800, 0x3f800800, 0xa1800000, 0xbf801001},
	{0x3f800800, 0x3f800800, 0xbf801000, 0x33800000}, // a*b + c is 0
	{0x3f800001, 0x3f800001, 0xbf800002, 0x28800000},
	{0x7f7fffff, 0x40000000, 0xff7fffff, 0x7f7fffff}, // a*b + c is infinite
	{0x7f800000, 0x3f800000, 0x3f800000, 0x7f800000},
	{0x3f800000, 0x80000000, 0x80000000, 0x80000000}, // -0
	{0x8d800000, 0x0d800000, 0x00000000, 0x80000000}, // a product that underflows to -0; a*b + c is +0
	{0x0d800000, 0x0d800000, 0x80000000, 0x00000000},
	{0x0d800000, 0x29000000, 0x00000000, 0x00000010}, // a subnormal product
	{0x00000001, 0x3f800000, 0x00000001, 0x00000002}, // subnormal operands
	{0x00000001, 0x40000000, 0x80000001, 0x00000001},
	{0x807fffff, 0x3f800000, 0x00000001, 0x807ffffe},
	{0x00400000, 0x4b000000, 0x3f800000, 0x3f800000}, // a subnormal factor of a normal product
	{0x00800001, 0x3f000000, 0x00000000, 0x00400000}, // ties among subnormals
	{0x00800003, 0x3f000000, 0x00000000, 0x00400002},
	{0x00000003, 0x3f000000, 0x00000000, 0x00000002},
	{0x00000001, 0x3f000000, 0x80000000, 0x00000000},
	{0x1a800001, 0x25000001, 0x00000001, 0x00400002},
	{0xa16c3f25, 0x1d3108da, 0x80661e92, 0x807a8a8c}, // subnormal sums
	{0xa1ab894c, 0x1c1442fd, 0x002d968d, 0x00276109},
	{0x20f4e81e, 0x1d6a156a, 0x0050a1e9, 0x005ea0f3},
	{0xa1e29a0f, 0x225a8581, 0x0066cb39, 0x84c10692},
	{0x1f8b0d22, 0x222780ea, 0x0009c167, 0x02372f5b},
	{0x3654502f, 0x19ae17f7, 0x999f6f78, 0x999f6f54}, // sums of a like size
	{0x36fa71f5, 0x1d025e11, 0x96ad92fa, 0x96a59a5c},
	{0xb3ce91e9, 0x2234a4b2, 0x17d21858, 0x17ada779},
	{0x3529ee07, 0x1fbed31f, 0x99b92d01, 0x99b8ae56},
}

// vectors64 is a, b, c. math.FMA is correctly rounded.
var vectors64 = [][3]uint64{
	{0x3ff0000002000000, 0x3ff0000002000000, 0x3870000000000000}, // rounded twice if through a wider type
	{0x3ff0000002000000, 0x3ff0000002000000, 0xbff0000004000000}, // a*b + c is 0
	{0x3ff0000000000001, 0x3ff0000000000001, 0xbff0000000000002},
	{0x7fefffffffffffff, 0x4000000000000000, 0xffefffffffffffff}, // a*b + c is infinite
	{0x7ff0000000000000, 0x3ff0000000000000, 0x3ff0000000000000},
	{0x3ff0000000000000, 0x8000000000000000, 0x8000000000000000}, // -0
	{0x9b00000000000000, 0x1b00000000000000, 0x0000000000000000}, // a product that underflows to -0; a*b + c is +0
	{0x1b00000000000000, 0x24f0000000000000, 0x0000000000000000}, // a subnormal product
	{0x0000000000000001, 0x3ff0000000000000, 0x0000000000000001}, // subnormal operands
	{0x0000000000000001, 0x4000000000000000, 0x8000000000000001},
	{0x800fffffffffffff, 0x3ff0000000000000, 0x0000000000000001},
	{0x0008000000000000, 0x4340000000000000, 0x3ff0000000000000}, // a subnormal factor of a normal product
	{0x0010000000000001, 0x3fe0000000000000, 0x0000000000000000}, // ties among subnormals
	{0x0010000000000003, 0x3fe0000000000000, 0x0000000000000000},
	{0x0000000000000003, 0x3fe0000000000000, 0x0000000000000000},
	{0x9e5b0d2233445566, 0x21a780ea99887766, 0x8009c16712345678}, // subnormal sums
	{0x3f5a8a0512345678, 0x3cb5c2fe87654321, 0xbc23edef0fedcba9}, // sums of a like size
}

func want32(v [4]uint32) [5]uint32 {
	a, b, c := math.Float32frombits(v[0]), math.Float32frombits(v[1]), math.Float32frombits(v[2])
	ab := a * b
	return [5]uint32{v[3], math.Float32bits(float32(ab) + c), math.Float32bits(ab), math.Float32bits(a + c), v[0]*v[1] + v[2]}
}

func want64(v [3]uint64) [5]uint64 {
	a, b, c := math.Float64frombits(v[0]), math.Float64frombits(v[1]), math.Float64frombits(v[2])
	ab, f := a*b, math.Float64bits(math.FMA(a, b, c))
	return [5]uint64{f, math.Float64bits(float64(ab) + c), math.Float64bits(ab), math.Float64bits(a + c), v[0]*v[1] + v[2]}
}

// examine runs the probe on d, whose info is still what the driver claims.
func (d *device) examine() (*findings, error) {
	var in32, want32s []uint32
	for _, v := range vectors32 {
		w := want32(v)
		in32, want32s = append(in32, v[:3]...), append(want32s, w[:]...)
	}
	var in64, want64s []uint64
	for _, v := range vectors64 {
		w := want64(v)
		in64, want64s = append(in64, v[:]...), append(want64s, w[:]...)
	}
	got32, got64 := make([]uint32, len(want32s)), make([]uint64, len(want64s))
	q, err := d.NewQueue()
	if err != nil {
		return nil, err
	}
	defer q.Close()
	if err := evaluate(d, q, probeSource("f32"), len(vectors32), backend.Bytes(in32), backend.Bytes(got32)); err != nil {
		return nil, err
	}
	if err := evaluate(d, q, probeSource("f64"), len(vectors64), backend.Bytes(in64), backend.Bytes(got64)); err != nil {
		return nil, err
	}
	note32, note64 := compare("float32", in32, got32, want32s, 0x007fffff), compare("float64", in64, got64, want64s, 1<<52-1)
	f := &findings{Float32: note32 == "", Float64: note64 == ""}
	for _, note := range []string{note32, note64} {
		if note != "" {
			f.Notes = append(f.Notes, note)
		}
	}
	return f, nil
}

// evaluate runs a probe on n vectors.
func evaluate(d *device, q backend.Queue, s *backend.Source, n int, in, out []byte) error {
	k, err := d.Compile(s)
	if err != nil {
		return err
	}
	defer k.Release()
	src, err := d.Alloc(int64(len(in)))
	if err != nil {
		return err
	}
	defer src.Free()
	dst, err := d.Alloc(int64(len(out)))
	if err != nil {
		return err
	}
	defer dst.Free()
	if err := q.Write(src, 0, in); err != nil {
		return err
	}
	if err := q.Launch(k, backend.Grid1(n, 1), backend.Buf(src), backend.Buf(dst), backend.Uint32(uint32(n))); err != nil {
		return err
	}
	return q.Read(out, dst, 0)
}

// compare says what is wrong with got, "" where nothing is. fraction is the largest subnormal number.
func compare[W uint32 | uint64](typ string, in, got, want []W, fraction W) string {
	for i := range want {
		if got[i] == want[i] {
			continue
		}
		v := in[i/5*3:]
		note := fmt.Sprintf("%s is not supported: %s of a = %#x, b = %#x, c = %#x gives %#x, not %#x",
			typ, operations[i%5], v[0], v[1], v[2], got[i], want[i])
		if got[i]<<1 == 0 && want[i]&fraction<<1 == want[i]<<1 {
			note = typ + " flushes subnormals: " + note
		}
		return note
	}
	return ""
}
