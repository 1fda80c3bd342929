package files_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tandem-gpu/tandem/linalg"
	"github.com/tandem-gpu/tandem/linalg/files"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// C = A·Aᵀ from file to file, which may be larger than the memory.
func ExampleMatMul() {
	dir, err := os.MkdirTemp("", "")
	check(err)
	defer os.RemoveAll(dir)
	create := func(name string) *os.File {
		f, err := os.Create(filepath.Join(dir, name))
		check(err)
		return f
	}
	s, err := linalg.Open("cpu")
	check(err)
	defer s.Close()
	array, err := linalg.Upload(s, linalg.NewMatrix(2, 3, []float32{1, 2, 3, 4, 5, 6}))
	check(err)
	a, at, c := create("a.npy"), create("at.npy"), create("c.npy")
	check(array.WriteNPY(a))

	ctx := context.Background()
	check(files.Transpose[float32](ctx, s, at, a, files.Options{}))
	check(files.MatMul[float32](ctx, s, c, a, at, files.Options{Memory: 1 << 30}))

	_, err = c.Seek(0, 0)
	check(err)
	product, err := linalg.ReadNPY[float32](s, c)
	check(err)
	m, err := product.Download()
	check(err)
	fmt.Println(m.Data)
	// Output: [14 32 32 77]
}

// A file is written and read in parts, so that it may be larger than the memory.
func ExampleCreate() {
	file, err := os.CreateTemp("", "*.npy")
	check(err)
	defer os.Remove(file.Name())
	defer file.Close()

	ctx := context.Background()
	w, err := files.Create[float64](file, 1000, 2, false)
	check(err)
	for i := 0; i < 1000; i += 100 {
		part := linalg.NewMatrix[float64](100, 2, nil)
		for j := range 100 {
			part.Set(j, 0, float64(i+j))
		}
		check(w.WritePart(ctx, part, i, 0))
	}

	r, err := files.Open[float64](file)
	check(err)
	part := linalg.NewMatrix[float64](1, 2, nil)
	check(r.ReadPart(ctx, part, 998, 0))
	fmt.Println(part.Data)
	// Output: [998 0]
}
