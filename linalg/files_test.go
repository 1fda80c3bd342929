package linalg_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/npy"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
	"github.com/tandem-gpu/tandem/linalg/files"
)

// A memoryFile is a file that is written in any order.
type memoryFile struct {
	mu   sync.Mutex
	data []byte
	room int // bytes that it takes, if not 0
}

var errFull = errors.New("no space left")

func (f *memoryFile) WriteAt(b []byte, at int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	end := int(at) + len(b)
	if f.room > 0 && end > f.room {
		return 0, errFull
	}
	if grow := end - len(f.data); grow > 0 {
		f.data = append(f.data, make([]byte, grow)...)
	}
	return copy(f.data[at:], b), nil
}

// encoded is a file of m: in Fortran order, big-endian, of this shape instead of m's.
func encoded[T linalg.Element](t *testing.T, m linalg.Matrix[T], fortran, big bool, shape ...int) []byte {
	t.Helper()
	if shape == nil {
		shape = []int{m.Rows, m.Cols}
	}
	var b bytes.Buffer
	h := &npy.Header{Type: element.TypeOf[T](), BigEndian: big, Fortran: fortran, Shape: shape}
	if err := npy.Write(&b, h, m.Packed().Data); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// From files to a file, in so little memory that everything is cut, the result is byte for byte the
// file of the product in memory.
func TestFiles(t *testing.T) {
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	testFiles[float32](t, s, fileCases, 8)
	testFiles[float64](t, s, fileCases, 8)
	testFiles[int32](t, s, fileCases, 8)
	eachShared(t, func(t *testing.T, s *linalg.Session) { testFiles[float64](t, s, fileCases[2:3], 1) })
}

var fileCases = []fileCase{
	{13, 11, 17, 0},
	{13, 11, 17, 1 << 20},
	{13, 11, 17, 4000},
	{23, 19, 31, 2500},
	{23, 19, 31, 6000},
	{23, 19, 31, 1200},
	{5, 4, 60, 800},
	{40, 2, 3, 900},
	{2, 40, 3, 900},
	{3, 4, 0, 800},
	{0, 4, 3, 800},
}

// A fileCase is a product of m by k and k by n, in so many bytes of memory.
type fileCase struct{ m, n, k, memory int }

func testFiles[T linalg.Element](t *testing.T, s *linalg.Session, cases []fileCase, forms int) {
	rng, ctx := rand.New(rand.NewPCG(61, 62)), t.Context()
	try := func(what string, want []byte, f func(c *memoryFile) error) {
		t.Helper()
		c := new(memoryFile)
		if err := f(c); err != nil {
			t.Errorf("%s: %v", what, err)
		} else {
			equal(t, what, c.data, want)
		}
	}
	for i, x := range cases {
		a, b := random[T](rng, x.m, x.k, 0), random[T](rng, x.k, x.n, 0)
		d := random[T](rng, x.m, x.k, 0)
		product, err1 := linalg.MatMul(a, b, linalg.On(s), linalg.WithContext(ctx))
		transposed, err2 := linalg.Transpose(a, linalg.On(s), linalg.WithContext(ctx))
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		for form := range forms {
			fa, fb, fc := form&1 > 0, form&2 > 0, form&4 > 0
			big := (form + i) % 4
			what := fmt.Sprintf("%+v %T, Fortran %v %v %v, big-endian %02b", x, a.Data, fa, fb, fc, big)
			fileA := bytes.NewReader(encoded(t, a, fa, big&1 > 0))
			fileB := bytes.NewReader(encoded(t, b, fb, big&2 > 0))
			fileD := bytes.NewReader(encoded(t, d, fb, big&2 > 0))
			o := files.Options{Memory: int64(x.memory), Fortran: fc}
			try(what+": product", encoded(t, product, fc, false), func(c *memoryFile) error {
				return files.MatMul[T](ctx, s, c, fileA, fileB, o)
			})
			try(what+": transpose", encoded(t, transposed, fc, false), func(c *memoryFile) error {
				return files.Transpose[T](ctx, s, c, fileA, o)
			})
			for _, op := range kernels.Elementwises() {
				want, err := linalg.Elementwise(op, T(3), []linalg.Matrix[T]{a, d}[:op.Inputs], linalg.On(s),
					linalg.WithContext(ctx))
				if err != nil {
					t.Fatal(err)
				}
				try(what+": "+op.Name, encoded(t, want, fc, false), func(c *memoryFile) error {
					return files.Elementwise(ctx, s, op, T(3), c, o, []io.ReaderAt{fileA, fileD}[:op.Inputs]...)
				})
			}
		}
	}
	row, col := random[T](rng, 1, 50, 0), random[T](rng, 50, 1, 0)
	a, b := random[T](rng, 30, 50, 0), random[T](rng, 50, 30, 0)
	o := files.Options{Memory: 500}
	for _, x := range []struct {
		a, b   linalg.Matrix[T]
		sa, sb []int
		sc     []int
	}{
		{row, b, []int{50}, []int{50, 30}, []int{30}},
		{a, col, []int{30, 50}, []int{50}, []int{30}},
		{row, col, []int{50}, []int{50}, []int{}},
	} {
		want, err := linalg.MatMul(x.a, x.b, linalg.On(s), linalg.WithContext(ctx))
		if err != nil {
			t.Fatal(err)
		}
		fileA, fileB := encoded(t, x.a, false, false, x.sa...), encoded(t, x.b, false, true, x.sb...)
		try(fmt.Sprint("vectors ", x.sa, x.sb), encoded(t, want, false, false, x.sc...), func(c *memoryFile) error {
			return files.MatMul[T](ctx, s, c, bytes.NewReader(fileA), bytes.NewReader(fileB), o)
		})
	}
	vector := encoded(t, row, false, false, 50)
	try("a vector's transpose", vector, func(c *memoryFile) error {
		return files.Transpose[T](ctx, s, c, bytes.NewReader(vector), o)
	})
}

// failingFile is a file that cannot be read beyond some bytes.
type failingFile struct {
	*bytes.Reader
	room int64
	err  error
}

func (f failingFile) ReadAt(b []byte, at int64) (int, error) {
	if at+int64(len(b)) > f.room && at < f.Size()-1 {
		return 0, f.err
	}
	return f.Reader.ReadAt(b, at)
}

func TestFilesErrors(t *testing.T) {
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, small := t.Context(), files.Options{Memory: 800}
	good := encoded(t, sequence(20, 20, 1), false, false)
	read := func(b []byte) io.ReaderAt { return bytes.NewReader(b) }
	ints := encoded(t, linalg.NewMatrix(20, 20, make([]int32, 400)), false, false)
	flat, number := encoded(t, sequence(20, 3, 1), true, false), encoded(t, sequence(1, 1, 1), false, false, []int{}...)
	errRead := errors.New("cannot read")
	for name, x := range map[string]struct {
		a    io.ReaderAt
		room int
		want error
		says string
	}{
		"short":         {read(good[:len(good)-1]), 0, linalg.ErrNPY, "it ends"},
		"long":          {read(append(bytes.Clone(good), 0)), 0, linalg.ErrNPY, "more follows"},
		"no file":       {read([]byte("text")), 0, linalg.ErrNPY, "begin"},
		"another type":  {read(ints), 0, linalg.ErrNPY, "int32"},
		"another shape": {read(flat), 0, linalg.ErrShape, "[20 3]"},
		"number":        {read(number), 0, linalg.ErrShape, "[]"},
		"unreadable":    {failingFile{bytes.NewReader(good), 1000, errRead}, 0, errRead, ""},
		"cut off later": {failingFile{bytes.NewReader(good), 1000, io.EOF}, 0, linalg.ErrNPY, "it ends"},
		"full":          {read(good), 1000, errFull, ""},
		"full at once":  {read(good), 10, errFull, ""},
	} {
		err := files.MatMul[float32](ctx, s, &memoryFile{room: x.room}, x.a, read(good), small)
		refused(t, name, err, x.want, x.says)
	}
	err = files.Add[float32](ctx, s, &memoryFile{}, read(good), read(flat), small)
	refused(t, "a sum of two shapes", err, linalg.ErrShape, "[20 3]")
	err = files.Scale[float32](ctx, s, 2, &memoryFile{}, read(good), files.Options{Memory: 20})
	refused(t, "too little memory", err, backend.ErrOutOfMemory, "20 bytes that Options.Memory or TANDEM_HOST_MEMORY")
	err = files.Scale[float32](ctx, s, 2, &memoryFile{}, read(good), files.Options{Memory: -1})
	refused(t, "memory below 0", err, backend.ErrArgument, "-1 bytes of the host's memory")
	for n := range 4 {
		ctx, cancel := context.WithCancel(ctx)
		reports := 0
		err := files.MatMul[float32](linalg.WithProgress(ctx, func(float64) {
			if reports++; reports > n {
				cancel()
			}
		}), s, &memoryFile{}, read(good), read(good), small)
		if !errors.Is(err, context.Canceled) || reports > n+2 {
			t.Errorf("cancelled at the %dth of %d reports: %v", n+1, reports, err)
		}
	}
	t.Setenv(files.EnvHostMemory, "lots")
	err = files.Transpose[float32](ctx, s, &memoryFile{}, read(good), files.Options{})
	refused(t, "a limit that is none", err, backend.ErrArgument, files.EnvHostMemory)
}

// A file that changes in the middle is an error, whatever was read of it.
func TestFilesChange(t *testing.T) {
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	path := filepath.Join(t.TempDir(), "a.npy")
	data := encoded(t, sequence(20, 20, 1), false, false)
	for name, change := range map[string]func() error{
		"touched":   func() error { return os.Chtimes(path, time.Time{}, time.Unix(1, 0)) },
		"longer":    func() error { return os.WriteFile(path, append(bytes.Clone(data), 0), 0o600) },
		"shorter":   func() error { return os.Truncate(path, 300) },
		"untouched": func() error { return nil },
	} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		changed := false
		ctx := linalg.WithProgress(t.Context(), func(part float64) {
			if changed {
				return
			}
			changed = true
			if err := change(); err != nil {
				t.Error(err)
			}
		})
		o := files.Options{Memory: 800}
		err = files.MatMul[float32](ctx, s, &memoryFile{}, f, bytes.NewReader(data), o)
		if name == "untouched" != (err == nil) || err != nil && !errors.Is(err, linalg.ErrNPY) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && !strings.Contains(err.Error(), "a.npy has changed") {
			t.Errorf("%s: %v does not name the file", name, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A brokenFile panics once all but its header is read or written.
type brokenFile struct {
	memoryFile
	header int // its length
	looks  int // at the data that still succeed
}

func (f *brokenFile) fails(at int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if int(at) >= f.header && int(at) < len(f.data)-1 { // Open looks at the last bytes
		if f.looks--; f.looks < 0 {
			panic(errFull)
		}
	}
}

func (f *brokenFile) ReadAt(b []byte, at int64) (int, error) {
	f.fails(at)
	return bytes.NewReader(f.data).ReadAt(b, at)
}

func (f *brokenFile) WriteAt(b []byte, at int64) (int, error) {
	f.fails(at)
	return f.memoryFile.WriteAt(b, at)
}

// A file that panics does so where the caller can recover, with the stack, and the session goes on.
func TestFilesThatPanic(t *testing.T) {
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m := sequence(60, 50, 0)
	whole := encoded(t, m, false, false)
	broken := func(looks int) *brokenFile {
		f := &brokenFile{header: len(whole) - 4*len(m.Data), looks: looks}
		f.data = bytes.Clone(whole)
		return f
	}
	in, err := files.Open[float32](broken(0))
	if err != nil {
		t.Fatal(err)
	}
	out, err := files.Create[float32](broken(0), 60, 50, false)
	if err != nil {
		t.Fatal(err)
	}
	small := files.Options{Memory: 20000}
	for name, call := range map[string]func() error{
		"ReadPart":  func() error { return in.ReadPart(t.Context(), m, 0, 0) },
		"WritePart": func() error { return out.WritePart(t.Context(), m, 0, 0) },
		"read": func() error {
			return files.Add[float32](t.Context(), s, &memoryFile{}, broken(0), bytes.NewReader(whole), small)
		},
		"read later": func() error {
			return files.Add[float32](t.Context(), s, &memoryFile{}, broken(2), bytes.NewReader(whole), small)
		},
		"written": func() error {
			return files.Transpose[float32](t.Context(), s, broken(0), bytes.NewReader(whole), small)
		},
	} {
		func() {
			defer func() {
				err, ok := recover().(error)
				if !ok || !errors.Is(err, errFull) || !strings.Contains(err.Error(), "brokenFile") {
					t.Errorf("%s: recovered %v", name, err)
				}
			}()
			t.Errorf("%s: %v, and no panic", name, call())
		}()
	}
	if _, err := linalg.Add(m, m, linalg.On(s), linalg.WithContext(t.Context())); err != nil {
		t.Error(err)
	}
}

// A file is not overwritten by what is computed of it.
func TestFilesSameFile(t *testing.T) {
	data := encoded(t, random[float64](rand.New(rand.NewPCG(3, 4)), 20, 20, 0), false, false)
	name := filepath.Join(t.TempDir(), "a.npy")
	noError(t, os.WriteFile(name, data, 0o600))
	a, err := os.Open(name)
	noError(t, err)
	defer a.Close()
	c, err := os.OpenFile(name, os.O_RDWR, 0)
	noError(t, err)
	defer c.Close()
	err = files.MatMul[float64](t.Context(), nil, c, a, a, files.Options{})
	refused(t, "a product into its operand's file", err, linalg.ErrOverlap, "the file of an operand")
	err = files.Add[float64](t.Context(), nil, c, bytes.NewReader(data), c, files.Options{})
	refused(t, "a sum into its operand's file", err, linalg.ErrOverlap, "the file of an operand")
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, data) {
		t.Error("the file has changed", err)
	}
}
