package opencl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/opencl/cl"
	"github.com/tandem-gpu/tandem/internal/diskcache"
)

// What devices say of their arithmetic is not always so. A probe runs a few operations whose results tell right from wrong:
// the numerics contract's fma, multiplication and addition, with subnormal numbers, and without contraction.

// findings is what the probe found.
type findings struct {
	Float32, Float64 bool
	Unified          bool // registered memory works
	Mapped           bool // but the host must map it
	Notes            []string
}

func (f *findings) apply(info *backend.Info) {
	info.Float32, info.Float64, info.UnifiedMemory = f.Float32, f.Float64, f.Unified
	info.Note = strings.Join(f.Notes, "; ")
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
		if data, ok := diskcache.Open(driverName).Get(e.probeKey()); ok {
			f := new(findings)
			if json.Unmarshal(data, f) == nil {
				e.found = f
			}
		}
	}
	return e.found
}

func (e *entry) probeKey() diskcache.Key {
	return diskcache.KeyOf("probe 1", e.id, e.options, source(probeSource("float")), source(probeSource("double")),
		fmt.Sprint(vectors32, vectors64))
}

const probeText = `__kernel void probe(__global const WORD *in, __global WORD *out, const uint n)
{
	const size_t i = get_global_id(0);
	if (i >= n) return;
	const REAL a = AS_REAL(in[3*i]), b = AS_REAL(in[3*i + 1]), c = AS_REAL(in[3*i + 2]);
	out[6*i] = AS_WORD(fma(a, b, c));
	out[6*i + 1] = AS_WORD(fma(REAL4(a, a, a, a), REAL4(b, b, b, b), REAL4(c, c, c, c)).w);
	out[6*i + 2] = AS_WORD(a * b + c);
	out[6*i + 3] = AS_WORD(a * b);
	out[6*i + 4] = AS_WORD(a + c);
	out[6*i + 5] = in[3*i] * in[3*i + 1] + in[3*i + 2];
}
`

// operations names the six results of a vector.
var operations = [6]string{"fma(a, b, c)", "fma of a vector", "a*b + c", "a*b", "a + c", "the integer a*b + c"}

func probeSource(real string) *backend.Source {
	word := map[string]string{"float": "uint", "double": "ulong"}[real]
	return &backend.Source{Name: "probe", File: "probe_" + real + ".cl", Text: probeText, Macros: map[string]string{
		"REAL": real, "WORD": word, "REAL4": "make_" + real + "4", "AS_REAL": "as_" + real, "AS_WORD": "as_" + word,
	}}
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

func want32(v [4]uint32) [6]uint32 {
	a, b, c := math.Float32frombits(v[0]), math.Float32frombits(v[1]), math.Float32frombits(v[2])
	ab := a * b
	return [6]uint32{v[3], v[3], math.Float32bits(float32(ab) + c), math.Float32bits(ab), math.Float32bits(a + c), v[0]*v[1] + v[2]}
}

func want64(v [3]uint64) [6]uint64 {
	a, b, c := math.Float64frombits(v[0]), math.Float64frombits(v[1]), math.Float64frombits(v[2])
	ab, f := a*b, math.Float64bits(math.FMA(a, b, c))
	return [6]uint64{f, f, math.Float64bits(float64(ab) + c), math.Float64bits(ab), math.Float64bits(a + c), v[0]*v[1] + v[2]}
}

// examine runs the probe on d, whose info is still what the driver claims.
func (d *device) examine() (*findings, error) {
	f := new(findings)
	var in32, want []uint32
	for _, v := range vectors32 {
		w := want32(v)
		in32, want = append(in32, v[:3]...), append(want, w[:]...)
	}
	q, err := d.NewQueue()
	if err != nil {
		return nil, err
	}
	defer q.Close()
	k, err := d.Compile(probeSource("float"))
	if err != nil {
		return nil, err
	}
	defer k.Release()
	got := make([]uint32, len(want))
	if err := evaluate(d, q, k, len(vectors32), backend.Bytes(in32), backend.Bytes(got)); err != nil {
		return nil, err
	}
	if note := compare("float32", in32, got, want, 0x007fffff); note != "" {
		f.Notes = append(f.Notes, note)
	}
	f.Float32 = len(f.Notes) == 0
	if d.info.Float64 {
		note, err := d.examine64(q)
		if err != nil {
			return nil, err
		}
		if f.Float64 = note == ""; !f.Float64 {
			f.Notes = append(f.Notes, note)
		}
	}
	if d.info.UnifiedMemory {
		return f, d.examineMemory(f, q, k, in32, got)
	}
	return f, nil
}

func (d *device) examine64(q backend.Queue) (note string, err error) {
	k, err := d.Compile(probeSource("double"))
	if errors.Is(err, backend.ErrBuild) {
		return "float64 does not build", nil
	}
	if err != nil {
		return "", err
	}
	defer k.Release()
	var in, want []uint64
	for _, v := range vectors64 {
		w := want64(v)
		in, want = append(in, v[:]...), append(want, w[:]...)
	}
	got := make([]uint64, len(want))
	if err := evaluate(d, q, k, len(vectors64), backend.Bytes(in), backend.Bytes(got)); err != nil {
		return "", err
	}
	return compare("float64", in, got, want, 1<<52-1), nil
}

// evaluate runs the probe's kernel k on n vectors.
func evaluate(d *device, q backend.Queue, k backend.Kernel, n int, in, out []byte) error {
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
		v := in[i/6*3:]
		note := fmt.Sprintf("%s is not supported: %s of a = %#x, b = %#x, c = %#x gives %#x, not %#x",
			typ, operations[i%6], v[0], v[1], v[2], got[i], want[i])
		if got[i]<<1 == 0 && want[i]&fraction<<1 == want[i]<<1 {
			note = typ + " flushes subnormals: " + note
		}
		return note
	}
	return ""
}

// examineMemory finds out how the host and the device share registered memory, which is aligned to its elements and no more.
// got is what the kernel gives for in.
func (d *device) examineMemory(f *findings, q backend.Queue, k backend.Kernel, in, got []uint32) error {
	for _, d.mapped = range []bool{false, true} {
		if !d.mapped && d.kind&cl.DeviceTypeCPU == 0 {
			continue // OpenCL asks for mapping; that it seems to work without means nothing
		}
		shared, err := d.shares(q, k, in, got)
		if err != nil && !errors.Is(err, backend.ErrArgument) && !errors.Is(err, backend.ErrUnsupported) {
			return err // no word about this way of sharing
		}
		if shared {
			f.Unified, f.Mapped = true, d.mapped
			return nil
		}
	}
	f.Notes = append(f.Notes, "host memory cannot be registered: the device demands a larger alignment, or copies it")
	return nil
}

// shares tells whether the kernel sees what the host writes into registered memory, and the host what the kernel writes.
func (d *device) shares(q backend.Queue, k backend.Kernel, in, got []uint32) (bool, error) {
	src, dst := make([]uint32, 1+len(in))[1:], make([]uint32, 1+len(got))[1:]
	copy(src, in)
	hostSrc, err := d.Register(backend.Bytes(src))
	if err != nil {
		return false, err
	}
	defer hostSrc.Free()
	hostDst, err := d.Register(backend.Bytes(dst))
	if err != nil {
		return false, err
	}
	defer hostDst.Free()
	n := len(in) / 3
	for range 2 {
		if err := q.Launch(k, backend.Grid1(n, 1), backend.Buf(hostSrc), backend.Buf(hostDst), backend.Uint32(uint32(n))); err != nil {
			return false, err
		}
		if err := q.Wait(); err != nil {
			return false, err
		}
		if !bytes.Equal(backend.Bytes(dst), backend.Bytes(got)) {
			return false, nil
		}
		in, got = rotate(in, 3), rotate(got, 6) // the second time with the vectors in another order
		copy(src, in)
	}
	return true, nil
}

func rotate(s []uint32, n int) []uint32 { return slices.Concat(s[n:], s[:n]) }
