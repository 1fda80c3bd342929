package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/element"
)

// file makes a .npy file of the given format version with this header text.
func file(major byte, text string, data []byte) []byte {
	b := append([]byte(magic), major, 0)
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

// readAll reads a whole file.
func readAll(r io.Reader) (*Header, any, error) {
	h, err := ReadHeader(r)
	if err != nil {
		return nil, nil, err
	}
	data, err := element.ByType(h.Type, readAny[float32], readAny[float64], readAny[int32])(r, h)
	return h, data, err
}

func readAny[T element.Element](r io.Reader, h *Header) (any, error) { return Read[T](r, h) }

func TestRead(t *testing.T) {
	le, be := binary.LittleEndian, binary.BigEndian
	nan := math.Float32frombits(0x7fc12345)
	f4 := []float32{1, float32(math.Copysign(0, -1)), 1e-42, nan, float32(math.Inf(-1)), 6}
	f4cols := []float32{1, nan, f4[1], f4[4], 1e-42, 6}
	f8 := []float64{1, 5e-324, -3, math.Inf(1)}
	i4 := []int32{math.MinInt32, -1, 0, math.MaxInt32}
	for _, test := range []struct {
		name  string
		file  []byte
		shape []int
		want  any
	}{
		{"f4", file(1, text("<f4", "False", "(2, 3)"), encode(le, f4)), []int{2, 3}, f4},
		{"f4 big-endian", file(1, text(">f4", "False", "(2, 3)"), encode(be, f4)), []int{2, 3}, f4},
		{"f4 fortran", file(1, text("<f4", "True", "(2, 3)"), encode(le, f4cols)), []int{2, 3}, f4},
		{"f4 fortran big-endian", file(1, text(">f4", "True", "(2, 3)"), encode(be, f4cols)), []int{2, 3}, f4},
		{"format 2", file(2, text("<f8", "False", "(2, 2)"), encode(le, f8)), []int{2, 2}, f8},
		{"format 3", file(3, text(">f8", "False", "(2, 2)"), encode(be, f8)), []int{2, 2}, f8},
		{"1-D", file(1, text("<i4", "False", "(4,)"), encode(le, i4)), []int{4}, i4},
		{"1-D fortran", file(1, text(">i4", "True", "(4,)"), encode(be, i4)), []int{4}, i4},
		{"0-D", file(1, text("<i4", "False", "()"), encode(le, i4[1:2])), nil, i4[1:2]},
		{"0-D fortran", file(1, text(">i4", "True", "()"), encode(be, i4[1:2])), nil, i4[1:2]},
		{"no rows", file(1, text("<i4", "False", "(0, 3)"), nil), []int{0, 3}, []int32{}},
		{"no columns", file(1, text("<i4", "True", "(3, 0)"), nil), []int{3, 0}, []int32{}},
		{"no elements", file(1, text("<i4", "False", "(0,)"), nil), []int{0}, []int32{}},
		{"of Python 2", file(1, text("<i4", "False", "(2L, 2L)"), encode(le, i4)), []int{2, 2}, i4},
		{"1-D of Python 2", file(1, text("<i4", "False", "(4L,)"), encode(le, i4)), []int{4}, i4},
		{
			"another order of the fields, tight",
			file(1, "{'shape':(1,4),'descr':'<i4','fortran_order':False}", encode(le, i4)),
			[]int{1, 4},
			i4,
		},
		{
			"other quotes and spaces",
			file(1, `{ "descr" : "<i4" , "fortran_order" : False , "shape" : (1 , 4) }`, encode(le, i4)),
			[]int{1, 4},
			i4,
		},
	} {
		// One byte a read: a pipe gives what it likes.
		h, data, err := readAll(iotest.OneByteReader(bytes.NewReader(test.file)))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if !slices.Equal(h.Shape, test.shape) || !sameBits(data, test.want) {
			t.Errorf("%s: %v %v, want %v %v", test.name, h.Shape, data, test.shape, test.want)
		}
	}
}

// sameBits compares slices with NaN by its bits.
func sameBits(a, b any) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) &&
		bytes.Equal(encode(binary.LittleEndian, a), encode(binary.LittleEndian, b))
}

func TestReadLargeFortran(t *testing.T) {
	const rows, cols = 77, 130
	want, stored := make([]int32, rows*cols), make([]int32, rows*cols)
	for i := range rows {
		for j := range cols {
			want[i*cols+j] = int32(1000*i + j)
			stored[j*rows+i] = int32(1000*i + j)
		}
	}
	b := file(1, text("<i4", "True", "(77, 130)"), encode(binary.LittleEndian, stored))
	if _, data, err := readAll(bytes.NewReader(b)); err != nil || !sameBits(data, want) {
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
		{"zip", append([]byte("PK\x03\x04"), data...), ErrFormat, "numpy.load('xs.npz')"},
		{"magic alone", good[:6], ErrFormat, "ends within the header"},
		{"half a header", good[:40], ErrFormat, "ends within the header"},
		{"header alone", good[:len(good)-24], ErrFormat, "promises 24 bytes of data and it has 0"},
		{"truncated", good[:len(good)-1], ErrFormat, "promises 24 bytes of data and it has 23"},
		{"longer", append(slices.Clone(good), 0), ErrFormat, "more follows"},
		{"format 0", file(0, text("<f4", "False", "(2, 3)"), data), ErrFormat, "format 0.0"},
		{"format 4", file(4, text("<f4", "False", "(2, 3)"), data), ErrFormat, "format 4.0"},
		{"huge header", file(2, "", nil)[:8:8], ErrFormat, "ends within"},
		{
			"huge header length", append(file(2, "", nil)[:8:8], 0xff, 0xff, 0xff, 0xff), ErrFormat,
			"claims 4294967295 bytes",
		},
		{
			"huge shape", file(1, text("<f4", "False", "(1000000, 1000000)"), data), ErrFormat,
			"promises 4000000000000 bytes",
		},
		{
			"overflowing shape", file(1, text("<f4", "False", "(4294967296, 4294967296)"), data), ErrFormat,
			"no memory holds",
		},
		{
			"wrapping shape", file(1, text("<f4", "False", "(4611686018427387904, 4)"), data), ErrFormat,
			"header is not what",
		},
		{"negative shape", file(1, text("<f4", "False", "(-2, 3)"), data), ErrFormat, "header is not what"},
		{
			"number beyond int", file(1, text("<f4", "False", "(99999999999999999999, 3)"), data), ErrFormat,
			"header is not what",
		},
		{"words for a shape", file(1, text("<f4", "False", "(two, 3)"), data), ErrFormat, "header is not what"},
		{"no type", file(1, text("", "False", "(2, 3)"), data), ErrFormat, "header is not what"},
		{"no order", file(1, text("<f4", "Maybe", "(2, 3)"), data), ErrFormat, "header is not what"},
		{"no tuple", file(1, text("<f4", "False", "(6)"), data), ErrFormat, "header is not what"},
		{
			"two types", file(1, "{'descr': '<f4', 'descr': '<f4', 'shape': (2, 3), }", data), ErrFormat,
			"header is not what",
		},
		{
			"three shapes", file(1, "{'shape': (6,), 'shape': (6,), 'shape': (6,), }", data), ErrFormat,
			"header is not what",
		},
		{"half a long integer", file(1, text("<f4", "False", "(L, 3)"), data), ErrFormat, "header is not what"},
		{"no dictionary", file(1, "hello", data), ErrFormat, "header is not what"},
		{"int64", file(1, text("<i8", "False", "(3,)"), data), ErrType, `"i8"`},
		{"float16", file(1, text("<f2", "False", "(3, 4)"), data), ErrType, "astype"},
		{"bool", file(1, text("|b1", "False", "(24,)"), data), ErrType, `"b1"`},
		{"objects", file(1, text("|O", "False", "(3,)"), data), ErrType, `"O"`},
		{"complex", file(1, text("<c8", "False", "(3,)"), data), ErrType, `"c8"`},
		{"dates", file(1, text("<M8[ns]", "False", "(3,)"), data), ErrType, "structured"},
		{
			"structured", file(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,), }\n", data),
			ErrType, "structured",
		},
		{"0-D, longer", file(1, text("<f4", "False", "()"), data), ErrFormat, "after the 4 bytes"},
		{"3-D", file(1, text("<f4", "False", "(1, 2, 3)"), data), ErrDims, "3 dimensions"},
	} {
		if math.MaxInt == math.MaxInt32 { // what is refused sooner
			switch test.name {
			case "huge shape":
				test.says = "no memory holds"
			case "overflowing shape":
				test.says = "claims a dimension of 4294967296"
			}
		}
		h, _, err := readAll(bytes.NewReader(test.file))
		if !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, %v; want %q in a %q", test.name, h, err, test.says, test.kind)
		}
	}
}

// A claimed shape allocates little.
func TestReadAllocatesWhatIsThere(t *testing.T) {
	for _, shape := range []string{"(100000, 100000)", "(1, 10000000000)", "(10000000000,)"} {
		b := file(1, text("<f8", "False", shape), make([]byte, 100))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, _, err := readAll(bytes.NewReader(b)); !errors.Is(err, ErrFormat) {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
			t.Errorf("%d bytes allocated for a file of %d", n, len(b))
		}
	}
}

// The steps of growth: never more than 16 times what is needed, and a 16th of all before all.
func TestRoom(t *testing.T) {
	for _, all := range []int{1, 15, 16, 17, 300, 1000, 1 << 30} {
		for _, need := range []int{1, 2, 15, 17, 62, 63, 1000} {
			room := Room(min(need, all), all)
			if room < min(need, all) || room > all || room/16 >= need || room < all && room > all/16 {
				t.Errorf("room for %d, of %d needed and %d in all", room, need, all)
			}
		}
	}
}

func TestReaderErrorIsPassedOn(t *testing.T) {
	broken := errors.New("disk on fire")
	whole := file(1, text("<f4", "False", "(2, 3)"), make([]byte, 24))
	for _, n := range []int{3, 20, len(whole) - 5, len(whole)} {
		r := io.MultiReader(bytes.NewReader(whole[:n]), iotest.ErrReader(broken))
		if _, _, err := readAll(r); !errors.Is(err, broken) {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
}

// The headers are those that numpy.save writes (NumPy 2.4).
func TestWrite(t *testing.T) {
	numpy := func(dict string) string {
		const length = 118
		return "\x93NUMPY\x01\x00\x76\x00" + dict + strings.Repeat(" ", length-1-len(dict)) + "\n"
	}
	i4 := func(shape ...int) *Header { return &Header{Type: element.Int32, Shape: shape} }
	for _, test := range []struct {
		write func(io.Writer) error
		want  string
	}{
		{
			func(w io.Writer) error {
				return Write(w, &Header{Type: element.Float32, Shape: []int{2, 1}}, []float32{1, -2})
			},
			numpy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }") + "\x00\x00\x80\x3f\x00\x00\x00\xc0",
		},
		{
			func(w io.Writer) error {
				return Write(w, &Header{Type: element.Float64, Shape: []int{1, 2}}, []float64{1, 2})
			},
			numpy("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2), }") +
				"\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\x00\x40",
		},
		{
			func(w io.Writer) error { return Write(w, i4(1), []int32{-2}) },
			numpy("{'descr': '<i4', 'fortran_order': False, 'shape': (1,), }") + "\xfe\xff\xff\xff",
		},
		{
			func(w io.Writer) error { return Write(w, i4(), []int32{1}) },
			numpy("{'descr': '<i4', 'fortran_order': False, 'shape': (), }") + "\x01\x00\x00\x00",
		},
		{
			func(w io.Writer) error { return Write(w, i4(1234567, 0), []int32{}) },
			numpy("{'descr': '<i4', 'fortran_order': False, 'shape': (1234567, 0), }"),
		},
		{
			func(w io.Writer) error {
				h := &Header{Type: element.Int32, Shape: []int{2, 3}, Fortran: true}
				return Write(w, h, []int32{1, 2, 3, 4, 5, 6})
			},
			numpy("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }") +
				"\x01\x00\x00\x00\x04\x00\x00\x00\x02\x00\x00\x00\x05\x00\x00\x00\x03\x00\x00\x00\x06\x00\x00\x00",
		},
		{ // a single row lies in both orders
			func(w io.Writer) error {
				return Write(w, &Header{Type: element.Int32, Shape: []int{1, 2}, Fortran: true}, []int32{1, 2})
			},
			numpy("{'descr': '<i4', 'fortran_order': False, 'shape': (1, 2), }") + "\x01\x00\x00\x00\x02\x00\x00\x00",
		},
	} {
		var b bytes.Buffer
		if err := test.write(&b); err != nil || b.String() != test.want {
			t.Errorf("%v\n%q, want\n%q", err, b.String(), test.want)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	data := make([]float64, 700*401) // more than one piece
	for i := range data {
		data[i] = math.Float64frombits(uint64(i) * 0x9e3779b97f4a7c15)
	}
	for _, h := range []Header{{}, {Fortran: true}, {BigEndian: true}, {Fortran: true, BigEndian: true}} {
		h.Type, h.Shape = element.Float64, []int{700, 401}
		before := slices.Clone(data)
		var b bytes.Buffer
		if err := Write(&b, &h, data); err != nil {
			t.Fatal(err)
		}
		if !sameBits(data, before) {
			t.Fatal("writing changes the data")
		}
		got, read, err := readAll(&b)
		if err != nil || !sameBits(read, data) || !reflect.DeepEqual(*got, h) {
			t.Errorf("%+v: not the same matrix: %+v, %v", h, got, err)
		}
	}
}

// NumPy reads what is written here, and would write the same bytes.
func TestNumPy(t *testing.T) {
	const script = `import numpy, sys
for name in sys.argv[1:]:
    a = numpy.load(name + ".npy")
    numpy.save(name + "-again.npy", a)
    print(a.dtype.str, a.shape, a.flags.f_contiguous and not a.flags.c_contiguous, a.ravel().tolist())`
	dir := t.TempDir()
	var names []string
	want := ""
	for _, test := range []struct {
		h    Header
		says string
	}{
		{Header{Shape: []int{2, 3}}, "<i4 (2, 3) False [1, 2, 3, 4, 5, 6]"},
		{Header{Shape: []int{2, 3}, Fortran: true}, "<i4 (2, 3) True [1, 2, 3, 4, 5, 6]"},
		{Header{Shape: []int{3, 2}, BigEndian: true, Fortran: true}, ">i4 (3, 2) True [1, 2, 3, 4, 5, 6]"},
		{Header{Shape: []int{6, 1}, Fortran: true}, "<i4 (6, 1) False [1, 2, 3, 4, 5, 6]"},
		{Header{Shape: []int{6}}, "<i4 (6,) False [1, 2, 3, 4, 5, 6]"},
		{Header{Shape: []int{}}, "<i4 () False [1]"},
		{Header{Shape: []int{0, 3}}, "<i4 (0, 3) False []"},
	} {
		test.h.Type = element.Int32
		n := int(test.h.Size() / 4)
		var b bytes.Buffer
		if err := Write(&b, &test.h, []int32{1, 2, 3, 4, 5, 6}[:n]); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, fmt.Sprint(len(names)))
		if err := os.WriteFile(name+".npy", b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		names, want = append(names, name), want+test.says+"\n"
	}
	for _, test := range []struct {
		typ  element.Type
		says string
	}{
		{element.Bool, "|b1 (2,) False [False, False]"},
		{element.Int8, "|i1 (2,) False [0, 0]"},
		{element.Uint8, "|u1 (2,) False [0, 0]"},
		{element.Uint16, "<u2 (2,) False [0, 0]"},
		{element.Int64, "<i8 (2,) False [0, 0]"},
		{element.Half, "<f2 (2,) False [0.0, 0.0]"},
		{element.Complex64, "<c8 (2,) False [0j, 0j]"},
		{element.Complex128, "<c16 (2,) False [0j, 0j]"},
	} {
		h := &Header{Type: test.typ, Shape: []int{2}}
		var b bytes.Buffer
		if err := WriteHeader(&b, h); err != nil {
			t.Fatal(err)
		}
		b.Write(make([]byte, h.Size()))
		again, err := ReadAnyHeader(bytes.NewReader(b.Bytes()))
		if err != nil || again.Type != test.typ {
			t.Errorf("%s: %v, %v", test.typ, again, err)
		}
		if _, err := ReadHeader(bytes.NewReader(b.Bytes())); !errors.Is(err, ErrType) {
			t.Errorf("%s: %v", test.typ, err)
		}
		name := filepath.Join(dir, fmt.Sprint(len(names)))
		if err := os.WriteFile(name+".npy", b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		names, want = append(names, name), want+test.says+"\n"
	}
	_, err := exec.Command("python3", "-c", "import numpy").Output()
	backendtest.Require(t, "numpy", err)
	out, err := exec.Command("python3", append([]string{"-c", script}, names...)...).CombinedOutput()
	if got := strings.ReplaceAll(string(out), "\r", ""); err != nil || got != want {
		t.Errorf("%v\n%s, want\n%s", err, got, want)
	}
	for _, name := range names {
		ours, err := os.ReadFile(name + ".npy")
		if err != nil {
			t.Fatal(err)
		}
		if again, err := os.ReadFile(name + "-again.npy"); err != nil || !bytes.Equal(ours, again) {
			t.Errorf("%v: numpy.save writes\n%q, not\n%q", err, again, ours)
		}
	}
}

// A full disk is an error wherever it shows, also where the writer does not say so.
func TestWriteError(t *testing.T) {
	h, data, full := &Header{Type: element.Int32, Shape: []int{10, 10}}, make([]int32, 100), errors.New("disk full")
	for room := range 528 {
		if err := Write(&limited{room, full}, h, data); !errors.Is(err, full) {
			t.Fatalf("room for %d bytes: %v", room, err)
		}
		if err := Write(&limited{room, nil}, h, data); !errors.Is(err, io.ErrShortWrite) {
			t.Fatalf("room for %d bytes, in silence: %v", room, err)
		}
	}
	if err := Write(&limited{528, full}, h, data); err != nil {
		t.Error(err)
	}
}

type limited struct {
	room int
	err  error
}

func (w *limited) Write(p []byte) (int, error) {
	if len(p) > w.room {
		return w.room, w.err
	}
	w.room -= len(p)
	return len(p), nil
}

// FuzzRead: whatever the file is, Read ends without a panic, and what it accepts is whole.
func FuzzRead(f *testing.F) {
	data := make([]byte, 24)
	for _, shape := range []string{
		"(2, 3)", "(6,)", "()", "(0, 3)", "(9999999999999999, 3)", "(6)", "(,6)", "(2 3)", "(2L, 3L)",
	} {
		for _, descr := range []string{"<f4", ">i4", "<f8", "|O", "", "<"} {
			f.Add(file(1, text(descr, "False", shape), data))
			f.Add(file(2, text(descr, "True", shape), data))
		}
	}
	f.Add(file(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,)}", data))
	f.Add(file(1, "{'shape': (6,), 'shape': (6,), 'shape': (6,)}", data))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, data, err := readAll(bytes.NewReader(b))
		if err != nil {
			if !errors.Is(err, ErrFormat) && !errors.Is(err, ErrType) && !errors.Is(err, ErrDims) {
				t.Errorf("%T %v", err, err)
			}
			return
		}
		n := 1
		for _, d := range h.Shape {
			n *= d
		}
		if have := reflect.ValueOf(data).Len(); len(h.Shape) > 2 || n != have {
			t.Errorf("shape %v with %d elements", h.Shape, have)
		}
	})
}
