package faulttest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/faulttest/fault"
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
	operation("products", products),
	operation("bytes", productsOfBytes),
	operation("elementwise", elementwise),
	operation("registered", registered),
	UserKernel,
	operation("host", hostMatrices),
	operation("batched", batched),
	operation("cancellable", cancellable),
	operation("queues", queues),
}

// UserKernel is the operation that compiles and launches a kernel of the user's own.
var UserKernel = operation("kernel", func(u *use) []float32 { return userKernel(u, twice) })

// TextKernel is UserKernel without PTX: on CUDA, NVRTC compiles the text.
var TextKernel = operation("text", func(u *use) []float32 {
	text := *twice
	text.PTX, text.Packed = nil, nil
	return userKernel(u, &text)
})

// Large is an operation on matrices of the host that are too large to go through the memory that a
// session keeps for small ones. It takes a simulated device long.
var Large = operation("large", large)

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

// A use is what an operation does with a session, to the first error.
type use struct {
	*fault.Use
	*linalg.Session
}

func operation(name string, f func(u *use) []float32) Operation {
	return Operation{name, func(s *linalg.Session) (out []float32, err error) {
		err = fault.Try(func(u *fault.Use) { out = f(&use{u, s}) })
		return out, err
	}}
}

func upload[T any](u *use, m linalg.Matrix[T]) *linalg.Array[T] {
	return fault.Keep(u.Use, fault.Must(linalg.Upload(u.Session, m)))
}

func array[T any](u *use, rows, cols int) *linalg.Array[T] {
	return fault.Keep(u.Use, fault.Must(linalg.NewArray[T](u.Session, rows, cols)))
}

// productsOfBytes: GemmInt8Arrays, which makes words of both operands, and GemmInt8.
func productsOfBytes(u *use) (out []float32) {
	a, b := linalg.NewMatrix[uint8](5, 7, nil), linalg.NewMatrix[int8](7, 6, nil)
	for i := range b.Data {
		a.Data[i%35], b.Data[i] = uint8(40*i), int8(90*i)
	}
	x, y, z := upload(u, a), upload(u, b), array[int32](u, 5, 6)
	fault.Check(linalg.GemmInt8Arrays(blas.NoTrans, x, blas.NoTrans, y, 0, z))
	c := fault.Must(z.Download())
	fault.Check(linalg.GemmInt8(blas.NoTrans, a, blas.NoTrans, b, 1, c, linalg.On(u.Session)))
	for _, v := range c.Data {
		out = append(out, float32(v))
	}
	return out
}

// products: Upload, NewArray, Mul, SubMul, Gemm with both operands transposed, Slice, CopyTo,
// Download.
func products(u *use) []float32 {
	x, y, z := upload(u, filled(7, 5, 2, 1)), upload(u, filled(5, 6, 0, 2)), array[float32](u, 7, 6)
	fault.Check(z.Mul(x, y))
	fault.Check(z.SubMul(x.Slice(0, 7, 0, 2), y.Slice(0, 2, 0, 6)))
	w := array[float32](u, 6, 7)
	fault.Check(w.CopyFrom(filled(6, 7, 1, 3)))
	fault.Check(w.Gemm(0.5, blas.Trans, y, blas.Trans, x, 2))
	part := linalg.NewMatrix[float32](3, 4, nil)
	fault.Check(w.Slice(1, 4, 2, 6).CopyTo(part))
	return slices.Concat(fault.Must(z.Download()).Data, part.Data)
}

// elementwise: Transpose and all elementwise operations, of views too.
func elementwise(u *use) []float32 {
	x, y := upload(u, filled(6, 6, 0, 4)), array[float32](u, 6, 6)
	fault.Check(y.Transpose(x))
	for _, op := range kernels.Elementwises() {
		fault.Check(y.Elementwise(op, -2, []*linalg.Array[float32]{y, x}[:op.Inputs]...))
	}
	fault.Check(y.Slice(0, 3, 0, 3).Add(x.Slice(0, 3, 3, 6), x.Slice(3, 6, 0, 3)))
	fault.Check(u.Wait())
	return fault.Must(y.Download()).Data
}

// registered: an array of the host's own memory, where the device reaches that.
func registered(u *use) []float32 {
	m := filled(4, 4, 3, 5)
	a, err := linalg.Register(u.Session, m)
	if errors.Is(err, backend.ErrUnsupported) && !u.Info().UnifiedMemory {
		a, err = linalg.Upload(u.Session, m)
	}
	fault.Keep(u.Use, fault.Must(a, err))
	fault.Check(a.Scale(3, a))
	fault.Check(u.Wait())
	return fault.Must(a.Download()).Data
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
func userKernel(u *use, src *backend.Source) []float32 {
	k := fault.Must(u.CompileSource(src))
	u.Later(k.Release)
	x, off := upload(u, filled(1, 10, 0, 6)), int64(u.Info().OffsetAlign)
	b := fault.Keep(u.Use, fault.Must(u.Device().Alloc(off+40)))
	host, result := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, make([]float32, 10)
	fault.Check(u.Launch(k, backend.Grid1(3, 4), host, x, uint32(10)))
	fault.Check(u.Launch(k, backend.Grid1(3, 4), x, backend.At(b, off), uint32(10)))
	fault.Check(u.Launch(k, backend.Grid1(3, 4), backend.At(b, off), result, uint32(10)))
	return result
}

// hostMatrices: the operations on matrices of the host.
func hostMatrices(u *use) []float32 {
	ctx, s := context.Background(), u.Session
	a, b, c := filled(6, 4, 1, 7), filled(4, 5, 0, 8), filled(6, 5, 2, 9)
	product := fault.Must(linalg.MatMul(a, b, linalg.On(s), linalg.WithContext(ctx)))
	fault.Check(linalg.Gemm(2, blas.NoTrans, a, blas.NoTrans, b, 1, c, linalg.On(s), linalg.WithContext(ctx)))
	out := slices.Concat(product.Data, fault.Must(linalg.Transpose(a, linalg.On(s), linalg.WithContext(ctx))).Data)
	for _, op := range kernels.Elementwises() {
		inputs := []linalg.Matrix[float32]{product, c}[:op.Inputs]
		out = append(out, fault.Must(linalg.Elementwise(op, 5, inputs, linalg.On(s), linalg.WithContext(ctx))).Data...)
	}
	return out
}

// batched: several products at once.
func batched(u *use) []float32 {
	a, b := filled(6, 5, 0, 15), filled(15, 4, 1, 16)
	return fault.Must(linalg.MatMul(a, b, linalg.Batch(3), linalg.On(u.Session))).Data
}

// large: a sum and a product in the host's memory itself, or in copies.
func large(u *use) []float32 {
	ctx := context.Background()
	a, c := filled(300, 450, 2, 17), filled(300, 300, 0, 18)
	sum := fault.Must(linalg.Add(a, a, linalg.On(u.Session), linalg.WithContext(ctx)))
	fault.Check(linalg.Gemm(1, blas.NoTrans, a, blas.NoTrans, filled(450, 300, 0, 19), 2, c, linalg.On(u.Session),
		linalg.WithContext(ctx)))
	return slices.Concat(sum.Data, c.Data)
}

// cancellable: products that could be cancelled, and are not.
func cancellable(u *use) []float32 {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	m := fault.Must(linalg.MatMul(filled(5, 6, 0, 10), filled(6, 4, 1, 11), linalg.On(u.Session),
		linalg.WithContext(ctx)))
	x, y := upload(u, m), array[float32](u, 4, 4)
	fault.Check(y.Gemm(1, blas.Trans, x, blas.NoTrans, x, 0, linalg.WithContext(ctx)))
	return fault.Must(y.Download()).Data
}

// queues: what a program does with the device and the queue of a session itself.
func queues(u *use) (out []float32) {
	d, q := u.Device(), u.Queue()
	other := fault.Must(d.NewQueue())
	u.Later(other.Close)
	b, h := fault.Keep(u.Use, fault.Must(d.Alloc(64))), fault.Keep(u.Use, fault.Must(d.AllocHost(32)))
	copy(h.Bytes(), "in pinned memory")
	record := func() *backend.Event {
		e := fault.Must(q.Record())
		u.Later(e.Release)
		return e
	}
	first := record()
	fault.Check(q.WriteAsync(b, 0, h, 0, 16))
	fault.Check(q.Copy(b, 32, b, 0, 16))
	fault.Check(q.ReadAsync(h, 16, b, 32, 16))
	last := record()
	fault.Check(other.WaitEvent(last), other.Wait(), q.Wait())
	fault.Must(last.Since(first))
	for _, c := range h.Bytes()[16:] {
		out = append(out, float32(c))
	}
	return out
}
