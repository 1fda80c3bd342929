package kernels_test

import (
	"fmt"
	"log"

	"github.com/tandem-gpu/tandem/backend"
	_ "github.com/tandem-gpu/tandem/backend/cpu"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/kernels/tuning"
)

// check ends an example that fails. A program handles its errors.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A product by one driver alone, without package linalg: parameters, kernel, arguments, launch.
func ExampleMatMul() {
	device, err := backend.Open("cpu")
	check(err)
	defer device.Close()
	queue, err := device.NewQueue()
	check(err)
	defer queue.Close()

	const m, n, k = 2, 2, 3
	a, b, c := []float32{1, 2, 3, 4, 5, 6}, []float32{7, 8, 9, 10, 11, 12}, make([]float32, m*n)
	upload := func(x []float32) *backend.Buffer {
		buf, err := device.Alloc(int64(4 * len(x)))
		check(err)
		check(queue.Write(buf, 0, backend.Bytes(x)))
		return buf
	}
	x, y, z := upload(a), upload(b), upload(c)

	info := device.Info()
	p := tuning.ChooseMatMul(&info, kernels.Float32, m, n, k) // no parameters change the result
	kernel, err := device.Compile(kernels.MatMul(kernels.Float32, p))
	check(err)
	args := kernels.MatMulArgs[float32](nil, m, n, k, 1,
		kernels.Operand{Buffer: x, Stride: k}, kernels.Operand{Buffer: y, Stride: n}, 0,
		kernels.Operand{Buffer: z, Stride: n})
	check(queue.Launch(kernel, kernels.MatMulGrid(p, m, n), args...))
	check(queue.Read(backend.Bytes(c), z, 0))
	fmt.Println(c)
	// Output: [58 64 139 154]
}
