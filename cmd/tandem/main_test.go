package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/files"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/npy"
	"github.com/tandem-gpu/tandem/linalg"
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(envWrong) != "":
		mainWrong()
	case os.Getenv(envMain) != "":
		main()
	}
	os.Unsetenv(backend.EnvBackend)
	goleak.VerifyTestMain(m)
}

// envMain makes the test program the program itself.
const envMain = "TANDEM_TEST_MAIN"

// tandem runs the program in this process.
func tandem(args ...string) (code int, stdout, stderr string) {
	return tandemContext(context.Background(), args...)
}

func tandemContext(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(ctx, args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// must runs the program, which must succeed in silence on stderr, and gives what it prints.
func must(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := tandem(args...)
	if code != exitOK || stderr != "" {
		t.Fatalf("tandem %s: exit code %d\n%s%s", strings.Join(args, " "), code, stdout, stderr)
	}
	return stdout
}

// need skips the test where a driver has no device, or fails it where TANDEM_REQUIRE asks for one.
func need(t *testing.T, driver string) {
	t.Helper()
	d := backend.Lookup(driver)
	if d == nil {
		t.Fatalf("no driver %s in this program", driver)
	}
	_, err := d.Devices()
	backendtest.Require(t, driver, err)
}

// onBackends runs f for each backend as a subtest.
func onBackends(t *testing.T, f func(t *testing.T, backend string)) {
	for _, name := range []string{"cpu", "opencl", "cuda", "cudasim"} {
		t.Run(name, func(t *testing.T) {
			need(t, name)
			f(t, name)
		})
	}
}

// A layout is a way to store a matrix in a file.
type layout struct {
	name    string
	big     bool // big-endian
	fortran bool
}

var layouts = []layout{
	{"C", false, false}, {"big-endian", true, false}, {"fortran", false, true}, {"big-endian-fortran", true, true},
}

// encode makes the file that holds m in a layout.
func encode[T any](l layout, m linalg.Matrix[T]) []byte {
	typ, _ := element.Of[T]()
	var order binary.ByteOrder = binary.LittleEndian
	mark, data := "<", m.Data
	if l.big {
		order, mark = binary.BigEndian, ">"
	}
	if l.fortran {
		data = make([]T, 0, len(m.Data))
		for j := range m.Cols {
			for i := range m.Rows {
				data = append(data, m.At(i, j))
			}
		}
	}
	fortran := map[bool]string{false: "False", true: "True"}[l.fortran]
	header := fmt.Sprintf("{'descr': '%s%s', 'fortran_order': %s, 'shape': (%d, %d), }\n",
		mark, typ.NumPy(), fortran, m.Rows, m.Cols)
	b := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(header)))
	b, err := binary.Append(append(b, header...), order, data)
	if err != nil {
		panic(err)
	}
	return b
}

// whole is the file that the program should write for m.
func whole[T linalg.Element](shape []int, m linalg.Matrix[T]) []byte {
	var b bytes.Buffer
	if err := npy.Write(&b, &npy.Header{Type: element.TypeOf[T](), Shape: shape}, m.Packed().Data); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// canonical makes every NaN the same one.
func canonical[T linalg.Element](m linalg.Matrix[T]) linalg.Matrix[T] {
	for i, v := range m.Data {
		if v != v {
			m.Data[i] = T(math.NaN())
		}
	}
	return m
}

// readMatrix reads a result, with NaN made canonical, and checks that the file is as numpy.save
// writes it.
func readMatrix[T linalg.Element](t *testing.T, path string) (linalg.Matrix[T], []int) {
	t.Helper()
	raw := read(t, path)
	r := strings.NewReader(raw)
	h, err := npy.ReadHeader(r)
	if err != nil {
		t.Fatal(err)
	}
	if want := element.TypeOf[T](); h.Type != want {
		t.Fatalf("%s holds %s, want %s", path, h.Type, want)
	}
	data, err := npy.Read[T](r, h)
	if err != nil {
		t.Fatal(err)
	}
	m := files.Matrix[T](files.Operand{Path: path, Header: h, Data: data})
	if raw != string(whole(h.Shape, m)) {
		t.Errorf("%s is not stored as numpy.save does", path)
	}
	return canonical(m), h.Shape
}

// checkFile compares a result with the matrix, bit by bit but for NaN, and its shape.
func checkFile[T linalg.Element](t *testing.T, path string, shape []int, want linalg.Matrix[T]) {
	t.Helper()
	got, gotShape := readMatrix[T](t, path)
	if !slices.Equal(gotShape, shape) {
		t.Errorf("%s: shape %v, want %v", path, gotShape, shape)
	}
	want = canonical(want.Packed())
	if !bytes.Equal(backend.Bytes(got.Data), backend.Bytes(want.Data)) {
		for i := range want.Data {
			if g, w := got.Data[i], want.Data[i]; !bytes.Equal(backend.Bytes([]T{g}), backend.Bytes([]T{w})) {
				t.Errorf("%s: element (%d, %d) is %v, want %v", path, i/want.Cols, i%want.Cols, g, w)
				return
			}
		}
		t.Errorf("%s: %d elements, want %d", path, len(got.Data), len(want.Data))
	}
}

func write(t *testing.T, path string, content []byte) string {
	t.Helper()
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// save stores m as numpy.save does.
func save[T linalg.Element](t *testing.T, path string, m linalg.Matrix[T]) string {
	t.Helper()
	return write(t, path, whole([]int{m.Rows, m.Cols}, m))
}

func saveVector[T linalg.Element](t *testing.T, path string, v ...T) string {
	t.Helper()
	return write(t, path, whole([]int{len(v)}, linalg.NewMatrix(1, len(v), v)))
}

// inFolder lists the names in a folder, hidden ones too.
func inFolder(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func in(dir string) func(name string) string {
	return func(name string) string { return filepath.Join(dir, name) }
}
