package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tandem-gpu/tandem/internal/npy/header"
	"github.com/tandem-gpu/tandem/linalg"
)

// file makes a .npy file of the given format version with this header text.
func file(major byte, text string, data []byte) []byte {
	b := append([]byte(header.Magic), major, 0)
	if major == 1 {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(text)))
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
	}
	return append(append(b, text...), data...)
}

func text(descr, fortran, shape string) string {
	return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }  \n"
}

func encode(order binary.ByteOrder, v any) []byte {
	var b bytes.Buffer
	if err := binary.Write(&b, order, v); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func TestRead(t *testing.T) {
	le, be := binary.LittleEndian, binary.BigEndian
	nan := math.Float32frombits(0x7fc12345)
	f4 := linalg.NewMatrix(2, 3, []float32{1, float32(math.Copysign(0, -1)), 1e-42, nan, float32(math.Inf(-1)), 6})
	f4cols := []float32{1, nan, f4.Data[1], f4.Data[4], 1e-42, 6}
	f8 := linalg.NewMatrix(2, 2, []float64{1, 5e-324, -3, math.Inf(1)})
	i4 := linalg.NewMatrix(1, 4, []int32{math.MinInt32, -1, 0, math.MaxInt32})
	for _, test := range []struct {
		name  string
		file  []byte
		shape []int
		want  any
	}{
		{"f4", file(1, text("<f4", "False", "(2, 3)"), encode(le, f4.Data)), []int{2, 3}, f4},
		{"f4 big-endian", file(1, text(">f4", "False", "(2, 3)"), encode(be, f4.Data)), []int{2, 3}, f4},
		{"f4 fortran", file(1, text("<f4", "True", "(2, 3)"), encode(le, f4cols)), []int{2, 3}, f4},
		{"f4 fortran big-endian", file(1, text(">f4", "True", "(2, 3)"), encode(be, f4cols)), []int{2, 3}, f4},
		{"format 2", file(2, text("<f8", "False", "(2, 2)"), encode(le, f8.Data)), []int{2, 2}, f8},
		{"format 3", file(3, text(">f8", "False", "(2, 2)"), encode(be, f8.Data)), []int{2, 2}, f8},
		{"1-D", file(1, text("<i4", "False", "(4,)"), encode(le, i4.Data)), []int{4}, i4},
		{"1-D fortran", file(1, text(">i4", "True", "(4,)"), encode(be, i4.Data)), []int{4}, i4},
		{"no rows", file(1, text("<i4", "False", "(0, 3)"), nil), []int{0, 3}, linalg.Matrix[int32]{Rows: 0, Cols: 3, Stride: 3, Data: []int32{}}},
		{"no columns", file(1, text("<i4", "True", "(3, 0)"), nil), []int{3, 0}, linalg.Matrix[int32]{Rows: 3, Cols: 0, Stride: 0, Data: []int32{}}},
		{"no elements", file(1, text("<i4", "False", "(0,)"), nil), []int{0}, linalg.Matrix[int32]{Rows: 1, Cols: 0, Stride: 0, Data: []int32{}}},
		{
			"another order of the fields, tight", file(1, "{'shape':(1,4),'descr':'<i4','fortran_order':False}", encode(le, i4.Data)),
			[]int{1, 4},
			i4,
		},
	} {
		for _, size := range []int64{int64(len(test.file)), -1} {
			// One byte a read: a pipe gives what it likes.
			a, err := Read(iotest.OneByteReader(bytes.NewReader(test.file)), size)
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
				continue
			}
			if !slices.Equal(a.Shape, test.shape) || !sameBits(a.Matrix, test.want) {
				t.Errorf("%s: %v %v, want %v %v", test.name, a.Shape, a.Matrix, test.shape, test.want)
			}
		}
	}
}

// sameBits compares matrices with NaN by its bits.
func sameBits(a, b any) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && bytes.Equal(content(a), content(b))
}

func content(m any) []byte {
	var b bytes.Buffer
	switch m := m.(type) {
	case linalg.Matrix[float32]:
		fmt.Fprintln(&b, m.Rows, m.Cols, m.Stride)
		binary.Write(&b, binary.LittleEndian, m.Data)
	case linalg.Matrix[float64]:
		fmt.Fprintln(&b, m.Rows, m.Cols, m.Stride)
		binary.Write(&b, binary.LittleEndian, m.Data)
	case linalg.Matrix[int32]:
		fmt.Fprintln(&b, m.Rows, m.Cols, m.Stride)
		binary.Write(&b, binary.LittleEndian, m.Data)
	}
	return b.Bytes()
}

func TestReadLargeFortran(t *testing.T) {
	const rows, cols = 77, 130
	want := linalg.NewMatrix[int32](rows, cols, nil)
	stored := make([]int32, rows*cols)
	for i := range rows {
		for j := range cols {
			want.Set(i, j, int32(1000*i+j))
			stored[j*rows+i] = int32(1000*i + j)
		}
	}
	b := file(1, text("<i4", "True", "(77, 130)"), encode(binary.LittleEndian, stored))
	a, err := Read(bytes.NewReader(b), int64(len(b)))
	if err != nil || !sameBits(a.Matrix, want) {
		t.Fatalf("not the same matrix: %v", err)
	}
}

func TestReadBad(t *testing.T) {
	data := make([]byte, 24)
	good := file(1, text("<f4", "False", "(2, 3)"), data)
	for _, test := range []struct {
		name string
		file []byte
		kind error
		says string
	}{
		{"empty", nil, ErrFormat, "ends within the header"},
		{"text", []byte("1,2,3\n4,5,6\n"), ErrFormat, "does not begin"},
		{"zip", append([]byte("PK\x03\x04"), data...), ErrFormat, "does not begin"},
		{"magic alone", good[:6], ErrFormat, "ends within the header"},
		{"half a header", good[:40], ErrFormat, "ends within the header"},
		{"header alone", good[:len(good)-24], ErrFormat, "promises 24 bytes of data and it has 0"},
		{"truncated", good[:len(good)-1], ErrFormat, "promises 24 bytes of data and it has 23"},
		{"longer", append(slices.Clone(good), 0), ErrFormat, "more follows"},
		{"format 0", file(0, text("<f4", "False", "(2, 3)"), data), ErrFormat, "format 0.0"},
		{"format 4", file(4, text("<f4", "False", "(2, 3)"), data), ErrFormat, "format 4.0"},
		{"huge header", file(2, "", nil)[:8:8], ErrFormat, "ends within"},
		{"huge header length", append(file(2, "", nil)[:8:8], 0xff, 0xff, 0xff, 0xff), ErrFormat, "claims 4294967295 bytes"},
		{"huge shape", file(1, text("<f4", "False", "(1000000, 1000000)"), data), ErrFormat, "promises 4000000000000 bytes"},
		{"overflowing shape", file(1, text("<f4", "False", "(4294967296, 4294967296)"), data), ErrFormat, "no memory holds"},
		{"wrapping shape", file(1, text("<f4", "False", "(4611686018427387904, 4)"), data), ErrFormat, "header is not what"},
		{"negative shape", file(1, text("<f4", "False", "(-2, 3)"), data), ErrFormat, "header is not what"},
		{"number beyond int", file(1, text("<f4", "False", "(99999999999999999999, 3)"), data), ErrFormat, "header is not what"},
		{"words for a shape", file(1, text("<f4", "False", "(two, 3)"), data), ErrFormat, "header is not what"},
		{"no type", file(1, text("", "False", "(2, 3)"), data), ErrFormat, "header is not what"},
		{"no order", file(1, text("<f4", "Maybe", "(2, 3)"), data), ErrFormat, "header is not what"},
		{"two types", file(1, "{'descr': '<f4', 'descr': '<f4', 'shape': (2, 3), }", data), ErrFormat, "fortran_order not found"},
		{"no dictionary", file(1, "hello", data), ErrFormat, "header is not what"},
		{"int64", file(1, text("<i8", "False", "(3,)"), data), ErrType, `"i8"`},
		{"float16", file(1, text("<f2", "False", "(3, 4)"), data), ErrType, "astype"},
		{"bool", file(1, text("|b1", "False", "(24,)"), data), ErrType, `"b1"`},
		{"objects", file(1, text("|O", "False", "(3,)"), data), ErrType, `"O"`},
		{"complex", file(1, text("<c8", "False", "(3,)"), data), ErrType, `"c8"`},
		{"dates", file(1, text("<M8[ns]", "False", "(3,)"), data), ErrType, "structured"},
		{"structured", file(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,), }\n", data), ErrType, "structured"},
		{"0-D", file(1, text("<f4", "False", "()"), data[:4]), ErrDims, "0-dimensional"},
		{"3-D", file(1, text("<f4", "False", "(1, 2, 3)"), data), ErrDims, "3 dimensions"},
	} {
		for _, size := range []int64{int64(len(test.file)), -1} {
			a, err := Read(bytes.NewReader(test.file), size)
			if !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%s (size %d): %v, %v; want %q in a %q", test.name, size, a, err, test.says, test.kind)
			}
		}
	}
}

// A claimed shape allocates nothing, whether the size of the file is known or not.
func TestReadAllocatesWhatIsThere(t *testing.T) {
	b := file(1, text("<f8", "False", "(100000, 100000)"), make([]byte, 100))
	for _, size := range []int64{int64(len(b)), -1} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := Read(bytes.NewReader(b), size); !errors.Is(err, ErrFormat) {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 10<<20 {
			t.Errorf("size %d: %d bytes allocated for a file of %d", size, n, len(b))
		}
	}
}

func TestReaderErrorIsPassedOn(t *testing.T) {
	broken := errors.New("disk on fire")
	whole := file(1, text("<f4", "False", "(2, 3)"), make([]byte, 24))
	for _, n := range []int{3, 20, len(whole) - 5} {
		r := io.MultiReader(bytes.NewReader(whole[:n]), iotest.ErrReader(broken))
		if _, err := Read(r, int64(len(whole))); !errors.Is(err, broken) {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
}

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npy")
	if _, err := ReadFile(path); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("not NumPy's at all"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(path); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
	if err := os.WriteFile(path, file(1, text("<f4", "False", "(2, 3)"), make([]byte, 24)), 0o666); err != nil {
		t.Fatal(err)
	}
	if a, err := ReadFile(path); err != nil || a.Type() != "float32" {
		t.Error(a, err)
	}
}

// The headers are those that numpy.save writes (NumPy 2.4).
func TestWrite(t *testing.T) {
	numpy := func(dict string) string {
		const length = 118
		return "\x93NUMPY\x01\x00\x76\x00" + dict + strings.Repeat(" ", length-1-len(dict)) + "\n"
	}
	strided := linalg.Matrix[float64]{Rows: 2, Cols: 1, Stride: 3, Data: []float64{1, -9, -9, 2}}
	for _, test := range []struct {
		write func(io.Writer) error
		want  string
	}{
		{
			func(w io.Writer) error { return Write(w, []int{2, 1}, linalg.NewMatrix(2, 1, []float32{1, -2})) },
			numpy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }") + "\x00\x00\x80\x3f\x00\x00\x00\xc0",
		},
		{
			func(w io.Writer) error { return Write(w, []int{2, 1}, strided) },
			numpy("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 1), }") + "\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\x00\x40",
		},
		{
			func(w io.Writer) error { return Write(w, []int{1}, linalg.NewMatrix(1, 1, []int32{-2})) },
			numpy("{'descr': '<i4', 'fortran_order': False, 'shape': (1,), }") + "\xfe\xff\xff\xff",
		},
		{
			func(w io.Writer) error { return Write(w, []int{}, linalg.NewMatrix(1, 1, []int32{1})) },
			numpy("{'descr': '<i4', 'fortran_order': False, 'shape': (), }") + "\x01\x00\x00\x00",
		},
		{
			func(w io.Writer) error { return Write(w, []int{1234567, 0}, linalg.NewMatrix[int32](1234567, 0, nil)) },
			numpy("{'descr': '<i4', 'fortran_order': False, 'shape': (1234567, 0), }"),
		},
	} {
		var b bytes.Buffer
		if err := test.write(&b); err != nil || b.String() != test.want {
			t.Errorf("%v\n%q, want\n%q", err, b.String(), test.want)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	m := linalg.NewMatrix[float64](700, 401, nil) // more than one chunk
	for i := range m.Data {
		m.Data[i] = math.Float64frombits(uint64(i) * 0x9e3779b97f4a7c15)
	}
	var b bytes.Buffer
	if err := Write(&b, []int{700, 401}, m); err != nil {
		t.Fatal(err)
	}
	a, err := Read(&b, int64(b.Len()))
	if err != nil || !sameBits(a.Matrix, m) {
		t.Errorf("not the same matrix: %v", err)
	}
}

// A full disk is an error wherever it shows.
func TestWriteError(t *testing.T) {
	m := linalg.NewMatrix[int32](10, 10, nil)
	for room := range 528 {
		w := &limited{room: room}
		if err := Write(w, []int{10, 10}, m); !errors.Is(err, io.ErrShortWrite) {
			t.Fatalf("room for %d bytes: %v", room, err)
		}
	}
	if err := Write(&limited{room: 528}, []int{10, 10}, m); err != nil {
		t.Error(err)
	}
}

type limited struct{ room int }

func (w *limited) Write(p []byte) (int, error) {
	if len(p) > w.room {
		return w.room, io.ErrShortWrite
	}
	w.room -= len(p)
	return len(p), nil
}

// FuzzRead: whatever the file is, Read ends without a panic, and what it accepts is whole.
func FuzzRead(f *testing.F) {
	data := make([]byte, 24)
	for _, shape := range []string{"(2, 3)", "(6,)", "()", "(0, 3)", "(9999999999999999, 3)", "(6)", "(,6)", "(2 3)"} {
		for _, descr := range []string{"<f4", ">i4", "<f8", "|O", "", "<"} {
			f.Add(file(1, text(descr, "False", shape), data))
			f.Add(file(2, text(descr, "True", shape), data))
		}
	}
	f.Add(file(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,)}", data))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, size := range []int64{int64(len(b)), -1} {
			a, err := Read(bytes.NewReader(b), size)
			if err != nil {
				if !errors.Is(err, ErrFormat) && !errors.Is(err, ErrType) && !errors.Is(err, ErrDims) {
					t.Errorf("%T %v", err, err)
				}
				continue
			}
			n := 1
			for _, d := range a.Shape {
				n *= d
			}
			if len(a.Shape) < 1 || len(a.Shape) > 2 || n != elements(a) {
				t.Errorf("shape %v with %d elements", a.Shape, elements(a))
			}
		}
	})
}

func elements(a *Array) int {
	switch m := a.Matrix.(type) {
	case linalg.Matrix[float32]:
		return len(m.Data)
	case linalg.Matrix[float64]:
		return len(m.Data)
	}
	return len(a.Matrix.(linalg.Matrix[int32]).Data)
}
