package linalg_test

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/linalg"
	"github.com/tandem-gpu/tandem/linalg/files"
)

// What is written in parts is read in others, until the file changes.
func TestFileMatrix(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "a.npy"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out, err := files.Create[int32](f, 2, 3, true)
	if err != nil {
		t.Fatal(err)
	}
	whole := linalg.NewMatrix(2, 3, []int32{1, 2, 3, 4, 5, 6})
	for j := range 3 {
		if err := out.WritePart(t.Context(), whole.Slice(0, 2, j, j+1), 0, j); err != nil {
			t.Fatal(err)
		}
	}
	in, err := files.Open[int32](f)
	if err != nil {
		t.Fatal(err)
	}
	if rows, cols := in.Dims(); rows != 2 || cols != 3 {
		t.Errorf("%dx%d", rows, cols)
	}
	part := linalg.NewMatrix(2, 3, []int32{7, 7, 7, 7, 7, 7})
	if err := in.ReadPart(t.Context(), part.Slice(0, 2, 0, 2), 0, 1); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int32{2, 3, 7, 5, 6, 7} {
		if part.Data[i] != want {
			t.Errorf("element %d is %d, want %d", i, part.Data[i], want)
		}
	}
	if _, err := files.Open[float32](f); !errors.Is(err, linalg.ErrNPY) {
		t.Errorf("as float32: %v", err)
	}
	if _, err := f.WriteAt([]byte("more"), 1000); err != nil {
		t.Fatal(err)
	}
	if err := in.ReadPart(t.Context(), part, 0, 0); !errors.Is(err, linalg.ErrNPY) {
		t.Errorf("of a file that has changed: %v", err)
	}
}

// Parts that a file does not have, that are no matrix, or that go the other way are refused, and
// leave the file as it is.
func TestFileMatrixRefuses(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "a.npy"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, dims := range [][2]int{{-1, 3}, {3, -1}, {math.MaxInt, math.MaxInt}} {
		_, err := files.Create[float64](f, dims[0], dims[1], false)
		refused(t, "a file of such a shape", err, linalg.ErrShape, "a file of")
	}
	out, err := files.Create[float64](f, 4, 3, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.WritePart(t.Context(), linalg.NewMatrix[float64](4, 3, nil), 0, 0); err != nil {
		t.Fatal(err)
	}
	in, err := files.Open[float64](f)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	m := linalg.NewMatrix(2, 2, []float64{1, 2, 3, 4})
	for _, at := range [][2]int{{-1, 0}, {0, -1}, {3, 0}, {0, 2}, {math.MaxInt, 0}, {0, math.MinInt}} {
		write, read := out.WritePart(t.Context(), m, at[0], at[1]), in.ReadPart(t.Context(), m, at[0], at[1])
		refused(t, "a part to write", write, linalg.ErrShape, "of a file of 4x3")
		refused(t, "a part to read", read, linalg.ErrShape, "of a file of 4x3")
	}
	short := linalg.Matrix[float64]{Rows: 2, Cols: 2, Stride: 2, Data: m.Data[:3]}
	refused(t, "a short matrix to write", out.WritePart(t.Context(), short, 0, 0), linalg.ErrShape, "4 values")
	refused(t, "a short matrix to read", in.ReadPart(t.Context(), short, 0, 0), linalg.ErrShape, "4 values")
	refused(t, "writing what is read", in.WritePart(t.Context(), m, 0, 0), backend.ErrArgument, "Open opens")
	refused(t, "reading what is written", out.ReadPart(t.Context(), m, 0, 0), backend.ErrArgument, "Open opens")
	after, err := os.ReadFile(f.Name())
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file has changed; %v", err)
	}
	if m.Data[0] != 1 || m.Data[3] != 4 {
		t.Errorf("the matrix has become %v", m.Data)
	}
}
