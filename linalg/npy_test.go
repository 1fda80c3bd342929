package linalg_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/npy"
	"github.com/tandem-gpu/tandem/linalg"
)

// npyFile is a file with this header and data.
func npyFile(descr string, fortran bool, shape string, order binary.ByteOrder, data any) []byte {
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n", descr,
		map[bool]string{true: "True", false: "False"}[fortran], shape)
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(text)), 0)
	b, err := binary.Append(append(b, text...), order, data)
	if err != nil {
		panic(err)
	}
	return b
}

func TestNPY(t *testing.T) {
	defer linalg.SmallStream(64)()
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		testNPY[float32](t, s)
		testNPY[float64](t, s)
		testNPY[int32](t, s)
	})
}

func testNPY[T linalg.Element](t *testing.T, s *linalg.Session) {
	rng := rand.New(rand.NewPCG(31, 32))
	descr := map[string]string{"float32": "f4", "float64": "f8", "int32": "i4"}[fmt.Sprintf("%T", T(0))]
	for _, shape := range [][2]int{{5, 7}, {1, 40}, {40, 1}, {3, 0}, {0, 3}, {1, 1}, {33, 65}} {
		m := random[T](rng, shape[0], shape[1], 0)
		what := fmt.Sprintf("%s on %s", m, s.Info().Driver)
		var file bytes.Buffer // as internal/npy writes it, which is what numpy.save writes
		h := &npy.Header{Type: element.TypeOf[T](), Shape: []int{m.Rows, m.Cols}}
		if err := npy.Write(&file, h, m.Data); err != nil {
			t.Fatal(err)
		}
		var written bytes.Buffer
		if err := upload(t, s, m).WriteNPY(&written); err != nil {
			t.Fatalf("%s: WriteNPY: %v", what, err)
		}
		equal(t, what+": the file", written.Bytes(), file.Bytes())

		columns, err := linalg.Transpose(m, linalg.On(s), linalg.WithContext(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		dims := fmt.Sprintf("(%d, %d)", m.Rows, m.Cols)
		for form, data := range map[string][]byte{
			"plain":               file.Bytes(),
			"big-endian":          npyFile(">"+descr, false, dims, binary.BigEndian, m.Data),
			"Fortran":             npyFile("<"+descr, true, dims, binary.LittleEndian, columns.Data),
			"Fortran, big-endian": npyFile(">"+descr, true, dims, binary.BigEndian, columns.Data),
		} {
			r := bytes.NewReader(append(bytes.Clone(data), "next"...))
			a, err := linalg.ReadNPY[T](s, iotest.OneByteReader(r))
			if err != nil {
				t.Fatalf("%s, %s: %v", what, form, err)
			}
			same(t, what+", "+form, download(t, a), m)
			if rest, _ := io.ReadAll(r); string(rest) != "next" {
				t.Errorf("%s, %s: %q is left in the reader", what, form, rest)
			}
			if err := a.Free(); err != nil {
				t.Error(err)
			}
		}
	}
	row := random[T](rng, 1, 9, 0)
	a, err := linalg.ReadNPY[T](s, bytes.NewReader(npyFile("<"+descr, false, "(9,)", binary.LittleEndian, row.Data)))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "one dimension", download(t, a), row)
	one := linalg.NewMatrix(1, 1, row.Data[:1])
	a, err = linalg.ReadNPY[T](s, bytes.NewReader(npyFile("<"+descr, false, "()", binary.LittleEndian, one.Data)))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "no dimension", download(t, a), one)
}

// What a header promises takes no memory: the array grows with what comes, and little is copied.
func TestNPYGrows(t *testing.T) {
	defer linalg.SmallStream(1 << 10)()
	s, d := openCounted(t)
	shapes := []string{"(30000, 30000)", "(900000000,)", "(900000000, 1)"}
	if strconv.IntSize == 32 { // what could be there
		shapes = []string{"(20000, 20000)", "(400000000,)", "(400000000, 1)"}
	}
	for _, shape := range shapes {
		for _, fortran := range []bool{false, true} {
			d.most.Store(0)
			file := npyFile("<f4", fortran, shape, binary.LittleEndian, make([]float32, 1000))
			_, err := linalg.ReadNPY[float32](s, bytes.NewReader(file))
			if n := d.most.Load(); !errors.Is(err, io.ErrUnexpectedEOF) || n > 16*4000 || n == 0 {
				t.Errorf("%s: 4,000 bytes came, up to %d were held: %v", shape, n, err)
			}
		}
	}
	d.most.Store(0)
	want := linalg.NewMatrix[float32](300, 300, nil)
	for i := range want.Data {
		want.Data[i] = float32(i)
	}
	a, err := linalg.ReadNPY[float32](s, bytes.NewReader(npyFile("<f4", false, "(300, 300)", binary.LittleEndian,
		want.Data)))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "grown", download(t, a), want)
	if n := d.most.Load(); n > 360_000+360_000/16 {
		t.Errorf("up to %d bytes for an array of 360,000", n)
	}
	if err := a.Free(); err != nil || d.now.Load() != 0 {
		t.Errorf("%v, %d bytes stay", err, d.now.Load())
	}
}

// A Slice is read and written without what lies between its rows.
func TestRaw(t *testing.T) {
	defer linalg.SmallStream(32)()
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		rng := rand.New(rand.NewPCG(33, 34))
		whole, part := random[float32](rng, 9, 20, 0), random[float32](rng, 4, 11, 0)
		a := upload(t, s, whole)
		data, err := binary.Append(nil, binary.LittleEndian, part.Data)
		if err != nil {
			t.Fatal(err)
		}
		slice := a.Slice(3, 7, 5, 16)
		if err := slice.ReadRaw(bytes.NewReader(append(bytes.Clone(data), 1, 2, 3))); err != nil {
			t.Fatal(err)
		}
		for i := range part.Rows {
			copy(whole.Row(i + 3)[5:], part.Row(i))
		}
		same(t, "ReadRaw", download(t, a), whole)
		var b bytes.Buffer
		if err := slice.WriteRaw(&b); err != nil {
			t.Fatal(err)
		}
		equal(t, "WriteRaw", b.Bytes(), data)
	})
}

// A bool is read as 0 or 1, whatever the byte is.
func TestBoolBytes(t *testing.T) {
	defer linalg.SmallStream(3)()
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		in, want := []byte{0, 1, 2, 0, 255, 128, 0, 1}, []byte{0, 1, 1, 0, 1, 1, 0, 1}
		a, err := linalg.ReadNPY[bool](s, bytes.NewReader(npyFile("|b1", false, "(2, 4)", binary.LittleEndian, in)))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			var b bytes.Buffer
			if err := a.WriteRaw(&b); err != nil {
				t.Fatal(err)
			}
			equal(t, "what was read", b.Bytes(), want)
			if err := a.ReadRaw(bytes.NewReader(in)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// counted is a device that counts the buffers in use and their bytes, now and at most, and of which
// a call fails.
type counted struct {
	live, calls, now, most atomic.Int64
	failAt                 int64
}

var errCounted = errors.New("made to fail")

// hooks are those of the device, which has memory of its own.
func (d *counted) hooks() *backendtest.Hooks {
	return &backendtest.Hooks{
		Info: func(i *backend.Info) { i.UnifiedMemory = false },
		Call: d.call,
		Made: func(what string, bytes int64) {
			if what == "buffer" {
				d.live.Add(1)
				d.most.Store(max(d.most.Load(), d.now.Add(bytes)))
			}
		},
		Freed: func(what string, bytes int64) {
			if what == "buffer" {
				d.live.Add(-1)
				d.now.Add(-bytes)
			}
		},
	}
}

func (d *counted) call(name string, call func() error) error {
	switch name {
	case "Device.Alloc", "Queue.Write", "Queue.Read", "Queue.Copy", "Queue.Launch":
		if d.calls.Add(1) == d.failAt {
			return errCounted
		}
	}
	return call()
}

func openCounted(t *testing.T) (*linalg.Session, *counted) {
	t.Helper()
	d, err := backend.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	c := new(counted)
	s, err := linalg.NewSession(backendtest.Hook(d, c.hooks()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, c
}

func TestNPYErrors(t *testing.T) {
	defer linalg.SmallStream(16)()
	s, d := openCounted(t)
	data := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	good := npyFile("<f4", true, "(3, 4)", binary.LittleEndian, data)
	check := func(what string, r io.Reader, want error, text string) {
		t.Helper()
		a, err := linalg.ReadNPY[float32](s, r)
		if a != nil || !errors.Is(err, want) || !strings.Contains(fmt.Sprint(err), text) {
			t.Errorf("%s: %v, %v, want %v with %q", what, a, err, want, text)
		}
		if n := d.live.Load(); n != 0 {
			t.Fatalf("%s: %d buffers stay", what, n)
		}
	}
	check("doubles", bytes.NewReader(npyFile("<f8", false, "(1, 1)", binary.LittleEndian, 1.0)), linalg.ErrNPY,
		"the file holds float64, not float32: read it as that, or convert it with numpy's astype('float32')")
	check("halves", bytes.NewReader(npyFile("<f2", false, "(1, 1)", binary.LittleEndian, int16(1))), linalg.ErrNPY,
		"holds float16, not float32: read it as that, or convert it with numpy's astype('float32')")
	check("complex", bytes.NewReader(npyFile("<c8", false, "(1, 1)", binary.LittleEndian, int64(1))), linalg.ErrNPY,
		"holds complex64, not float32")
	check("a cube", bytes.NewReader(npyFile("<f4", false, "(1, 1, 1)", binary.LittleEndian, data[:1])), linalg.ErrNPY,
		"3 dimensions")
	rows, cols := 1<<30, 1<<17
	if strconv.IntSize == 32 { // fewer bytes than 1<<31, and more than a buffer takes
		rows, cols = 1<<29-1, 1
	}
	check("too large",
		bytes.NewReader(npyFile("<f4", false, fmt.Sprintf("(%d, %d)", rows, cols), binary.LittleEndian, data)),
		backend.ErrOutOfMemory, fmt.Sprintf("%dx%d float32: ", rows, cols))
	small := openFaulty(t, newFaulty("cpu", func(i *backend.Info) { i.MaxAlloc = 40 }))
	r := bytes.NewReader(good)
	if _, err := linalg.ReadNPY[float32](small, r); !errors.Is(err, backend.ErrOutOfMemory) || r.Len() != 48 {
		t.Errorf("larger than a buffer: %v, and %d of 48 bytes are left", err, r.Len())
	}
	check("larger than any memory",
		bytes.NewReader(npyFile("<f4", false, "(2147483647, 2147483647)", binary.LittleEndian, data)), linalg.ErrNPY,
		"no memory holds")
	check("a picture", strings.NewReader("\x89PNG"), linalg.ErrNPY, "does not begin as one")
	for n := range len(good) {
		check(fmt.Sprintf("%d bytes", n), bytes.NewReader(good[:n]), linalg.ErrNPY, "")
	}
	header := len(good) - 48
	for n := header; n < len(good); n++ {
		check(fmt.Sprintf("%d bytes", n), bytes.NewReader(good[:n]), io.ErrUnexpectedEOF,
			fmt.Sprintf("%d bytes of data for 4x3 float32", n-header))
	}
	broken := errors.New("broken line")
	for n := range len(good) + 1 {
		r := io.MultiReader(bytes.NewReader(good[:n]), iotest.ErrReader(broken))
		if n < len(good) {
			check(fmt.Sprintf("failure after %d bytes", n), r, broken, "")
		}
	}
	failed := 0
	for at := int64(1); ; at++ {
		d.calls.Store(0)
		d.failAt = at
		a, err := linalg.ReadNPY[float32](s, bytes.NewReader(good))
		if err == nil {
			a.Free()
			break
		}
		failed++
		if !errors.Is(err, errCounted) || d.live.Load() != 0 {
			t.Errorf("failure of call %d: %v, %d buffers stay", at, err, d.live.Load())
		}
	}
	if failed < 6 { // two allocations, three pieces or more, the transpose
		t.Errorf("only %d calls could fail", failed)
	}
	d.failAt = 0

	a, err := linalg.NewArray[float32](s, 3, 4)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.ReadRaw(bytes.NewReader(make([]byte, 47))); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("47 of 48 bytes: %v", err)
	}
	for n := range 176 { // bytes
		w := &limited{n: n, err: broken}
		if err := a.WriteNPY(w); !errors.Is(err, broken) {
			t.Errorf("a writer that fails after %d bytes: %v", n, err)
		}
		if err := a.WriteNPY(&limited{n: n}); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("a writer that takes %d bytes without an error: %v", n, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := linalg.ReadNPY[float32](s, bytes.NewReader(good)); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("ReadNPY in a closed session: %v", err)
	}
	if err := errors.Join(a.WriteNPY(io.Discard), a.ReadRaw(bytes.NewReader(good)),
		a.WriteRaw(io.Discard)); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("in a closed session: %v", err)
	}
	if _, err := a.View(); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("View in a closed session: %v", err)
	}
}

// limited is a writer that takes n bytes, and then fails.
type limited struct {
	n   int
	err error
}

func (w *limited) Write(b []byte) (int, error) {
	if len(b) > w.n {
		return w.n, w.err
	}
	w.n -= len(b)
	return len(b), nil
}

// largest is the largest piece that was read or written at once.
type largest struct{ n int }

func (l *largest) Read(b []byte) (int, error) {
	l.n = max(l.n, len(b))
	return len(b), nil
}

func (l *largest) Write(b []byte) (int, error) {
	l.n = max(l.n, len(b))
	return len(b), nil
}

// A large array goes through little memory, whatever its shape.
func TestStreamInPieces(t *testing.T) {
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, shape := range [][2]int{{1, 3 << 20}, {3 << 20, 1}, {1500, 2000}} {
		a, err := linalg.NewArray[int32](s, shape[0], shape[1])
		if err != nil {
			t.Fatal(err)
		}
		var l largest
		if err := a.ReadRaw(&l); err != nil || l.n > 4<<20 || l.n < 3<<20 {
			t.Errorf("%v: read %d bytes at a time: %v", shape, l.n, err)
		}
		l.n = 0
		if err := a.WriteRaw(&l); err != nil || l.n > 4<<20 || l.n < 3<<20 {
			t.Errorf("%v: wrote %d bytes at a time: %v", shape, l.n, err)
		}
		if err := a.Free(); err != nil {
			t.Error(err)
		}
	}
}

func TestView(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		testView[float32](t, s)
		testView[float64](t, s)
		testView[int32](t, s)
	})
}

func testView[T linalg.Element](t *testing.T, s *linalg.Session) {
	rng := rand.New(rand.NewPCG(35, 36))
	for _, shape := range [][2]int{{5, 7}, {1, 1}, {0, 3}} {
		m := uniform[T](rng, shape[0], shape[1])
		a := upload(t, s, m)
		v, err := a.View()
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Scale(0, a); err != nil { // the view is a copy
			t.Fatal(err)
		}
		if r, c := v.Dims(); r != m.Rows || c != m.Cols {
			t.Fatalf("view of %s is %dx%d", m, r, c)
		}
		if r, c := v.T().Dims(); r != m.Cols || c != m.Rows {
			t.Errorf("transpose of the view of %s is %dx%d", m, r, c)
		}
		for i := range m.Rows {
			for j := range m.Cols {
				if want := float64(m.At(i, j)); v.At(i, j) != want || v.T().At(j, i) != want {
					t.Errorf("element (%d, %d) of %s is %v, want %v", i, j, m, v.At(i, j), want)
				}
			}
		}
		if m.Rows > 0 {
			if d := mat.DenseCopyOf(v); !mat.Equal(d, v) || mat.Sum(d) != mat.Sum(v) {
				t.Errorf("gonum's copy of the view of %s differs", m)
			}
		}
	}
}

// uniform is a matrix of numbers from -1000 to 1000.
func uniform[T linalg.Element](rng *rand.Rand, rows, cols int) linalg.Matrix[T] {
	m := linalg.NewMatrix[T](rows, cols, nil)
	for i := range m.Data {
		m.Data[i] = T((rng.Float64() - 0.5) * 2000)
	}
	return m
}

// A file that is rewritten while it is read into memory is an error, not a mixture.
func TestReadNPYChangedFile(t *testing.T) {
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	path := filepath.Join(t.TempDir(), "a.npy")
	data := encoded(t, sequence(20, 20, 1), false, false)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a, err := linalg.ReadNPY[float32](s, &changing{File: f})
	if a != nil || !errors.Is(err, linalg.ErrNPY) || !strings.Contains(err.Error(), "a.npy has changed") {
		t.Errorf("%v, %v", a, err)
	}
}

// A changing file is touched when it is read.
type changing struct{ *os.File }

func (c *changing) Read(p []byte) (int, error) {
	n, err := c.File.Read(p)
	if e := os.Chtimes(c.Name(), time.Time{}, time.Unix(1, 0)); e != nil {
		return n, e
	}
	return n, err
}
