package backend_test

import (
	"errors"
	"fmt"

	"github.com/tandem-gpu/tandem/backend"
)

// A launch of kernel[(4, 3), (16, 8)] in Numba, or kernel<<<dim3(4, 3), dim3(16, 8)>>> in CUDA C:
// groups first, then the work-items of a group.
func ExampleGrid2() {
	rows, cols := 24, 64
	g := backend.Grid2(cols/16, rows/8, 16, 8) // columns in x, rows in y
	fmt.Println("groups", g.Groups, "of work-items", g.Local)
	// Output: groups [4 3 1] of work-items [16 8 1]
}

// What went wrong is told by a sentinel; where it did, by the error's fields.
func ExampleError() {
	err := fmt.Errorf("upload: %w", &backend.Error{
		Driver: "cuda", Op: "cuMemAlloc", Err: backend.ErrOutOfMemory, Detail: "8 GiB",
	})
	var e *backend.Error
	if errors.Is(err, backend.ErrOutOfMemory) && errors.As(err, &e) {
		fmt.Println(e.Op, "of", e.Driver, "found no memory")
	}
	// Output: cuMemAlloc of cuda found no memory
}

// The Go side of a kernel sees a buffer as a slice.
func ExampleElems() {
	memory := make([]byte, 8)
	x := backend.Elems[float32](memory)
	x[0], x[1] = 1, 2
	fmt.Println(len(memory), x, len(backend.Bytes(x)))
	// Output: 8 [1 2] 8
}
