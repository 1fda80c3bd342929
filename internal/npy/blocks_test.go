package npy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/tandem-gpu/tandem/element"
)

// A file that is written in blocks of several pieces is the one that Write writes, and reading it
// in others gives its elements, and nothing between its rows.
func TestBlocks(t *testing.T) {
	for _, dims := range [][2]int{{300, 2000}, {2000, 300}, {3, 50_000}, {50_000, 3}, {1, 300_000}} {
		rows, cols := dims[0], dims[1]
		data := make([]float32, rows*cols)
		for i := range data {
			data[i] = float32(i)
		}
		for form := range 4 {
			h := &Header{Type: element.Float32, BigEndian: form&1 > 0, Fortran: form&2 > 0, Shape: dims[:]}
			what := fmt.Sprintf("%+v", h)
			var want bytes.Buffer
			if err := Write(&want, h, data); err != nil {
				t.Fatal(err)
			}
			f, err := os.Create(filepath.Join(t.TempDir(), "a.npy"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			w, err := CreateBlocks[float32](f, h)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range quarters(rows, cols, rows/3, cols/2) {
				if err := w.Move(t.Context(), b[0], b[1], b[2], b[3], data[b[0]*cols+b[1]:], cols); err != nil {
					t.Fatal(what, err)
				}
			}
			if got, err := os.ReadFile(f.Name()); err != nil || !bytes.Equal(got, want.Bytes()) {
				t.Errorf("%s: another file, %v", what, err)
			}
			r, err := OpenBlocks[float32](f)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range quarters(rows, cols, rows-rows/4, cols/5) {
				stride := b[3] + 3
				got := make([]float32, b[2]*stride)
				if err := r.Move(t.Context(), b[0], b[1], b[2], b[3], got, stride); err != nil {
					t.Fatal(what, err)
				}
				for at, x := range got {
					i, j, want := at/stride, at%stride, float32(0)
					if j < b[3] {
						want = data[(b[0]+i)*cols+b[1]+j]
					}
					if x != want {
						t.Fatalf("%s: element (%d, %d) of block %v is %v, want %v", what, i, j, b, x, want)
					}
				}
			}
		}
	}
}

// quarters are the four blocks of a matrix that is cut before a row and a column: their first row
// and column, and how many they have.
func quarters(rows, cols, row, col int) (blocks [][4]int) {
	for _, r := range [][2]int{{0, row}, {row, rows - row}} {
		for _, c := range [][2]int{{0, col}, {col, cols - col}} {
			if r[1] > 0 && c[1] > 0 {
				blocks = append(blocks, [4]int{r[0], c[0], r[1], c[1]})
			}
		}
	}
	return blocks
}

// A reader that gives less than asked for, and no error, is an error: not zeros, nor a run without
// end.
func TestShortReads(t *testing.T) {
	h := &Header{Type: element.Float32, Shape: []int{30, 20}}
	var file bytes.Buffer
	if err := Write(&file, h, make([]float32, 600)); err != nil {
		t.Fatal(err)
	}
	for _, most := range []int{0, 1, 7} {
		for after := range 8 {
			err := readRows(&shortReader{bytes.NewReader(file.Bytes()), most, after})
			if !errors.Is(err, io.ErrNoProgress) {
				t.Errorf("%d bytes at most after %d calls: %v", most, after, err)
			}
		}
	}
}

func readRows(r io.ReaderAt) error {
	b, err := OpenBlocks[float32](r)
	for i := 0; err == nil && i < 30; i++ {
		err = b.Move(context.Background(), i, 0, 1, 20, make([]float32, 20), 20)
	}
	return err
}

// A shortReader reads a few bytes at most, from some call on.
type shortReader struct {
	io.ReaderAt
	most, left int
}

func (r *shortReader) ReadAt(p []byte, at int64) (int, error) {
	n, err := r.ReaderAt.ReadAt(p, at)
	if r.left--; r.left >= 0 {
		return n, err
	}
	return min(n, r.most), nil
}
