package array

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/tandem-gpu/tandem/backend/backendtest"
	_ "github.com/tandem-gpu/tandem/backend/cudasim"
	"github.com/tandem-gpu/tandem/internal/racetest"
	"github.com/tandem-gpu/tandem/linalg"
)

// eachBackend runs f with a session on every backend that the machine has, and on the cpu device
// without machine code.
func eachBackend(t *testing.T, f func(t *testing.T, s *linalg.Session)) {
	for _, name := range []string{"cpu", "cpu as Go", "opencl", "cuda", "cudasim"} {
		t.Run(name, func(t *testing.T) {
			spec := name
			switch {
			case name == "cpu as Go":
				spec = "cpu"
				t.Setenv("TANDEM_NATIVE", "off")
			case name == "cudasim" && racetest.Enabled:
				t.Skip("minutes of simulation under the race detector")
			}
			s, err := open(spec)
			if err != nil {
				backendtest.Require(t, spec, err)
				return
			}
			f(t, s)
			if spec != "opencl" {
				try(t, s.Close())
			}
		})
	}
}

// open opens a session. OpenCL, whose compiler takes long, has one for all tests: a kernel is
// compiled once.
func open(spec string) (*linalg.Session, error) {
	if spec == "opencl" {
		return openCL()
	}
	return linalg.Open(spec)
}

var openCL = sync.OnceValues(func() (*linalg.Session, error) { return linalg.Open("opencl") })

// bitsOf is the bits of an element, those of a NaN made the same.
func bitsOf[T any](x T) uint64 {
	switch x := any(x).(type) {
	case float32:
		if x != x {
			return 1 << 40
		}
		return uint64(math.Float32bits(x))
	case float64:
		if x != x {
			return math.Float64bits(math.NaN())
		}
		return math.Float64bits(x)
	case int32:
		return uint64(uint32(x))
	case int8:
		return uint64(uint8(x))
	case int16:
		return uint64(uint16(x))
	case int64:
		return uint64(x)
	case uint8:
		return uint64(x)
	case uint16:
		return uint64(x)
	case uint32:
		return uint64(x)
	case uint64:
		return x
	case Float16:
		return uint64(x)
	case BFloat16:
		return uint64(x)
	case bool:
		if x {
			return 1
		}
	}
	return 0
}

// upload makes an array of rows by cols elements x, which has a gap after each row where strided,
// and elements around.
func upload[T any](t testing.TB, s *linalg.Session, rows, cols int, strided bool, x []T) *linalg.Array[T] {
	t.Helper()
	top, left, right := 0, 0, 0
	if strided {
		top, left, right = 1, 2, 3
	}
	whole, err := linalg.NewArray[T](s, rows+2*top, cols+left+right)
	if err != nil {
		t.Fatal(err)
	}
	a := whole.Slice(top, top+rows, left, left+cols)
	if err := a.CopyFrom(linalg.NewMatrix(rows, cols, x)); err != nil {
		t.Fatal(err)
	}
	return a
}

// equal compares the bits of an array with want.
func equal[T any](t *testing.T, what string, got *linalg.Array[T], want []T) {
	t.Helper()
	m, err := got.Download()
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	for i := range want {
		if bitsOf(m.Data[i]) != bitsOf(want[i]) {
			t.Errorf("%s, %s: element %d is %v, want %v", what, got, i, m.Data[i], want[i])
			return
		}
	}
	if len(m.Data) != len(want) {
		t.Errorf("%s: %d elements, want %d", what, len(m.Data), len(want))
	}
}

// target is a destination of garbage within more of it.
type target[T any] struct {
	*linalg.Array[T]
	whole *linalg.Array[T]
	was   []T
}

func newTarget[T any](t *testing.T, s *linalg.Session, rows, cols int, strided bool, garbage T) target[T] {
	t.Helper()
	const gap = 2
	x := make([]T, (rows+2*gap)*(cols+2*gap))
	for i := range x {
		x[i] = garbage
	}
	if !strided { // rows before and after alone
		x = x[:(rows+2*gap)*cols]
		whole := upload(t, s, rows+2*gap, cols, false, x)
		return target[T]{whole.Slice(gap, gap+rows, 0, cols), whole, x}
	}
	whole := upload(t, s, rows+2*gap, cols+2*gap, false, x)
	return target[T]{whole.Slice(gap, gap+rows, gap, gap+cols), whole, x}
}

// check compares the bits of the target with want, and what is around with what it was.
func (c target[T]) check(t *testing.T, what string, want []T) {
	t.Helper()
	rows, cols := c.Dims()
	stride := c.Stride()
	for i := range want {
		c.was[c.Offset()+i/cols*stride+i%cols] = want[i]
	}
	equal(t, fmt.Sprintf("%s into %dx%d", what, rows, cols), c.whole, c.was)
}

func contains(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }
