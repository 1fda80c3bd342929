package conformance

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
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
	// not Quick: every set of parameters of the tuning data that the device can run, instead of
	// those that it may be given
	Every bool
	// Elementary has the elementary functions, which the cases name as package gpu does: those of
	// package array are array.Elementary. nil leaves their cases out.
	Elementary func(name string) *kernels.Elementwise
	// Arrays gives what computes operations of package array on a device: conformance/arrays.On. It
	// is called once. Results are packed elements of the operands' type; nil leaves those out.
	Arrays func(dev *backend.Device) (func(*ArrayOperation) (any, error), error)
	// Match tells which cases to run; nil is all of them.
	Match func(*Case) bool
	// Limit is how long one run, and the compilation before it, may take; 0 is without end. Beyond
	// it Run returns ErrTimeout.
	Limit time.Duration
	// Progress is called as the work goes on, in the first place with a done of 0: done of total
	// runs, of a case with a set of parameters, are behind. It may be nil. No two calls are at the
	// same time.
	Progress func(done, total int)
}

// A Report is what Run found on a device.
type Report struct {
	Device   backend.Info `json:"device"`
	Cases    int          `json:"cases"`    // run
	Variants int          `json:"variants"` // run: a case for each set of parameters
	Skipped  int          `json:"skipped"`  // cases of types that the device refuses, or that need them
	NotRun   int          `json:"not_run"`  // variants that were left when an error stopped everything
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

// ErrTimeout is a run that took longer than the limit. The device still works on it: closing the
// device would wait.
var ErrTimeout = errors.New("conformance: the device does not answer")

// Run runs the cases on dev and compares their digests with the golden ones. Wrong results, and
// what could not be run, are in the Report. Where a closed or lost device or ErrTimeout stops
// everything, that is the error, beside the Report of what was run until then. When ctx is done,
// there is no Report. Without a limit, dev is used by the caller's goroutine alone.
func Run(ctx context.Context, dev *backend.Device, o Options) (*Report, error) {
	r := &Report{Device: dev.Info(), Quick: o.Quick, Failures: []Failure{}}
	jobs := r.plan(o)
	s, err := newSession(dev)
	if err != nil {
		return nil, err
	}
	s.open = o.Arrays
	groups, behind := byKernel(jobs), 0
	inOrder := slices.Concat(groups...)
	done := func(x result) {
		inOrder[behind].result = &x
		behind++
		o.progress(behind, len(jobs))
	}
	o.progress(0, len(jobs))
	if o.Limit == 0 {
		err = s.run(ctx, groups, done)
	} else if err = s.runWithin(ctx, o.Limit, groups, done); err == ErrTimeout {
		done(result{err: fmt.Errorf("%w for %v", err, o.Limit)})
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	r.judge(jobs)
	return r, err
}

// Judge is the report of digests by the names of cases, which something else computed on info's
// device, such as several machines.
func Judge(info backend.Info, digests map[string]string) *Report {
	r := &Report{Device: info, Failures: []Failure{}}
	var jobs []*job
	for _, c := range Cases() {
		if d, ok := digests[c.Name()]; ok {
			jobs = append(jobs, &job{c: c, result: &result{digest: d}})
		}
	}
	r.Cases, r.Variants = len(jobs), len(jobs)
	r.judge(jobs)
	return r
}

func (o *Options) progress(done, total int) {
	if o.Progress != nil {
		o.Progress(done, total)
	}
}

// has tells whether there is what runs a case.
func (o *Options) has(c *Case) bool {
	return (o.Elementary != nil || c.function() < 0) && (o.Arrays != nil || c.array() == "")
}

// A job is a case to run with one set of parameters.
type job struct {
	c      *Case
	v      variant
	result *result // nil: it was not run
}

// A result is the digest that a device gave, or why there is none.
type result struct {
	digest string
	err    error
}

// plan lists what is to be run, in the order of the cases, and counts it.
func (r *Report) plan(o Options) (jobs []*job) {
	for _, c := range Cases() {
		switch {
		case o.Quick && !c.Quick || !o.has(c) || o.Match != nil && !o.Match(c):
			continue
		case !c.supported(&r.Device):
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
		name, digest := j.c.Name(), "none"
		if j.result != nil && j.result.err == nil {
			digest = j.result.digest
		}
		switch {
		case j.result == nil:
			r.NotRun++
		case j.result.err != nil:
			r.Failures = append(r.Failures, Failure{Case: name, Params: j.v.params, Error: j.result.err.Error()})
		case digest != golden[name]:
			r.Failures = append(r.Failures, Failure{
				Case: name, Params: j.v.params, Digest: digest, Golden: golden[name],
			})
		}
		if j.v.params == "" {
			fmt.Fprintf(got, "%s %s\n", name, digest)
			fmt.Fprintf(want, "%s %s\n", name, golden[name])
		}
	}
	r.Digest, r.Golden = hex.EncodeToString(got.Sum(nil)), hex.EncodeToString(want.Sum(nil))
}

// A session is a device at work.
type session struct {
	dev    *backend.Device
	q      *backend.Queue
	open   func(*backend.Device) (func(*ArrayOperation) (any, error), error) // Options.Arrays
	arrays func(*ArrayOperation) (any, error)                                // what it gave
}

func newSession(dev *backend.Device) (*session, error) {
	q, err := dev.NewQueue()
	return &session{dev: dev, q: q}, err
}

// byKernel groups jobs by their kernels, so that each is compiled once.
func byKernel(jobs []*job) (groups [][]*job) {
	number := map[*backend.Source]int{}
	for _, j := range jobs {
		i, ok := number[j.v.source]
		if !ok {
			i = len(groups)
			number[j.v.source] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], j)
	}
	return groups
}

// run runs the jobs, kernel by kernel, gives done the result of each, and closes the queue. Its
// error stops everything: that of ctx, or of a device that can do nothing more.
func (s *session) run(ctx context.Context, groups [][]*job, done func(result)) error {
	defer s.q.Close()
	for _, jobs := range groups {
		if err := s.runKernel(ctx, jobs, done); err != nil {
			return err
		}
	}
	return nil
}

// runKernel is run for the jobs of one kernel, or for those of package array.
func (s *session) runKernel(ctx context.Context, jobs []*job, done func(result)) error {
	var k *backend.Kernel
	var failed error
	if source := jobs[0].v.source; source == nil {
		s.arrays, failed = s.open(s.dev)
	} else if k, failed = s.dev.Compile(source); failed == nil {
		defer k.Release()
	}
	for _, j := range jobs {
		if err := ctx.Err(); err != nil {
			return err
		}
		x := result{err: failed}
		if failed == nil {
			x.digest, x.err = j.c.run(s, k, j.v)
		}
		done(x)
		if errors.Is(x.err, backend.ErrDeviceLost) || errors.Is(x.err, backend.ErrClosed) {
			return x.err
		}
	}
	return nil
}

// runWithin is run in a goroutine of its own, which is left behind where a result takes longer than
// limit.
func (s *session) runWithin(ctx context.Context, limit time.Duration, groups [][]*job, done func(result)) error {
	results, ended := make(chan result), make(chan error, 1)
	go func() {
		ended <- s.run(ctx, groups, func(x result) { results <- x })
		close(results)
	}()
	for {
		select {
		case x, more := <-results:
			if !more {
				return <-ended
			}
			done(x)
		case <-time.After(limit):
			go func() { // whatever may come of it
				for range results {
				}
			}()
			return ErrTimeout
		}
	}
}

// run computes the case on a session and returns the digest of its result. k is v's kernel.
func (c *Case) run(x *session, k *backend.Kernel, v variant) (string, error) {
	return in(c.Type).run(c, x, k, v)
}

// poison fills what must not change, and outputs before they are written: as a float it is a NaN,
// so that reading it shows.
const poison = 0xff

// margin is how many elements of poison follow each operand.
const margin = 64

// An operandBuffer is a matrix in the layout of the case, on the device and as it was written
// there.
type operandBuffer[T element.Element] struct {
	matrix[T]
	buffer *backend.Buffer
	stride int
	before []byte
}

func place[T element.Element](c *Case, x *session, m matrix[T], contents bool) (*operandBuffer[T], error) {
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
func (o *operandBuffer[T]) read(c *Case, q *backend.Queue) ([]T, error) {
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
		return nil, fmt.Errorf("byte %d of an operand of %dx%d, offset %d, stride %d, was written though it is outside",
			i, o.rows, o.cols, c.offset, o.stride)
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

func runOf[T element.Element](c *Case, x *session, k *backend.Kernel, v variant) (string, error) {
	if c.array() != "" {
		result, err := x.arrays(arrayOperation[T](c))
		if err != nil {
			return "", err
		}
		return Digest(result.([]T)), nil
	}
	a, b, out := operands[T](c)
	result, err := launch(c, x, k, v.grid, a, b, out, c.beta != 0, func(a, b, out kernels.Operand) []backend.Arg {
		return arguments(c, v.row, a, b, out, T(c.alpha), T(c.beta))
	})
	if err != nil {
		return "", err
	}
	return Digest(result), nil
}

// launch runs a kernel on two sources and a result, of which it knows the contents where these
// matter, and gives the result.
func launch[T element.Element](c *Case, x *session, k *backend.Kernel, g backend.Grid, a, b, out matrix[T],
	contents bool, args func(a, b, out kernels.Operand) []backend.Arg,
) ([]T, error) {
	var placed []*operandBuffer[T]
	defer func() {
		for _, o := range placed {
			o.buffer.Free()
		}
	}()
	for i, m := range []matrix[T]{a, b, out} {
		o, err := place(c, x, m, i < 2 || contents)
		if err != nil {
			return nil, err
		}
		placed = append(placed, o)
	}
	if err := x.q.Launch(k, g, args(placed[0].operand(c), placed[1].operand(c), placed[2].operand(c))...); err != nil {
		return nil, err
	}
	for _, o := range placed[:2] {
		if err := o.unchanged(x.q); err != nil {
			return nil, err
		}
	}
	return placed[2].read(c, x.q)
}

func (o *operandBuffer[T]) unchanged(q *backend.Queue) error {
	now := make([]byte, len(o.before))
	if err := q.Read(now, o.buffer, 0); err != nil {
		return err
	}
	if i := firstDifference(now, o.before); i >= 0 {
		return fmt.Errorf("byte %d of a source of %dx%d was written", i, o.rows, o.cols)
	}
	return nil
}

func arguments[T element.Element](c *Case, row *kernels.Elementwise, a, b, out kernels.Operand,
	alpha, beta T,
) []backend.Arg {
	rows, cols := int64(c.M), int64(c.N)
	switch {
	case c.Kernel == "addmul" && alpha > 0:
		return kernels.AddMulArgs[T](nil, kernels.Batch{}, c.M, c.N, c.K, a, b, out)
	case c.Kernel == "addmul":
		return kernels.SubMulArgs[T](nil, kernels.Batch{}, c.M, c.N, c.K, a, b, out)
	case c.Kernel == "matmul" || c.bytes():
		return kernels.MatMulArgs(nil, c.M, c.N, c.K, alpha, a, b, beta, out)
	case c.product():
		return kernels.ProductArgs(nil, c.M, c.N, c.K, a, b, out)
	case c.Kernel == "transpose_naive":
		return kernels.TransposeNaiveArgs(nil, c.M, c.N, a, out)
	case c.transpose():
		return kernels.TransposeArgs(nil, c.M, c.N, a, out)
	case row.Inputs == 1:
		return row.Args(nil, kernels.Scalar(alpha), rows, cols, a, out)
	}
	return row.Args(nil, kernels.Scalar(alpha), rows, cols, a, b, out)
}

// Digest is the SHA-256 of packed elements, little-endian, with every NaN the same.
func Digest[T element.Element](data []T) string {
	h := sha256.New()
	for _, v := range data {
		writeElement(h, v)
	}
	return hex.EncodeToString(h.Sum(nil))
}
