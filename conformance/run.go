package conformance

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/kernels"
)

//go:embed golden.json
var goldenJSON []byte

// Golden is the digest of every case, by name. It is read only.
func Golden() map[string]string {
	g := map[string]string{}
	if err := json.Unmarshal(goldenJSON, &g); err != nil {
		panic(fmt.Sprintf("conformance: golden.json: %v", err))
	}
	return g
}

// Options change what Run runs.
type Options struct {
	Quick bool // the small cases alone, with the parameters that the device gets by itself
	Every bool // not Quick: every set of parameters of the tuning data that the device can run, instead of those that it may be given
	// Match tells which cases to run; nil is all of them.
	Match func(*Case) bool
	// Helpers are connections to other processes that call Serve for the same device. They take a share of the work, which then goes on in several processes: many compilers work
	// on one thing at a time in a process. Run closes them. One that does not answer at all, or has another device, is done without.
	Helpers []io.ReadWriteCloser
	// Progress is called as the work goes on, in the first place with a done of 0: done of total runs, of a case with a set of parameters, are behind. It may be nil. No two
	// calls are at the same time.
	Progress func(done, total int)
}

// A Report is what Run found on a device.
type Report struct {
	Device   backend.Info `json:"device"`
	Cases    int          `json:"cases"`    // run
	Variants int          `json:"variants"` // run: a case for each set of parameters
	Skipped  int          `json:"skipped"`  // cases of types that the device refuses, as its Info says
	Failures []Failure    `json:"failures"`
	Digest   string       `json:"digest"` // the overall digest of the cases run, as the package says
	Golden   string       `json:"golden"` // what it must be
	Quick    bool         `json:"quick"`
}

// Passed tells whether every result was right.
func (r *Report) Passed() bool { return len(r.Failures) == 0 && r.Digest == r.Golden }

// A Failure is a case whose result is wrong, or that could not be run.
type Failure struct {
	Case   string `json:"case"`
	Params string `json:"params,omitempty"` // the kernel's parameters, where they are not the device's own choice
	Digest string `json:"digest,omitempty"`
	Golden string `json:"golden,omitempty"`
	Error  string `json:"error,omitempty"`
}

// Run runs the cases on dev and compares their digests with the golden ones. Wrong results are in the Report; the error is ctx's, or one that stops everything: a
// closed or lost device, or a helper that ended before its work was done. dev is used by the caller's goroutine alone.
func Run(ctx context.Context, dev backend.Device, o Options) (*Report, error) {
	r := &Report{Device: dev.Info(), Quick: o.Quick, Failures: []Failure{}}
	jobs := r.plan(o)
	if err := share(ctx, dev, jobs, o); err != nil {
		return nil, err
	}
	r.judge(jobs)
	return r, nil
}

// plan lists what is to be run, in the order of the cases, and counts it.
func (r *Report) plan(o Options) (jobs []*job) {
	for _, c := range Cases() {
		switch {
		case o.Quick && !c.Quick || o.Match != nil && !o.Match(c):
			continue
		case !c.Type.Supported(&r.Device):
			r.Skipped++
			continue
		}
		r.Cases++
		for _, v := range c.variants(&r.Device, o) {
			jobs = append(jobs, &job{c: c, v: v})
		}
	}
	r.Variants = len(jobs)
	return jobs
}

// judge compares the results of the jobs with the golden ones.
func (r *Report) judge(jobs []*job) {
	golden := Golden()
	got, want := sha256.New(), sha256.New()
	for _, j := range jobs {
		name, result := j.c.Name(), j.digest
		switch {
		case j.err != nil:
			r.Failures = append(r.Failures, Failure{Case: name, Params: j.v.params, Error: j.err.Error()})
			result = "none"
		case result != golden[name]:
			r.Failures = append(r.Failures, Failure{Case: name, Params: j.v.params, Digest: result, Golden: golden[name]})
		}
		if j.v.params == "" {
			fmt.Fprintf(got, "%s %s\n", name, result)
			fmt.Fprintf(want, "%s %s\n", name, golden[name])
		}
	}
	r.Digest, r.Golden = hex.EncodeToString(got.Sum(nil)), hex.EncodeToString(want.Sum(nil))
}

// run computes the case on a session and returns the digest of its result. k is v's kernel.
func (c *Case) run(x *session, k backend.Kernel, v variant) (string, error) {
	switch c.Type {
	case kernels.Float32:
		return run[float32](c, x, k, v)
	case kernels.Float64:
		return run[float64](c, x, k, v)
	}
	return run[int32](c, x, k, v)
}

// poison fills what must not change, and outputs before they are written: as a float it is a NaN, so that reading it shows.
const poison = 0xff

// margin is how many elements of poison follow each operand.
const margin = 64

// An operandBuffer is a matrix in the layout of the case, on the device and as it was written there.
type operandBuffer[T host.Element] struct {
	matrix[T]
	buffer backend.Buffer
	stride int
	before []byte
}

func place[T host.Element](c *Case, x *session, m matrix[T], contents bool) (*operandBuffer[T], error) {
	stride := max(m.cols+c.gap, 1)
	data := make([]T, c.offset+m.rows*stride+margin)
	o := &operandBuffer[T]{matrix: m, stride: stride, before: backend.Bytes(data)}
	for i := range o.before {
		o.before[i] = poison
	}
	if contents {
		for i := range m.rows {
			copy(data[c.offset+i*stride:], m.data[i*m.cols:(i+1)*m.cols])
		}
	}
	var err error
	if o.buffer, err = x.dev.Alloc(int64(len(o.before))); err != nil {
		return nil, err
	}
	if err := x.q.Write(o.buffer, 0, o.before); err != nil {
		o.buffer.Free()
		return nil, err
	}
	return o, nil
}

func (o *operandBuffer[T]) operand(c *Case) kernels.Operand {
	return kernels.Operand{Buffer: o.buffer, Offset: int64(c.offset), Stride: int64(o.stride)}
}

// read returns the matrix as it is now, and an error where anything around it has changed.
func (o *operandBuffer[T]) read(c *Case, q backend.Queue) ([]T, error) {
	data := make([]T, len(backend.Elems[T](o.before)))
	if err := q.Read(backend.Bytes(data), o.buffer, 0); err != nil {
		return nil, err
	}
	result := make([]T, 0, o.rows*o.cols)
	around := backend.Elems[T](bytes.Clone(o.before))
	for i := range o.rows {
		row := data[c.offset+i*o.stride:][:o.cols]
		result = append(result, row...)
		copy(around[c.offset+i*o.stride:], row)
	}
	if i := firstDifference(backend.Bytes(data), backend.Bytes(around)); i >= 0 {
		return nil, fmt.Errorf("byte %d of an operand of %dx%d, offset %d, stride %d, was written though it is outside", i, o.rows, o.cols, c.offset, o.stride)
	}
	return result, nil
}

func firstDifference(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

func run[T host.Element](c *Case, x *session, k backend.Kernel, v variant) (string, error) {
	a, b, out := operands[T](c)
	var placed []*operandBuffer[T]
	defer func() {
		for _, o := range placed {
			o.buffer.Free()
		}
	}()
	for i, m := range []matrix[T]{a, b, out} {
		o, err := place(c, x, m, i < 2 || c.beta != 0)
		if err != nil {
			return "", err
		}
		placed = append(placed, o)
	}
	if err := x.q.Launch(k, v.grid, arguments(c, placed[0].operand(c), placed[1].operand(c), placed[2].operand(c), T(c.alpha), T(c.beta))...); err != nil {
		return "", err
	}
	for _, o := range placed[:2] {
		if err := o.unchanged(x.q); err != nil {
			return "", err
		}
	}
	result, err := placed[2].read(c, x.q)
	if err != nil {
		return "", err
	}
	return digest(result), nil
}

func (o *operandBuffer[T]) unchanged(q backend.Queue) error {
	now := make([]byte, len(o.before))
	if err := q.Read(now, o.buffer, 0); err != nil {
		return err
	}
	if i := firstDifference(now, o.before); i >= 0 {
		return fmt.Errorf("byte %d of a source of %dx%d was written", i, o.rows, o.cols)
	}
	return nil
}

func arguments[T host.Element](c *Case, a, b, out kernels.Operand, alpha, beta T) []backend.Arg {
	rows, cols := int64(c.M), int64(c.N)
	switch {
	case c.Kernel == "matmul":
		return kernels.MatMulArgs(nil, c.M, c.N, c.K, alpha, a, b, beta, out)
	case c.product():
		return kernels.ProductArgs(nil, c.M, c.N, c.K, a, b, out)
	case c.transpose():
		return kernels.TransposeArgs(nil, c.M, c.N, a, out)
	case c.Kernel == "add":
		return kernels.AddArgs(nil, rows, cols, a, b, out)
	}
	return kernels.ScaleArgs(nil, rows, cols, alpha, a, out)
}

// digest is the SHA-256 of packed elements, little-endian, with every NaN the same.
func digest[T host.Element](data []T) string {
	h := sha256.New()
	for _, v := range data {
		writeElement(h, v)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func writeElement[T host.Element](w io.Writer, v T) {
	var b [8]byte
	switch v := any(v).(type) {
	case float32:
		u := math.Float32bits(v)
		if v != v {
			u = 0x7fc00000
		}
		binary.LittleEndian.PutUint32(b[:], u)
		w.Write(b[:4])
	case float64:
		u := math.Float64bits(v)
		if v != v {
			u = 0x7ff8000000000000
		}
		binary.LittleEndian.PutUint64(b[:], u)
		w.Write(b[:])
	case int32:
		binary.LittleEndian.PutUint32(b[:], uint32(v))
		w.Write(b[:4])
	}
}
