package opencl

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit"
	"github.com/tandem-gpu/tandem/backend/driverkit/diskcache"
	"github.com/tandem-gpu/tandem/backend/opencl/cl"
)

// findings is what the probe found.
type findings struct {
	driverkit.Arithmetic
	Unified bool // registered memory works
	Mapped  bool // but the host must map it

	// How kernels are wrong, "" where they are right: as the compiler makes them, and without
	// vectors.
	Vectors, Scalars string
}

func (f *findings) apply(info *backend.Info) {
	f.Apply(info)
	info.UnifiedMemory = f.Unified
	if f.Vectors != "" {
		info.Note = strings.TrimPrefix(info.Note+"; kernels are compiled without vectorizing, and other people's in "+
			"OpenCL C without optimizing, which "+f.Vectors, "; ")
	}
}

// probe is what the probe finds on d, which stands above own.
func (own *device) probe(d *backend.Device) (*findings, error) {
	return own.probed.Find(own.disk, own.probeKey(), func() (*findings, error) { return own.examine(d) })
}

func (e *entry) probeKey() diskcache.Key {
	parts := []string{
		"probe 4", e.id, e.options, source(probeSource("float"), false), source(probeSource("double"), false),
		source(mfma32.source(), false), source(mfma64.source(), false), source(mfma8.source(), false),
		driverkit.ProbeID(),
	}
	for _, t := range traps {
		parts = append(parts, source(&t.src, true))
	}
	return diskcache.KeyOf(parts...)
}

// probeText computes what driverkit.Examine32 asks for.
const probeText = `__kernel void probe(__global const WORD *in, __global WORD *out, const uint n)
{
	const size_t i = get_global_id(0);
	if (i >= n) return;
	const REAL a = AS_REAL(in[3*i]), b = AS_REAL(in[3*i + 1]), c = AS_REAL(in[3*i + 2]);
	out[6*i] = AS_WORD(fma(a, b, c));
	out[6*i + 1] = AS_WORD(a * b + c);
	out[6*i + 2] = AS_WORD(a * b);
	out[6*i + 3] = AS_WORD(a + c);
	out[6*i + 4] = in[3*i] * in[3*i + 1] + in[3*i + 2];
	out[6*i + 5] = AS_WORD(fma(REAL4(a, a, a, a), REAL4(b, b, b, b), REAL4(c, c, c, c)).w);
}
`

func probeSource(typ string) *backend.Source {
	word := map[string]string{"float": "uint", "double": "ulong"}[typ]
	return &backend.Source{Name: "probe", File: "probe_" + typ + ".cl", Text: probeText, Macros: map[string]string{
		"REAL": typ, "WORD": word, "REAL4": "make_" + typ + "4", "AS_REAL": "as_" + typ, "AS_WORD": "as_" + word,
	}}
}

// examine runs the probe on d, whose info is still what the driver claims.
func (own *device) examine(d *backend.Device) (*findings, error) {
	f := new(findings)
	q, err := d.NewQueue()
	if err != nil {
		return nil, err
	}
	defer q.Close()
	if err := own.examineTraps(f, d, q); err != nil || f.Scalars != "" {
		return f, err
	}
	k, err := d.Compile(probeSource("float"))
	if err != nil {
		return nil, err
	}
	defer k.Release()
	in, out, note, err := driverkit.Examine32(d, q, k, 6)
	if err != nil {
		return nil, err
	}
	f.Float32 = f.Note(note)
	if own.info.Float64 {
		note, err := examine64(d, q)
		if err != nil {
			return nil, err
		}
		f.Float64 = f.Note(note)
	}
	if err := own.examineUnits(f, d, q); err != nil {
		return nil, err
	}
	if own.info.UnifiedMemory {
		return f, own.examineMemory(f, d, q, k, in, out)
	}
	return f, nil
}

// A trap is a kernel that some compiler gets wrong: of (out, n, most) it makes element i < n of
// out, which is 0, want.
type trap struct {
	src  backend.Source
	want func(i, most int32) int32
	goes string // what goes wrong there
}

// traps are mistakes of Intel's compiler for processors (2026.2). In vectors of any width the store
// of branch takes values of other turns of the loop. Without, it adds up in another order, as in
// sums, and takes a condition on what is negated for the whole group's behind a barrier, as in
// behind.
var traps = []trap{
	{
		goes: "goes wrong where work-items leave a loop at different times", want: branch,
		src: backend.Source{Name: "branch", File: "probe_branch.cl", Text: `
int turns(int cx, int cy, int most)
{
	int x = 0, y = 0;
	for (int t = 0; t < most; t++) {
		int x2 = x*x/64, y2 = y*y/64;
		if (x2 + y2 > 256) return t;
		y = 2*(x*y/64) + cy;
		x = x2 - y2 + cx;
	}
	return most;
}

__kernel void branch(__global int *out, const int n, const int most)
{
	int i = get_global_id(0);
	if (i < n) {
		int t = turns(3*(i & 63) - 144, 3*(i >> 6) - 64, most);
		if (t < most) out[i] = t + 1;
	}
}
`},
	},
	{
		goes: "adds floats in another order", want: func(i, most int32) int32 {
			s := float32(0)
			for j := range most {
				s += math.Float32frombits(uint32(i*j*40503&0x7fffff | 0x3f800000))
			}
			return int32(math.Float32bits(s))
		},
		src: backend.Source{Name: "sums", File: "probe_sums.cl", Text: `
__kernel void sums(__global int *out, const int n, const int most)
{
	int i = get_global_id(0);
	if (i >= n) return;
	float s = 0;
	for (int j = 0; j < most; j++) s += as_float(i*j*40503 & 0x7fffff | 0x3f800000);
	out[i] = as_int(s);
}
`},
	},
	behind,
}

// behind is what kernels of Tandem and from Go do not have.
var behind = trap{
	goes: "goes wrong where what was negated before a barrier decides behind it", want: func(i, most int32) int32 {
		if -float32(i*37&63) < float32(most-80) {
			return 1
		}
		return 0
	},
	src: backend.Source{Name: "behind", File: "probe_behind.cl", Text: `
__kernel void behind(__global int *out, const int n, const int most)
{
	int i = get_global_id(0);
	float v = -(float)(i*37 & 63);
	barrier(CLK_LOCAL_MEM_FENCE);
	if (v < (float)(most - 80)) out[i] = 1;
}
`},
}

// branch is what the kernel writes for i.
func branch(i, most int32) int32 {
	cx, cy := 3*(i&63)-144, 3*(i>>6)-64
	var x, y int32
	for t := range most {
		x2, y2 := x*x/64, y*y/64
		if x2+y2 > 256 {
			return t + 1
		}
		x, y = x2-y2+cx, 2*(x*y/64)+cy
	}
	return 0
}

// examineTraps finds out whether kernels are right as the compiler makes them, and if not, whether
// they are without vectors; the device is left that way.
func (own *device) examineTraps(f *findings, d *backend.Device, q *backend.Queue) (err error) {
	own.scalar = false
	for _, t := range traps {
		if f.Vectors, err = t.run(d, q); err != nil {
			return err
		}
		if f.Vectors != "" {
			own.scalar = true
			f.Scalars, err = runTraps(d, q)
			return err
		}
	}
	return nil
}

// runTraps says how kernels are wrong, of Tandem and of others, "" where they are right.
func runTraps(d *backend.Device, q *backend.Queue) (wrong string, err error) {
	for _, t := range traps {
		if wrong, err = t.run(d, q); err != nil || wrong != "" {
			return wrong, err
		}
		if t.src.Name == behind.src.Name {
			continue
		}
		t.src.Params = []backend.Param{{Buffer: true}, {Size: 4}, {Size: 4}} // as Tandem's declare them
		if wrong, err = t.run(d, q); err != nil || wrong != "" {
			return wrong, err
		}
	}
	return "", nil
}

// run says how t is wrong, "" where it is not.
func (t *trap) run(d *backend.Device, q *backend.Queue) (wrong string, err error) {
	const n, most = 64*64 - 3, 50
	k, err := d.Compile(&t.src)
	if err != nil {
		return "", err
	}
	defer k.Release()
	info := d.Info()
	group := min(64, info.MaxGroup, info.MaxGroupDims[0])
	groups := (n + group - 1) / group
	b, err := d.Alloc(int64(4 * groups * group))
	if err != nil {
		return "", err
	}
	defer b.Free()
	if err := q.Launch(k, backend.Grid1(groups, group), backend.Buf(b), backend.Int32(n),
		backend.Int32(most)); err != nil {
		return "", err
	}
	out := make([]int32, n)
	if err := q.Read(backend.Bytes(out), b, 0); err != nil {
		return "", err
	}
	for i, got := range out {
		if want := t.want(int32(i), most); got != want {
			return fmt.Sprintf("%s (number %d is %d, not %d)", t.goes, i, got, want), nil
		}
	}
	return "", nil
}

func examine64(d *backend.Device, q *backend.Queue) (note string, err error) {
	k, err := d.Compile(probeSource("double"))
	if errors.Is(err, backend.ErrBuild) {
		return "float64 does not build", nil
	}
	if err != nil {
		return "", err
	}
	defer k.Release()
	_, _, note, err = driverkit.Examine64(d, q, k, 6)
	return note, err
}

// examineMemory finds out how the host and the device share registered memory, which is aligned to
// its elements and no more. got is what the kernel gives for in.
func (own *device) examineMemory(f *findings, d *backend.Device, q *backend.Queue, k *backend.Kernel, in, got []uint32,
) error {
	for _, own.mapped = range []bool{false, true} {
		if !own.mapped && own.kind&cl.DeviceTypeCPU == 0 {
			continue // OpenCL asks for mapping; that it seems to work without means nothing
		}
		shared, err := shares(d, q, k, in, got)
		if err != nil && !errors.Is(err, backend.ErrArgument) && !errors.Is(err, backend.ErrUnsupported) {
			return err // no word about this way of sharing
		}
		if shared {
			f.Unified, f.Mapped = true, own.mapped
			return nil
		}
	}
	f.Notes = append(f.Notes, "host memory cannot be registered: the device demands a larger alignment, or copies it")
	return nil
}

// shares tells whether the kernel sees what the host writes into registered memory, and the host
// what the kernel writes.
func shares(d *backend.Device, q *backend.Queue, k *backend.Kernel, in, got []uint32) (bool, error) {
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
		if err := q.Launch(k, backend.Grid1(n, 1), backend.Buf(hostSrc), backend.Buf(hostDst),
			backend.Uint32(uint32(n))); err != nil {
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
