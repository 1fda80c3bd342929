package faulttest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

// An Operation is one use of a session. It gives its result, which is the same on every device, and
// gives back what it made, also after an error.
type Operation struct {
	Name string
	Run  func(s *linalg.Session) ([]float32, error)
}

// Operations are all that linalg does with a device.
var Operations = []Operation{
	{"products", products},
	{"bytes", productsOfBytes},
	{"elementwise", elementwise},
	{"registered", registered},
	UserKernel,
	{"host", hostMatrices},
	{"batched", batched},
	{"cancellable", cancellable},
	{"queues", queues},
}

// UserKernel is the operation that compiles and launches a kernel of the user's own.
var UserKernel = Operation{"kernel", func(s *linalg.Session) ([]float32, error) { return userKernel(s, twice) }}

// TextKernel is UserKernel without PTX: on CUDA, NVRTC compiles the text.
var TextKernel = Operation{"text", func(s *linalg.Session) ([]float32, error) {
	text := *twice
	text.PTX, text.Packed = nil, nil
	return userKernel(s, &text)
}}

// Large is an operation on matrices of the host that are too large to go through the memory that a
// session keeps for small ones. It takes a simulated device long.
var Large = Operation{"large", large}

// Results are those of operations, from the cpu device.
func Results(operations []Operation) (want [][]float32, err error) {
	s, err := linalg.Open("cpu")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	for _, o := range operations {
		w, err := o.Run(s)
		if err != nil {
			return nil, fmt.Errorf("%s on the cpu device: %w", o.Name, err)
		}
		want = append(want, w)
	}
	return want, nil
}

// filled is a matrix with a gap after each row and other values for each seed.
func filled(rows, cols, gap, seed int) linalg.Matrix[float32] {
	m := linalg.Matrix[float32]{Rows: rows, Cols: cols, Stride: cols + gap, Data: make([]float32, rows*(cols+gap))}
	for i := range m.Data {
		m.Data[i] = float32((i*7+seed*13)%29) - 14.25
	}
	return m
}

// A freer gives back what an operation made.
type freer interface{ Free() error }

func freeAll(err *error, all ...freer) {
	for _, f := range all {
		*err = errors.Join(*err, f.Free())
	}
}

// productsOfBytes: GemmInt8Arrays, which makes words of both operands, and GemmInt8Context.
func productsOfBytes(s *linalg.Session) (out []float32, err error) {
	a, b := linalg.NewMatrix[uint8](5, 7, nil), linalg.NewMatrix[int8](7, 6, nil)
	for i := range b.Data {
		a.Data[i%35], b.Data[i] = uint8(40*i), int8(90*i)
	}
	x, err := linalg.Upload(s, a)
	if err != nil {
		return nil, err
	}
	defer freeAll(&err, x)
	y, err := linalg.Upload(s, b)
	if err != nil {
		return nil, err
	}
	defer freeAll(&err, y)
	z, err := linalg.NewArray[int32](s, 5, 6)
	if err != nil {
		return nil, err
	}
	defer freeAll(&err, z)
	if err := linalg.GemmInt8Arrays(1, blas.NoTrans, x, blas.NoTrans, y, 0, z); err != nil {
		return nil, err
	}
	c, err := z.Download()
	if err != nil {
		return nil, err
	}
	if err := linalg.GemmInt8Context(context.Background(), s, blas.NoTrans, a, blas.NoTrans, b, 1, c); err != nil {
		return nil, err
	}
	for _, v := range c.Data {
		out = append(out, float32(v))
	}
	return out, nil
}

// products: Upload, NewArray, Mul, SubMul, Gemm with both operands transposed, Slice, CopyTo,
// Download.
func products(s *linalg.Session) (out []float32, err error) {
	x, err := linalg.Upload(s, filled(7, 5, 2, 1))
	if err != nil {
		return nil, err
	}
	defer freeAll(&err, x)
	y, err := linalg.Upload(s, filled(5, 6, 0, 2))
	if err != nil {
		return nil, err
	}
	defer freeAll(&err, y)
	z, err := linalg.NewArray[float32](s, 7, 6)
	if err != nil {
		return nil, err
	}
	defer freeAll(&err, z)
	if err := z.Mul(x, y); err != nil {
		return nil, err
	}
	if err := z.SubMul(x.Slice(0, 7, 0, 2), y.Slice(0, 2, 0, 6)); err != nil {
		return nil, err
	}
	w, err := linalg.NewArray[float32](s, 6, 7)
	if err != nil {
		return nil, err
	}
	defer freeAll(&err, w)
	if err := w.CopyFrom(filled(6, 7, 1, 3)); err != nil {
		return nil, err
	}
	if err := w.Gemm(0.5, blas.Trans, y, blas.Trans, x, 2); err != nil {
		return nil, err
	}
	part := linalg.NewMatrix[float32](3, 4, nil)
	if err := w.Slice(1, 4, 2, 6).CopyTo(part); err != nil {
		return nil, err
	}
	whole, err := z.Download()
	return slices.Concat(whole.Data, part.Data), err
}

// elementwise: Transpose and all elementwise operations, of views too.
func elementwise(s *linalg.Session) (out []float32, err error) {
	x, err := linalg.Upload(s, filled(6, 6, 0, 4))
	if err != nil {
		return nil, err
	}
	defer freeAll(&err, x)
	y, err := linalg.NewArray[float32](s, 6, 6)
	if err != nil {
		return nil, err
	}
	defer freeAll(&err, y)
	steps := []func() error{func() error { return y.Transpose(x) }}
	for _, op := range kernels.Elementwises() {
		steps = append(steps, func() error {
			return y.Elementwise(op, -2, []*linalg.Array[float32]{y, x}[:op.Inputs]...)
		})
	}
	for _, step := range append(steps,
		func() error { return y.Slice(0, 3, 0, 3).Add(x.Slice(0, 3, 3, 6), x.Slice(3, 6, 0, 3)) }, s.Wait,
	) {
		if err := step(); err != nil {
			return nil, err
		}
	}
	m, err := y.Download()
	return m.Data, err
}

// registered: an array of the host's own memory, where the device reaches that.
func registered(s *linalg.Session) (out []float32, err error) {
	m := filled(4, 4, 3, 5)
	a, err := linalg.Register(s, m)
	if errors.Is(err, backend.ErrUnsupported) && !s.Info().UnifiedMemory {
		a, err = linalg.Upload(s, m)
	}
	if err != nil {
		return nil, err
	}
	defer freeAll(&err, a)
	if err := a.Scale(3, a); err != nil {
		return nil, err
	}
	if err := s.Wait(); err != nil {
		return nil, err
	}
	r, err := a.Download()
	return r.Data, err
}

// twice is a kernel of the user's own, for every driver.
var twice = &backend.Source{
	Name: "twice",
	Text: `__kernel void twice(__global const float *in, __global float *out, const uint n)
{
	const size_t i = get_global_id(0);
	if (i < n) out[i] = 2.0f * in[i];
}
`,
	PTX: []byte(`.version 6.4
.target sm_50
.address_size 64

.visible .entry twice(.param .u64 .ptr .global .align 4 in, .param .u64 .ptr .global .align 4 out, .param .u32 n)
{
	.reg .pred %p;
	.reg .b32 %i, %n, %size, %item;
	.reg .b64 %in, %out, %off;
	.reg .f32 %x;
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
	mul.wide.u32 %off, %i, 4;
	add.u64 %in, %in, %off;
	add.u64 %out, %out, %off;
	ld.global.f32 %x, [%in];
	add.rn.f32 %x, %x, %x;
	st.global.f32 [%out], %x;
DONE:
	ret;
}
`),
	Go: func(g backend.Grid, lo, hi int, args []backend.Arg) error {
		in, out, n := backend.Mem[float32](args[0]), backend.Mem[float32](args[1]), int(args[2].Int32())
		for i := lo * g.Local[0]; i < min(hi*g.Local[0], n); i++ {
			out[i] = 2 * in[i]
		}
		return nil
	},
}

// userKernel: Compile and Launch, with arrays and with slices of the host.
func userKernel(s *linalg.Session, src *backend.Source) (out []float32, err error) {
	k, err := s.CompileSource(src)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, k.Release()) }()
	x, err := linalg.Upload(s, filled(1, 10, 0, 6))
	if err != nil {
		return nil, err
	}
	defer freeAll(&err, x)
	off := int64(s.Info().OffsetAlign)
	b, err := s.Device().Alloc(off + 40)
	if err != nil {
		return nil, err
	}
	defer freeAll(&err, b)
	host, result := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, make([]float32, 10)
	if err := s.Launch(k, backend.Grid1(3, 4), host, x, uint32(10)); err != nil {
		return nil, err
	}
	if err := s.Launch(k, backend.Grid1(3, 4), x, backend.At(b, off), uint32(10)); err != nil {
		return nil, err
	}
	if err := s.Launch(k, backend.Grid1(3, 4), backend.At(b, off), result, uint32(10)); err != nil {
		return nil, err
	}
	return result, nil
}

// hostMatrices: the operations on matrices of the host.
func hostMatrices(s *linalg.Session) (out []float32, err error) {
	ctx := context.Background()
	a, b, c := filled(6, 4, 1, 7), filled(4, 5, 0, 8), filled(6, 5, 2, 9)
	product, err := linalg.MatMulContext(ctx, s, a, b)
	if err != nil {
		return nil, err
	}
	if err := linalg.GemmContext(ctx, s, 2, blas.NoTrans, a, blas.NoTrans, b, 1, c); err != nil {
		return nil, err
	}
	transposed, err := linalg.TransposeContext(ctx, s, a)
	if err != nil {
		return nil, err
	}
	out = slices.Concat(product.Data, transposed.Data)
	for _, op := range kernels.Elementwises() {
		m, err := linalg.ElementwiseContext(ctx, s, op, 5, []linalg.Matrix[float32]{product, c}[:op.Inputs]...)
		if err != nil {
			return nil, err
		}
		out = append(out, m.Data...)
	}
	return out, nil
}

// batched: several products at once.
func batched(s *linalg.Session) ([]float32, error) {
	c, err := linalg.MatMulBatchedContext(context.Background(), s, 3, filled(6, 5, 0, 15), filled(15, 4, 1, 16))
	return c.Data, err
}

// large: a sum and a product in the host's memory itself, or in copies.
func large(s *linalg.Session) ([]float32, error) {
	ctx := context.Background()
	a := filled(300, 450, 2, 17)
	sum, err := linalg.AddContext(ctx, s, a, a)
	if err != nil {
		return nil, err
	}
	c := filled(300, 300, 0, 18)
	err = linalg.GemmContext(ctx, s, 1, blas.NoTrans, a, blas.NoTrans, filled(450, 300, 0, 19), 2, c)
	return slices.Concat(sum.Data, c.Data), err
}

// cancellable: products that could be cancelled, and are not.
func cancellable(s *linalg.Session) (out []float32, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	a, b := filled(5, 6, 0, 10), filled(6, 4, 1, 11)
	m, err := linalg.MatMulContext(ctx, s, a, b)
	if err != nil {
		return nil, err
	}
	x, err := linalg.Upload(s, m)
	if err != nil {
		return nil, err
	}
	defer freeAll(&err, x)
	y, err := linalg.NewArray[float32](s, 4, 4)
	if err != nil {
		return nil, err
	}
	defer freeAll(&err, y)
	if err := y.GemmContext(ctx, 1, blas.Trans, x, blas.NoTrans, x, 0); err != nil {
		return nil, err
	}
	r, err := y.Download()
	return r.Data, err
}

// queues: what a program does with the device and the queue of a session itself.
func queues(s *linalg.Session) (out []float32, err error) {
	d, q := s.Device(), s.Queue()
	other, err := d.NewQueue()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, other.Close()) }()
	b, err := d.Alloc(64)
	if err != nil {
		return nil, err
	}
	defer freeAll(&err, b)
	h, err := d.AllocHost(32)
	if err != nil {
		return nil, err
	}
	defer freeAll(&err, h)
	copy(h.Bytes(), "in pinned memory")
	first, err := q.Record()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, first.Release()) }()
	for _, step := range []func() error{
		func() error { return q.WriteAsync(b, 0, h, 0, 16) },
		func() error { return q.Copy(b, 32, b, 0, 16) },
		func() error { return q.ReadAsync(h, 16, b, 32, 16) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	last, err := q.Record()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, last.Release()) }()
	if err := errors.Join(other.WaitEvent(last), other.Wait(), q.Wait()); err != nil {
		return nil, err
	}
	if _, err := last.Since(first); err != nil {
		return nil, err
	}
	for _, c := range h.Bytes()[16:] {
		out = append(out, float32(c))
	}
	return out, nil
}
