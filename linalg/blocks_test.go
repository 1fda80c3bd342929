package linalg_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tandem-gpu/tandem/linalg"
)

// What is written in parts is read in others, until the file changes.
func TestFileMatrix(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "a.npy"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out, err := linalg.CreateNPY[int32](f, 2, 3, true)
	if err != nil {
		t.Fatal(err)
	}
	whole := linalg.NewMatrix(2, 3, []int32{1, 2, 3, 4, 5, 6})
	for j := range 3 {
		if err := out.WritePart(t.Context(), whole.Slice(0, 2, j, j+1), 0, j); err != nil {
			t.Fatal(err)
		}
	}
	in, err := linalg.OpenNPY[int32](f)
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
	if _, err := linalg.OpenNPY[float32](f); !errors.Is(err, linalg.ErrNPY) {
		t.Errorf("as float32: %v", err)
	}
	if _, err := f.WriteAt([]byte("more"), 1000); err != nil {
		t.Fatal(err)
	}
	if err := in.ReadPart(t.Context(), part, 0, 0); !errors.Is(err, linalg.ErrNPY) {
		t.Errorf("of a file that has changed: %v", err)
	}
}
