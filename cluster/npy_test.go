package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/npy"
	"github.com/tandem-gpu/tandem/linalg"
)

// save writes a file of m in some order of elements and of bytes.
func save[T linalg.Element](t *testing.T, path string, m linalg.Matrix[T], h npy.Header) []byte {
	t.Helper()
	h.Type = element.TypeOf[T]()
	if h.Shape == nil {
		h.Shape = []int{m.Rows, m.Cols}
	}
	var b bytes.Buffer
	if err := npy.Write(&b, &h, m.Data); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Every rank reads its part, whatever the order, and the file that all write is byte for byte the
// one that was read.
func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i, x := range [][2]int{{0, 0}, {0, 3}, {1, 1}, {1, 9}, {9, 1}, {13, 10}} {
		for _, fortran := range []bool{false, true} {
			m := random[float64](x[0], x[1], uint64(i))
			path := filepath.Join(dir, "a.npy")
			want := save(t, path, m, npy.Header{Fortran: fortran})
			big := filepath.Join(dir, "big.npy")
			save(t, big, m, npy.Header{Fortran: fortran, BigEndian: true})
			out := filepath.Join(dir, "out.npy")
			grids := [][2]int{{1, 0}, {3, 3}, {6, 0}}
			onGrids(t, grids, 4, func(ctx context.Context, g *Grid, s *linalg.Session) error {
				for _, in := range []string{path, big} {
					d, err := ReadNPY[float64](ctx, g, in)
					if err != nil {
						return err
					}
					if err := compare(ctx, d, m, in); err != nil {
						return err
					}
					if err := d.WriteNPY(ctx, out, Layout{Fortran: fortran}); err != nil {
						return err
					}
					got, err := os.ReadFile(out)
					if err := g.c.Agree(ctx, err); err != nil {
						return err
					}
					if !bytes.Equal(got, want) {
						return fmt.Errorf("%v, fortran %t: the file that was written is another", x, fortran)
					}
				}
				return nil
			})
		}
	}
}

// Vectors are rows, or columns where that is asked for, and are written as vectors.
func TestVectors(t *testing.T) {
	dir := t.TempDir()
	path, out := filepath.Join(dir, "v.npy"), filepath.Join(dir, "w.npy")
	m := random[int32](1, 11, 1)
	want := save(t, path, m, npy.Header{Shape: []int{11}})
	onGrids(t, [][2]int{{4, 0}, {3, 1}}, 2, func(ctx context.Context, g *Grid, s *linalg.Session) error {
		row, err := ReadNPY[int32](ctx, g, path)
		if err != nil {
			return err
		}
		col, err := ReadNPYColumn[int32](ctx, g, path)
		if err != nil {
			return err
		}
		if err := compare(ctx, row, m, "a row"); err != nil {
			return err
		}
		if err := compare(ctx, col, linalg.NewMatrix(11, 1, m.Data), "a column"); err != nil {
			return err
		}
		for _, d := range []*Matrix[int32]{row, col} {
			for _, fortran := range []bool{false, true} {
				if err := d.WriteNPY(ctx, out, Layout{Shape: []int{11}, Fortran: fortran}); err != nil {
					return err
				}
				got, err := os.ReadFile(out)
				if err := g.c.Agree(ctx, err); err != nil {
					return err
				}
				if !bytes.Equal(got, want) {
					return errors.New("the vector that was written is another")
				}
			}
		}
		return nil
	})
}

// What is wrong with a file, on one rank or on all, is the same error on all.
func TestWrongFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	m := random[float32](100, 90, 1)
	whole := save(t, at("a.npy"), m, npy.Header{})
	m.Data[4567]++
	save(t, at("other.npy"), m, npy.Header{})
	save(t, at("shape.npy"), random[float32](90, 100, 1), npy.Header{})
	if err := exec.Command("mkfifo", at("pipe.npy")).Run(); err != nil { // as on Windows
		if err := os.Mkdir(at("pipe.npy"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, b := range map[string][]byte{
		"short.npy": whole[:len(whole)-1], "long.npy": append(whole, 0), "text.npy": []byte("hello"),
	} {
		if err := os.WriteFile(at(name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		first, second string // of rank 0, and of the others
		want          string
	}{
		{"a.npy", "other.npy", "rank 1: it has another file at"},
		{"a.npy", "shape.npy", "rank 1: it has another file"},
		{"a.npy", "none.npy", "rank 1: open " + at("none.npy")},
		{"none.npy", "none.npy", "open " + at("none.npy")},
		{"short.npy", "short.npy", at("short.npy") + ": linalg: .npy: not a whole .npy file"},
		{"long.npy", "long.npy", at("long.npy") + ": linalg: .npy: not a whole .npy file"},
		{"text.npy", "text.npy", at("text.npy") + ": linalg: .npy: not a whole .npy file"},
		{".", ".", "is not a regular file"},
		{"pipe.npy", "pipe.npy", "is not a regular file"},
	} {
		inTime(t, c.want, func() {
			for rank, err := range newFake(3).job(t.Context(), nil, func(ctx context.Context, comm *Comm) error {
				g, err := comm.Grid(ctx, 0, 16)
				if err != nil {
					return err
				}
				name := c.first
				if comm.Rank() > 0 {
					name = c.second
				}
				_, err = ReadNPY[float32](ctx, g, at(name))
				return err
			}) {
				// where all have the same error, no rank is named
				if !isAgreed(err) || !strings.Contains(err.Error(), c.want) ||
					errors.Is(err, linalg.ErrNPY) != strings.Contains(c.want, "whole") {
					t.Errorf("%s and %s: rank %d: %v, want %q", c.first, c.second, rank, err, c.want)
				}
			}
		})
	}
	alone := func(work func(ctx context.Context, g *Grid) error) error {
		return newFake(1).job(t.Context(), nil, func(ctx context.Context, c *Comm) error {
			g, err := c.Grid(ctx, 0, 16)
			if err != nil {
				return err
			}
			return work(ctx, g)
		})[0]
	}
	err := alone(func(ctx context.Context, g *Grid) error {
		_, err := ReadNPY[float64](ctx, g, at("a.npy"))
		return err
	})
	if !errors.Is(err, linalg.ErrNPY) || !strings.Contains(err.Error(), "float32, not float64") {
		t.Errorf("another type: %v", err)
	}
	err = alone(func(ctx context.Context, g *Grid) error {
		in, err := g.c.open(ctx, at("a.npy"))
		if err != nil {
			return err
		}
		defer in.f.Close()
		if err := os.Truncate(at("a.npy"), 1000); err != nil {
			return err
		}
		_, err = read[float32](ctx, g, in, 100, 90)
		return err
	})
	if !errors.Is(err, linalg.ErrNPY) || !strings.Contains(err.Error(), at("a.npy")+": ") {
		t.Errorf("truncated meanwhile: %v", err)
	}
}

// A file that cannot be written leaves what was there, and nothing else.
func TestOutputs(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	old := filepath.Join(dir, "old.npy")
	if err := os.WriteFile(old, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	write := func(paths ...string) []error {
		return newFake(3).job(t.Context(), nil, func(ctx context.Context, c *Comm) error {
			g, err := c.Grid(ctx, 0, 4)
			if err != nil {
				return err
			}
			m, err := New[float32](g, 9, 9)
			if err != nil {
				return err
			}
			return m.WriteNPY(ctx, paths[c.Rank()%len(paths)], Layout{})
		})
	}
	for _, c := range []struct{ path, want string }{
		{filepath.Join(dir, "none", "c.npy"), "no such file or directory"}, {dir, "is not a regular file"},
	} {
		for rank, err := range write(c.path) {
			if !isAgreed(err) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: rank %d: %v", c.path, rank, err)
			}
		}
	}
	// the same name for another folder on each machine
	for rank, err := range newFake(2).job(t.Context(), nil, func(ctx context.Context, c *Comm) error {
		o := &outputFile{path: []string{dir, other}[c.Rank()] + "/c.npy", first: c.Rank() == 0, id: c.job}
		defer o.abort()
		h := &npy.Header{Shape: []int{1, 1}}
		var err error
		if o.first {
			_, err = o.create(h)
		}
		if err := c.Agree(ctx, err); err != nil {
			return err
		}
		if !o.first {
			_, err = o.join(h)
		}
		return c.Agree(ctx, err)
	}) {
		if err == nil || !strings.Contains(err.Error(), "rank 1: ") || !strings.Contains(err.Error(), "must share it") {
			t.Errorf("a folder that is not shared: rank %d: %v", rank, err)
		}
	}
	link, target := filepath.Join(other, "link.npy"), filepath.Join(other, "new.npy")
	if err := os.Symlink("new.npy", link); err != nil {
		t.Fatal(err)
	}
	for rank, err := range write(link) {
		if err != nil {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
	if err := errors.Join(os.Remove(target), os.Remove(link)); err != nil {
		t.Errorf("what a link names is not written: %v", err)
	}
	if b, err := os.ReadFile(old); err != nil || string(b) != "old" {
		t.Errorf("the old file is %q, %v", b, err)
	}
	if err := os.Chmod(old, 0o440); err != nil {
		t.Fatal(err)
	}
	o := &outputFile{path: old, first: true} // which the other ranks can open
	_, err := o.create(&npy.Header{Shape: []int{1, 1}})
	if info, e := os.Stat(o.temp); err != nil || e != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("a file in the place of one that is only read: %v, %v, %v", info, err, e)
	}
	o.abort()
	for rank, err := range write(old) {
		if err != nil {
			t.Fatalf("rank %d: %v", rank, err)
		}
	}
	if info, err := os.Stat(old); err != nil || info.Mode().Perm() != 0o440 || info.Size() != 128+9*9*4 {
		t.Errorf("the new file: %v, %v", info, err)
	}
	for _, d := range []string{dir, other} {
		entries, err := os.ReadDir(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() != "old.npy" {
				t.Errorf("left behind: %s", e.Name())
			}
		}
	}
}
