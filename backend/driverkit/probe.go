package driverkit

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit/diskcache"
	"github.com/tandem-gpu/tandem/internal/host"
)

// What devices say of their arithmetic is not always so. A probe runs a few operations whose
// results tell right from wrong: the numerics contract's fma, multiplication and addition, with
// subnormal numbers, and without contraction.

// A Memo is what a probe found. It is kept here and in a disk cache, so that the probe runs once.
type Memo[F any] struct {
	mu    sync.Mutex
	found *F
}

// Recall is what an earlier probe found, in this process or another; nil if there was none. k is of
// all that the findings depend on.
func (m *Memo[F]) Recall(c *diskcache.Cache, k diskcache.Key) *F {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.found == nil {
		if data, ok := c.Get(k); ok {
			f := new(F)
			if json.Unmarshal(data, f) == nil {
				m.found = f
			}
		}
	}
	return m.found
}

// Find is what Recall finds, or else what probe does.
func (m *Memo[F]) Find(c *diskcache.Cache, k diskcache.Key, probe func() (*F, error)) (*F, error) {
	if f := m.Recall(c, k); f != nil {
		return f, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.found == nil {
		f, err := probe()
		if err != nil {
			return nil, err
		}
		m.found = f
		if data, err := json.Marshal(f); err == nil {
			c.Put(k, data)
		}
	}
	return m.found, nil
}

// Arithmetic is what a probe found of a device's arithmetic.
type Arithmetic struct {
	Float32, Float64         bool
	Float32Unit, Float64Unit string // as backend.Info has them
	Int8Unit                 string
	Notes                    []string
}

// Note notes what is wrong with a type, "" where nothing is, and tells whether it can be used.
func (a *Arithmetic) Note(note string) bool {
	if note != "" {
		a.Notes = append(a.Notes, note)
	}
	return note == ""
}

// Apply puts the findings into info.
func (a *Arithmetic) Apply(info *backend.Info) {
	notes := slices.Clone(a.Notes)
	if info.Note != "" {
		notes = append([]string{info.Note}, notes...)
	}
	info.Float32Unit, info.Float64Unit, info.Int8Unit = "", "", ""
	if uses, _ := host.UsesMatrix(); uses {
		info.Float32Unit, info.Float64Unit, info.Int8Unit = a.Float32Unit, a.Float64Unit, a.Int8Unit
	}
	for _, u := range [][2]string{
		{"float32", info.Float32Unit}, {"float64", info.Float64Unit}, {"int8", info.Int8Unit},
	} {
		if u[1] != "" {
			notes = append(notes, u[0]+" products by the matrix instruction "+u[1])
		}
	}
	info.Float32, info.Float64, info.Note = a.Float32, a.Float64, strings.Join(notes, "; ")
}

// results names what a probe's kernel computes of each vector.
var results = [6]string{"fma(a, b, c)", "a*b + c", "a*b", "a + c", "the integer a*b + c", "fma of a vector"}

// vectors32 is a, b, c and the correctly rounded fma(a, b, c), as bits.
var vectors32 = [][]uint32{
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
var vectors64 = [][]uint64{
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

// ProbeID identifies the vectors of Examine32 and Examine64, for the key of a Memo.
func ProbeID() string { return fmt.Sprint(vectors32, vectors64) }

func want32(v []uint32) [6]uint32 {
	a, b, c := math.Float32frombits(v[0]), math.Float32frombits(v[1]), math.Float32frombits(v[2])
	ab := a * b
	return [6]uint32{
		v[3], math.Float32bits(float32(ab) + c), math.Float32bits(ab), math.Float32bits(a + c),
		v[0]*v[1] + v[2], v[3],
	}
}

func want64(v []uint64) [6]uint64 {
	a, b, c := math.Float64frombits(v[0]), math.Float64frombits(v[1]), math.Float64frombits(v[2])
	ab, f := a*b, math.Float64bits(math.FMA(a, b, c))
	return [6]uint64{
		f, math.Float64bits(float64(ab) + c), math.Float64bits(ab), math.Float64bits(a + c),
		v[0]*v[1] + v[2], f,
	}
}

// Examine32 finds out whether the device keeps the numerics contract in float32. k takes the
// buffers in and out and a uint n. For the numbers a, b, c = in[3*i], in[3*i+1], in[3*i+2] of each
// i < n it writes the first m of these to out[m*i] and following: fma(a, b, c); a*b + c; a*b; a +
// c; a*b + c of the bits as integers; fma of vectors. note says what is wrong with them, "" where
// nothing is. in and out are what k read and wrote.
func Examine32(d *backend.Device, q *backend.Queue, k *backend.Kernel, m int,
) (in, out []uint32, note string, err error) {
	return examine(d, q, k, m, "float32", vectors32, want32, 1<<23-1)
}

// Examine64 is Examine32 for float64.
func Examine64(d *backend.Device, q *backend.Queue, k *backend.Kernel, m int,
) (in, out []uint64, note string, err error) {
	return examine(d, q, k, m, "float64", vectors64, want64, 1<<52-1)
}

// examine runs k and compares. fraction is the largest subnormal number.
func examine[W uint32 | uint64](d *backend.Device, q *backend.Queue, k *backend.Kernel, m int, typ string,
	vectors [][]W, wants func(v []W) [6]W, fraction W,
) (in, out []W, note string, err error) {
	var want []W
	for _, v := range vectors {
		w := wants(v)
		in, want = append(in, v[:3]...), append(want, w[:m]...)
	}
	out = make([]W, len(want))
	n := len(vectors)
	if err := Run(d, q, k, backend.Grid1(n, 1), backend.Bytes(in), backend.Bytes(out),
		backend.Uint32(uint32(n))); err != nil {
		return nil, nil, "", err
	}
	for i := range want {
		if out[i] == want[i] {
			continue
		}
		v := vectors[i/m]
		note := fmt.Sprintf("%s is not supported: %s of a = %#x, b = %#x, c = %#x gives %#x, not %#x",
			typ, results[i%m], v[0], v[1], v[2], out[i], want[i])
		if out[i]<<1 == 0 && want[i]&fraction<<1 == want[i]<<1 {
			note = typ + " flushes subnormals: " + note
		}
		return in, out, note, nil
	}
	return in, out, "", nil
}

// Run runs k, whose arguments are the buffers in and out, and more behind them.
func Run(d *backend.Device, q *backend.Queue, k *backend.Kernel, g backend.Grid, in, out []byte, more ...backend.Arg,
) error {
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
	if err := q.Launch(k, g, append([]backend.Arg{backend.Buf(src), backend.Buf(dst)}, more...)...); err != nil {
		return err
	}
	return q.Read(out, dst, 0)
}
