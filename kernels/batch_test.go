package kernels_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/tuning"
	"github.com/tandem-gpu/tandem/kernels"
)

func TestMatMulBatch(t *testing.T) {
	onDevices(t, func(t *testing.T, d *device) {
		testMatMulBatch[float32](t, d)
		testMatMulBatch[float64](t, d)
		testMatMulBatch[int32](t, d)
	})
}

// testMatMulBatch compares batches with one product after the other, on grids of several shapes,
// with gaps between rows and between matrices, aligned and not.
func testMatMulBatch[T element.Element](t *testing.T, d *device) {
	typ := element.TypeOf[T]()
	if !kernels.Supports(&d.info, typ) {
		t.Logf("the device does not keep the contract in %s", typ)
		return
	}
	const count, m, n, k = 3, 9, 34, 11
	rng := rand.New(rand.NewPCG(31, 32))
	for _, p := range variants(typ, &d.info) {
		if !d.runs(t, kernels.MatMul(typ, p), p.CPU) {
			continue
		}
		kernel := d.compile(t, kernels.MatMul(typ, p))
		for i, gap := range []int{0, 5, 16} {
			sharedA, sharedB := i == 1, i == 2
			a, strideA := stack(count, m, k, layout{0, 5 * (i % 2)}, gap, sharedA, values[T](rng, i))
			b, strideB := stack(count, k, n, layout{4 * i, 2}, gap, sharedB, values[T](rng, i))
			c, strideC := stack(count, m, n, layout{i, 6}, gap, false, values[T](rng, plain))
			alpha, beta := [...]T{1, 3, 2}[i], [...]T{0, 1, 5}[i]
			want := c
			want.data = slices.Clone(c.data)
			for z := range count {
				host.GemmReference(m, n, k, alpha, a.from()[z*strideA:], a.stride, b.from()[z*strideB:], b.stride, beta,
					want.from()[z*strideC:], c.stride)
			}
			batch := kernels.Batch{StrideA: int64(strideA), StrideB: int64(strideB), StrideC: int64(strideC)}
			one := kernels.MatMulBatchGrid(p, count, m, n)
			one.Groups[0], one.Groups[1] = 1, 1
			for _, g := range []backend.Grid{kernels.MatMulBatchGrid(p, count, m, n), one} {
				out := upload(t, d, c)
				args := kernels.MatMulBatchArgs(nil, batch, m, n, k, alpha, upload(t, d, a), upload(t, d, b), beta, out)
				launch(t, d, fmt.Sprintf("batch, %+v, gap %d:", p, gap), kernel, g, args, out.Buffer, want)
			}
			out := upload(t, d, c)
			want.data = slices.Clone(c.data)
			for z := range count {
				host.AddMulReference(true, m, n, k, a.from()[z*strideA:], a.stride, b.from()[z*strideB:], b.stride,
					want.from()[z*strideC:], c.stride)
			}
			args := kernels.SubMulArgs[T](nil, batch, m, n, k, upload(t, d, a), upload(t, d, b), out)
			launch(t, d, fmt.Sprintf("batch from C, %+v, gap %d:", p, gap), kernel,
				kernels.MatMulBatchGrid(p, count, m, n), args, out.Buffer, want)
		}
	}
}

// stack is count matrices with gap elements between them, or one, and the distance from one to the
// next.
func stack[T element.Element](count, rows, cols int, l layout, gap int, shared bool, value func() T) (a array[T],
	stride int,
) {
	a = newArray(rows, cols, l, value)
	if shared {
		return a, 0
	}
	stride = rows*a.stride + gap
	for range (count - 1) * stride {
		a.data = append(a.data, value())
	}
	return a, stride
}

// The matrices of thin products, around the sizes where their parameters change, have the bits of
// the definition.
func TestThinProducts(t *testing.T) {
	onDevices(t, func(t *testing.T, d *device) {
		shapes := [][3]int{
			{1, 700, 100},
			{700, 1, 100},
			{8, 260, 260},
			{260, 8, 260},
			{9, 260, 260},
			{3, 260, 260},
			{260, 5, 260},
			{2, 40, 1700},
		}
		if d.simulated() {
			shapes = [][3]int{{2, 70, 1000}, {70, 3, 1000}}
		}
		testThin[float32](t, d, shapes)
		testThin[float64](t, d, shapes)
		testThin[int32](t, d, shapes)
	})
}

func testThin[T element.Element](t *testing.T, d *device, shapes [][3]int) {
	typ := element.TypeOf[T]()
	if !kernels.Supports(&d.info, typ) {
		t.Logf("the device does not keep the contract in %s", typ)
		return
	}
	rng := rand.New(rand.NewPCG(33, 34))
	for i, shape := range shapes {
		m, n, k := shape[0], shape[1], shape[2]
		p := tuning.ChooseMatMul(&d.info, typ, m, n, k)
		kernel := d.compile(t, kernels.MatMul(typ, p))
		l := layout{3 * (i % 2), 5 * (i % 2)}
		a, b, c := newArray(m, k, l, values[T](rng, i%kinds)), newArray(k, n, l, values[T](rng, i%kinds)),
			newArray(m, n, layout{2, 3}, values[T](rng, plain))
		out := upload(t, d, c)
		args := kernels.MatMulArgs(nil, m, n, k, T(3), upload(t, d, a), upload(t, d, b), 2, out)
		launch(t, d, fmt.Sprintf("thin, k = %d, %+v:", k, p), kernel, kernels.MatMulGrid(p, m, n), args, out.Buffer,
			reference(3, a, b, 2, c))
		if !d.simulated() {
			testChains(t, d, "thin", kernel, p, k, upload(t, d, a), upload(t, d, b), c, chains(a, b, c), i)
		}
	}
}
