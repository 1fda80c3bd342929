package linalg_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"log"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/linalg"
)

// check ends an example that fails. A program handles its errors.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func ExampleMatMul() {
	a := linalg.NewMatrix(2, 3, []float32{1, 2, 3, 4, 5, 6})
	b := linalg.NewMatrix(3, 2, []float32{7, 8, 9, 10, 11, 12})
	c, err := linalg.MatMul(a, b) // on the best device there is
	check(err)
	fmt.Println(c.Row(0))
	fmt.Println(c.Row(1))
	// Output:
	// [58 64]
	// [139 154]
}

// Weights of 16 bits are multiplied as the float32 that they stand for.
func ExampleMatMulMixed() {
	x := linalg.NewMatrix(1, 2, []float32{1, 0.1})
	weights := linalg.NewMatrix[linalg.BFloat16](2, 2, nil)
	for i, w := range []float32{1, 2, 3, 1. / 3} {
		weights.Data[i] = element.ToBFloat16(w)
	}
	y, err := linalg.MatMulMixed[float32](x, weights)
	check(err)
	fmt.Println(y.Data)
	// Output: [1.3 2.0333984]
}

// Quantized numbers are multiplied and added exactly.
func ExampleMatMulInt8() {
	x := linalg.NewMatrix(1, 3, []uint8{255, 1, 2})
	weights := linalg.NewMatrix(3, 2, []int8{127, -128, 3, 4, 5, 6})
	y, err := linalg.MatMulInt8(x, weights)
	check(err)
	fmt.Println(y.Data)
	// Output: [32398 -32624]
}

// A rotation by 90 degrees, twice, is one by 180.
func ExampleMatMulComplex() {
	a := linalg.NewMatrix(2, 2, []complex128{1i, 0, 0, 1i})
	b, err := linalg.MatMulComplex(a, a)
	check(err)
	fmt.Println(b.Data)
	// Output: [(-1+0i) (0+0i) (0+0i) (-1+0i)]
}

// Gonum's matrices share their memory with Tandem's.
func ExampleFromDense() {
	x := mat.NewDense(2, 2, []float64{1, 1, 1, 0})
	y, err := linalg.MatMul(linalg.FromDense(x), linalg.FromDense(x))
	check(err)
	fmt.Println(mat.Formatted(linalg.ToDense(y)))
	// Output:
	// ⎡2  1⎤
	// ⎣1  1⎦
}

// Data are uploaded once, stay on the device from one operation to the next, and are downloaded
// once. The receiver is the destination, as in gonum.
func ExampleArray() {
	s, err := linalg.Open("cpu") // "" takes the best device, "cuda" and "opencl" a GPU
	check(err)
	defer s.Close() // frees the arrays, too

	a, err := linalg.Upload(s, linalg.NewMatrix(2, 3, []float32{1, 2, 3, 4, 5, 6}))
	check(err)
	c, err := linalg.NewArray[float32](s, 2, 2)
	check(err)
	check(c.Gemm(1, blas.NoTrans, a, blas.Trans, a, 0)) // c = a*aᵀ
	check(c.Add(c, c))
	check(c.Scale(0.5, c))

	h, err := c.Download()
	check(err)
	fmt.Println(h.Row(0))
	fmt.Println(h.Row(1))
	// Output:
	// [14 32]
	// [32 77]
}

// Elements lie row by row; a part shares memory with the whole.
func ExampleNewMatrix() {
	a := linalg.NewMatrix(2, 3, []float32{1, 2, 3, 4, 5, 6})
	a.Slice(0, 2, 1, 3).Set(0, 0, 20)
	fmt.Println(a)
	// Output:
	// ⎡1  20  3⎤
	// ⎣4   5  6⎦
}

// A session on devices that the program has chosen by their properties, which share products.
func ExampleNewSession() {
	var devices []*backend.Device
	for _, driver := range backend.Drivers() {
		infos, _ := driver.Devices() // none where its library is missing
		for i, info := range infos {
			if info.Host {
				d, err := driver.Open(i)
				check(err)
				devices = append(devices, d)
			}
		}
	}
	s, err := linalg.NewSession(devices[0], devices[1:]...)
	check(err)
	defer s.Close() // and of the devices
	fmt.Println(len(s.Devices()), s.Info().Driver)
	// Output: 1 cpu
}

func ExampleArray_View() {
	s, err := linalg.Open("cpu")
	check(err)
	defer s.Close()
	a, err := linalg.Upload(s, linalg.NewMatrix(2, 2, []int32{1, 2, 3, 4}))
	check(err)
	v, err := a.View() // a copy in host memory
	check(err)
	fmt.Println(mat.Formatted(v))
	fmt.Println("trace", mat.Trace(v))
	// Output:
	// ⎡1  2⎤
	// ⎣3  4⎦
	// trace 5
}

// An array goes to a .npy file and comes back. Any io.Writer and io.Reader will do: a file, a
// connection, a compressor.
func ExampleReadNPY() {
	s, err := linalg.Open("cpu")
	check(err)
	defer s.Close()
	a, err := linalg.Upload(s, linalg.NewMatrix(1, 3, []float64{1, 2, 3}))
	check(err)
	var file bytes.Buffer
	check(a.WriteNPY(&file))
	b, err := linalg.ReadNPY[float64](s, &file)
	check(err)
	h, err := b.Download()
	check(err)
	fmt.Println(h.Data)
	// Output: [1 2 3]
}

// A linear layer of a neural network: y = relu(x*W + bias). What comes after the product is a
// kernel of the program's own, in the portable dialect. The cpu device runs the same in Go.
func ExampleSession_CompileSource() {
	source := &backend.Source{
		Name: "bias_relu",
		Text: `__kernel void bias_relu(const int n, const int cols, __global const float *bias, __global float *y) {
			for (int i = get_global_id(0); i < n; i += get_global_size(0)) {
				float v = y[i] + bias[i % cols];
				y[i] = v > 0.0f ? v : 0.0f;
			}
		}`,
		Go: func(g backend.Grid, lo, hi int, args []backend.Arg) error {
			n, cols := int(args[0].Int32()), int(args[1].Int32())
			bias, y := backend.Mem[float32](args[2]), backend.Mem[float32](args[3])
			for id := lo * g.Local[0]; id < hi*g.Local[0]; id++ {
				for i := id; i < n; i += g.Groups[0] * g.Local[0] {
					v := y[i] + bias[i%cols]
					if !(v > 0) {
						v = 0
					}
					y[i] = v
				}
			}
			return nil
		},
	}
	s, err := linalg.Open("cpu")
	check(err)
	defer s.Close()
	relu, err := s.CompileSource(source)
	check(err)

	x, err := linalg.Upload(s, linalg.NewMatrix(2, 2, []float32{1, 2, 3, 4}))
	check(err)
	weights, err := linalg.Upload(s, linalg.NewMatrix(2, 3, []float32{1, -1, 0, 0, 1, -1}))
	check(err)
	y, err := linalg.NewArray[float32](s, 2, 3)
	check(err)
	check(y.Mul(x, weights))
	check(s.Launch(relu, backend.Grid1(1, 6), int32(6), int32(3), []float32{-2, 0, 3}, y))

	h, err := y.Download()
	check(err)
	fmt.Println(h.Row(0))
	fmt.Println(h.Row(1))
	// Output:
	// [0 1 1]
	// [1 1 0]
}

// A stencil: Jacobi's method for the temperature of a rod between a hot and a cold end. Every point
// becomes the mean of its neighbours, from one array to another and back.
func ExampleSession_Launch() {
	source := &backend.Source{
		Name: "jacobi",
		Text: `__kernel void jacobi(const int n, __global const float *in, __global float *out) {
			int i = get_global_id(0);
			if (i > 0 && i < n - 1) out[i] = 0.5f * (in[i - 1] + in[i + 1]);
		}`,
		Go: func(g backend.Grid, lo, hi int, args []backend.Arg) error {
			n, in, out := int(args[0].Int32()), backend.Mem[float32](args[1]), backend.Mem[float32](args[2])
			for i := max(lo*g.Local[0], 1); i < min(hi*g.Local[0], n-1); i++ {
				out[i] = 0.5 * (in[i-1] + in[i+1])
			}
			return nil
		},
	}
	s, err := linalg.Open("cpu")
	check(err)
	defer s.Close()
	jacobi, err := s.CompileSource(source)
	check(err)

	rod := linalg.NewMatrix(1, 6, []float32{100, 0, 0, 0, 0, 0})
	from, err := linalg.Upload(s, rod)
	check(err)
	to, err := linalg.Upload(s, rod)
	check(err)
	for range 200 {
		check(s.Launch(jacobi, backend.Grid1(2, 3), int32(6), from, to)) // 2 groups of 3 work-items
		from, to = to, from
	}
	h, err := from.Download()
	check(err)
	fmt.Printf("%.3f\n", h.Data)
	// Output: [100.000 80.000 60.000 40.000 20.000 0.000]
}

// The first principal component by power iteration: a vector that is multiplied by the covariance
// matrix again and again turns into the direction in which the samples differ most.
func ExampleArray_Mul() {
	s, err := linalg.Open("cpu")
	check(err)
	defer s.Close()
	covariance, err := linalg.Upload(s, linalg.NewMatrix(2, 2, []float64{5, 4, 4, 5}))
	check(err)
	x, err := linalg.Upload(s, linalg.NewMatrix(2, 1, []float64{1, 0}))
	check(err)
	y, err := linalg.NewArray[float64](s, 2, 1)
	check(err)
	var variance float64
	for range 20 {
		check(y.Mul(covariance, x))
		h, err := y.Download()
		check(err)
		variance = math.Hypot(h.Data[0], h.Data[1])
		check(x.Scale(1/variance, y))
	}
	h, err := x.Download()
	check(err)
	fmt.Printf("variance %.3f along %.3f\n", variance, h.Data)
	// Output: variance 9.000 along [0.707 0.707]
}

// The nearest neighbours of points, by one product: |x-y|² is |x|² + |y|² - 2*x·y.
func ExampleGemm() {
	known := linalg.NewMatrix(3, 2, []float32{0, 0, 10, 0, 0, 10})
	asked := linalg.NewMatrix(2, 2, []float32{1, 9, 7, 2})
	distances := linalg.NewMatrix[float32](asked.Rows, known.Rows, nil)
	for i := range asked.Rows {
		for j := range known.Rows {
			x, y := asked.Row(i), known.Row(j)
			distances.Set(i, j, x[0]*x[0]+x[1]*x[1]+y[0]*y[0]+y[1]*y[1])
		}
	}
	check(linalg.Gemm(-2, blas.NoTrans, asked, blas.Trans, known, 1, distances))
	fmt.Println(distances.Row(0)) // the last one is nearest
	fmt.Println(distances.Row(1)) // the second
	// Output:
	// [82 162 2]
	// [53 13 113]
}

// Every device of every driver gives the same bits.
func ExampleOpen() {
	a := linalg.NewMatrix[float32](50, 60, nil)
	for i := range a.Data {
		a.Data[i] = 1 / float32(i+1)
	}
	digests := map[[32]byte]bool{}
	for _, driver := range backend.Drivers() {
		devices, _ := driver.Devices() // none where its library is missing
		for i := range devices {
			s, err := linalg.Open(fmt.Sprintf("%s:%d", driver.Name(), i))
			check(err)
			x, err := linalg.Upload(s, a)
			check(err)
			y, err := linalg.NewArray[float32](s, 50, 50)
			check(err)
			check(y.Gemm(1, blas.NoTrans, x, blas.Trans, x, 0))
			h, err := y.Download()
			check(err)
			data, err := binary.Append(nil, binary.LittleEndian, h.Data)
			check(err)
			digests[sha256.Sum256(data)] = true
			check(s.Close())
		}
	}
	for digest := range digests {
		fmt.Printf("%x\n", digest[:8])
	}
	// Output: 75b5251afc743a4c
}

// Elements that a kernel of one's own works on stay on the device as well: structs, bytes, halves.
func ExampleArray_structs() {
	s, err := linalg.Open("cpu")
	check(err)
	defer s.Close()

	type particle struct {
		At   [2]float32
		Mass float32
	}
	all := []particle{{[2]float32{0, 1}, 2}, {[2]float32{3, 4}, 5}, {[2]float32{6, 7}, 8}}
	a, err := linalg.Upload(s, linalg.NewMatrix(1, len(all), all))
	check(err)
	last, err := a.Slice(0, 1, 1, 3).Download()
	check(err)
	fmt.Println(last.Row(0))
	// Output: [{[3 4] 5} {[6 7] 8}]
}
