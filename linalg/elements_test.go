package linalg_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/linalg"
)

// What arrays keep beside the types of arithmetic.
type (
	label  uint8
	sample struct {
		at    [3]float32
		count uint16
		good  bool
		kind  label
	}
)

// Elements of every size and kind come back from a device as they were, also from a part of an
// array, and those that NumPy has go through files.
func TestElements(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		rng := rand.New(rand.NewPCG(71, 72))
		testElements(t, s, "|b1", func() bool { return rng.IntN(2) > 0 })
		testElements(t, s, "|i1", func() int8 { return int8(rng.Uint32()) })
		testElements(t, s, "|u1", func() label { return label(rng.Uint32()) })
		testElements(t, s, "<u2", func() uint16 { return uint16(rng.Uint32()) })
		testElements(t, s, "<u4", rng.Uint32)
		testElements(t, s, "<i8", func() int64 { return int64(rng.Uint64()) })
		testElements(t, s, "<f2", func() linalg.Float16 { return linalg.Float16(rng.Uint32()) })
		testElements(t, s, "<c8", func() complex64 { return complex(rng.Float32(), rng.Float32()) })
		testElements(t, s, "<c16", func() complex128 { return complex(rng.Float64(), rng.Float64()) })
		testElements(t, s, "", func() linalg.BFloat16 { return linalg.BFloat16(rng.Uint32()) })
		testElements(t, s, "", func() [5]uint8 { return [5]uint8{uint8(rng.Uint32()), 4: 7} })
		testElements(t, s, "", func() int { return rng.Int() })
		testElements(t, s, "", func() sample {
			return sample{[3]float32{2: rng.Float32()}, uint16(rng.Uint32()), rng.IntN(2) > 0, label(rng.Uint32())}
		})
	})
}

// testElements has elements of type descr in NumPy, "" where that has none.
func testElements[T comparable](t *testing.T, s *linalg.Session, descr string, f func() T) {
	t.Helper()
	what := fmt.Sprintf("%T on %s", *new(T), s.Info().Driver)
	m := linalg.NewMatrix[T](7, 9, nil)
	for i := range m.Data {
		m.Data[i] = f()
	}
	check := func(how string, got linalg.Matrix[T], err error, want linalg.Matrix[T]) {
		t.Helper()
		if err != nil || !bytes.Equal(backend.Bytes(got.Data), backend.Bytes(want.Packed().Data)) {
			t.Errorf("%s, %s: %v, %v, want %v", what, how, got, err, want)
		}
	}
	a, err := linalg.Upload(s, m.Slice(1, 6, 2, 9))
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	defer a.Free()
	got, err := a.Download()
	check("whole", got, err, m.Slice(1, 6, 2, 9))
	if err := a.Slice(2, 4, 0, 3).CopyFrom(m.Slice(0, 2, 6, 9)); err != nil {
		t.Error(err)
	}
	got, err = a.Slice(2, 4, 0, 3).Download()
	check("a part", got, err, m.Slice(0, 2, 6, 9))
	got, err = a.Slice(1, 5, 3, 7).Download()
	check("the rest", got, err, m.Slice(2, 6, 5, 9))
	if err := a.CopyFrom(m.Slice(1, 6, 2, 9)); err != nil {
		t.Error(err)
	}
	if err := a.Add(a, a); !errors.Is(err, backend.ErrUnsupported) {
		t.Errorf("%s: a sum is %v", what, err)
	}
	testRows(t, s, f)
	if _, err := a.View(); !errors.Is(err, backend.ErrUnsupported) {
		t.Errorf("%s: a view is %v", what, err)
	}
	var file bytes.Buffer
	if err := a.WriteNPY(&file); descr == "" {
		if !errors.Is(err, backend.ErrUnsupported) {
			t.Errorf("%s: a file is %v", what, err)
		}
		return
	} else if err != nil {
		t.Fatalf("%s: a file is %v", what, err)
	}
	if !strings.Contains(file.String(), "'"+descr+"'") {
		t.Errorf("%s: %q is not of type %s", what, file.String()[:60], descr)
	}
	want := m.Slice(1, 6, 2, 9).Packed()
	columns := linalg.NewMatrix[T](want.Cols, want.Rows, nil)
	for i := range want.Rows {
		for j, v := range want.Row(i) {
			columns.Set(j, i, v)
		}
	}
	big := strings.Replace(descr, "<", ">", 1)
	for how, data := range map[string][]byte{
		"a file":               file.Bytes(),
		"a file in columns":    npyFile(descr, true, "(5, 7)", binary.LittleEndian, columns.Data),
		"a file in big-endian": npyFile(big, false, "(5, 7)", binary.BigEndian, want.Data),
	} {
		b, err := linalg.ReadNPY[T](s, bytes.NewReader(data))
		if err != nil {
			t.Errorf("%s, %s: %v", what, how, err)
			continue
		}
		got, err := b.Download()
		check(how, got, err, want)
		if err := b.Free(); err != nil {
			t.Error(err)
		}
	}
}

// testRows copies many rows of one matrix over a part of another, whose other elements stay.
func testRows[T comparable](t *testing.T, s *linalg.Session, f func() T) {
	t.Helper()
	m := linalg.NewMatrix[T](40, 9, nil)
	for i := range m.Data {
		m.Data[i] = f()
	}
	a, err := linalg.Upload(s, m)
	if err != nil {
		t.Fatal(err)
	}
	part := a.Slice(3, 37, 1, 6)
	for i := 3; i < 37; i++ {
		for j := 1; j < 6; j++ {
			m.Set(i, j, f())
		}
	}
	err = part.CopyFrom(m.Slice(3, 37, 1, 6))
	whole, err2 := a.Download()
	some, err3 := part.Download()
	if err := errors.Join(err, err2, err3, a.Free()); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(backend.Bytes(whole.Data), backend.Bytes(m.Data)) ||
		!bytes.Equal(backend.Bytes(some.Data), backend.Bytes(m.Slice(3, 37, 1, 6).Packed().Data)) {
		t.Errorf("%T on %s: rows %v and %v, want %v", *new(T), s.Info().Driver, whole, some, m)
	}
}

// What holds a pointer stays on the host, and the error names the field.
func TestElementsWithPointers(t *testing.T) {
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	type inner struct{ Names []string }
	type outer struct {
		N     int32
		Parts [2]inner
	}
	for range 2 { // the second time it is known
		refusedElements[*int32](t, s, "ptr")
		refusedElements[string](t, s, "string")
		refusedElements[struct{}](t, s, "no bytes")
		refusedElements[any](t, s, "interface")
		refusedElements[outer](t, s, "Parts: Names: a slice")
	}
}

func refusedElements[T any](t *testing.T, s *linalg.Session, says string) {
	t.Helper()
	m := linalg.NewMatrix[T](2, 2, nil)
	_, err1 := linalg.Upload(s, m)
	_, err2 := linalg.NewArray[T](s, 2, 2)
	_, err3 := linalg.Register(s, m)
	for _, err := range []error{err1, err2, err3} {
		if !errors.Is(err, backend.ErrArgument) || !strings.Contains(err.Error(), says) {
			t.Errorf("%T: %v, want %q", m.Data, err, says)
		}
	}
}
