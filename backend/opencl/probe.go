package opencl

import (
	"bytes"
	"errors"
	"slices"

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
}

func (f *findings) apply(info *backend.Info) {
	f.Apply(info)
	info.UnifiedMemory = f.Unified
}

// probe is what the probe finds on d, a device of e.
func (e *entry) probe(d *device) (*findings, error) {
	return e.probed.Find(d.disk, e.probeKey(), d.examine)
}

func (e *entry) probeKey() diskcache.Key {
	return diskcache.KeyOf("probe 1", e.id, e.options, source(probeSource("float")), source(probeSource("double")),
		driverkit.ProbeID())
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
func (d *device) examine() (*findings, error) {
	f := new(findings)
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
	in, out, note, err := driverkit.Examine32(d, q, k, 6)
	if err != nil {
		return nil, err
	}
	f.Note32(note)
	if d.deviceState.Info.Float64 {
		note, err := d.examine64(q)
		if err != nil {
			return nil, err
		}
		f.Note64(note)
	}
	if d.deviceState.Info.UnifiedMemory {
		return f, d.examineMemory(f, q, k, in, out)
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
	_, _, note, err = driverkit.Examine64(d, q, k, 6)
	return note, err
}

// examineMemory finds out how the host and the device share registered memory, which is aligned to
// its elements and no more. got is what the kernel gives for in.
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

// shares tells whether the kernel sees what the host writes into registered memory, and the host
// what the kernel writes.
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
