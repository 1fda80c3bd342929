package array

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/internal/racetest"
	"github.com/tandem-gpu/tandem/linalg"
	"github.com/tandem-gpu/tandem/linalg/files"
)

// smallTiles makes tiles of so many bytes, until the function that it returns is called.
func smallTiles(bytes int) (undo func()) {
	was := mostTile
	mostTile = bytes
	return func() { mostTile = was }
}

// Reductions of matrices and of files have the bits of those of arrays, in tiles of any size, on
// every device and on several.
func TestReductions(t *testing.T) {
	for _, spec := range []string{"cpu", "opencl", "cudasim", "cpu+opencl"} {
		t.Run(spec, func(t *testing.T) {
			if spec == "cudasim" && racetest.Enabled {
				t.Skip("minutes of simulation under the race detector")
			}
			s, err := linalg.Open(spec)
			if err != nil {
				backendtest.Require(t, "opencl", err)
				return
			}
			testReductions[float32](t, s)
			testReductions[float64](t, s)
			testReductions[int32](t, s)
			try(t, s.Close())
		})
	}
}

func testReductions[T Element](t *testing.T, s *linalg.Session) {
	defer smallTiles(0)()
	r := rand.New(rand.NewPCG(15, 16))
	shapes, tiles := [][2]int{{1, 1}, {23, 17}, {2, 300}, {300, 1}, {1, 0}}, []int{8, 100, 3000}
	switch {
	case s.Info().Driver == "cudasim":
		shapes, tiles = [][2]int{{5, 7}}, []int{80}
	case s.Info().Driver == "opencl", len(s.Devices()) > 1, racetest.Enabled:
		shapes, tiles = [][2]int{{23, 17}}, []int{400}
	}
	for k, shape := range append(shapes, [2]int{5, 3}) {
		rows, cols := shape[0], shape[1]
		a := linalg.NewMatrix(rows, cols, some[T](r, rows*cols))
		if k == len(shapes) { // there is none above the lowest
			a = linalg.NewMatrix(rows, cols, slices.Repeat([]T{math.MinInt32}, rows*cols))
		}
		for _, mostTile = range tiles {
			for _, op := range Reductions() {
				for over := OverAll; over <= OverColumns; over++ {
					if op.Index {
						testReduction[int32](t, s, op, over, a)
					} else {
						testReduction[T](t, s, op, over, a)
					}
				}
			}
		}
	}
}

// byArrays is a reduction of an array, by name.
func byArrays[D, T Element](op *Reduction, c *Array[D], a *Array[T]) error {
	switch op.Name {
	case "argmin":
		return ArgMin(any(c).(*Array[int32]), a)
	case "argmax":
		return ArgMax(any(c).(*Array[int32]), a)
	}
	return sameByArrays(op, any(c).(*Array[T]), a)
}

func sameByArrays[T Element](op *Reduction, c, a *Array[T]) error {
	switch op.Name {
	case "sum":
		return Sum(c, a)
	case "min":
		return Min(c, a)
	case "max":
		return Max(c, a)
	}
	switch a := any(a).(type) {
	case *Array[float32]:
		return ofFloats(op, any(c).(*Array[float32]), a)
	case *Array[float64]:
		return ofFloats(op, any(c).(*Array[float64]), a)
	}
	return backend.ErrUnsupported
}

func ofFloats[T Float](op *Reduction, c, a *Array[T]) error {
	if op.Name == "mean" {
		return Mean(c, a)
	}
	return Norm(c, a, 2)
}

// testReduction compares a reduction with that of an array, and of a file.
func testReduction[D, T Element](t *testing.T, s *linalg.Session, op *Reduction, over Over, m linalg.Matrix[T]) {
	t.Helper()
	testReductionBeside[D](t, s, s, op, over, m)
}

// testReductionBeside is testReduction on s, with the array on another session.
func testReductionBeside[D, T Element](t *testing.T, other, s *linalg.Session, op *Reduction, over Over,
	m linalg.Matrix[T],
) {
	t.Helper()
	what := fmt.Sprintf("%s of %s over %d in tiles of %d bytes", op.Name, m, over, mostTile)
	a, err := linalg.Upload(other, m)
	try(t, err)
	defer a.Free()
	rows, cols := over.Dims(m.Rows, m.Cols)
	c, err := linalg.NewArray[D](other, rows, cols)
	try(t, err)
	defer c.Free()
	got := linalg.NewMatrix[D](rows+2, cols+2, nil)
	for i := range got.Data {
		got.Data[i] = 7
	}
	want := byArrays(op, c, a)
	err = ReduceContext(t.Context(), s, op, got.Slice(1, rows+1, 1, cols+1), m)
	file := &memoryFile{}
	fileErr := ReduceNPY[T](t.Context(), s, op, over, file, bytes.NewReader(npyOf(t, other, a)), files.Options{})
	if want != nil {
		for _, sentinel := range []error{linalg.ErrShape, backend.ErrUnsupported} {
			if errors.Is(want, sentinel) && (!errors.Is(err, sentinel) || !errors.Is(fileErr, sentinel)) {
				t.Errorf("%s: %v, %v, want %v", what, err, fileErr, want)
			}
		}
		equalBits(t, what+", refused", got.Slice(0, 1, 0, 1).Packed().Data, []D{7})
		return
	}
	if err != nil || fileErr != nil {
		t.Fatalf("%s: %v, %v", what, err, fileErr)
	}
	result, err := c.Download()
	try(t, err)
	guarded := linalg.NewMatrix[D](rows+2, cols+2, nil)
	for i := range guarded.Data {
		guarded.Data[i] = 7
	}
	for i := range rows {
		copy(guarded.Row(i + 1)[1:], result.Row(i))
	}
	equalBits(t, what, got.Data, guarded.Data)
	read, err := linalg.ReadNPY[D](other, bytes.NewReader(file.data))
	try(t, err)
	defer read.Free()
	equal(t, what+" of a file", read, result.Data)
}

func equalBits[T any](t *testing.T, what string, got, want []T) {
	t.Helper()
	for i := range want {
		if bitsOf(got[i]) != bitsOf(want[i]) {
			t.Errorf("%s: element %d is %v, want %v", what, i, got[i], want[i])
			return
		}
	}
}

func npyOf[T any](t *testing.T, s *linalg.Session, a *Array[T]) []byte {
	t.Helper()
	var b bytes.Buffer
	try(t, a.WriteNPY(&b))
	return b.Bytes()
}

// A memoryFile is written anywhere.
type memoryFile struct{ data []byte }

func (f *memoryFile) WriteAt(b []byte, at int64) (int, error) {
	if n := int(at) + len(b); n > len(f.data) {
		f.data = append(f.data, make([]byte, n-len(f.data))...)
	}
	return copy(f.data[at:], b), nil
}

// More outputs than are reduced at a time.
func TestReduceManyOutputs(t *testing.T) {
	s, err := linalg.Open("cpu")
	try(t, err)
	defer s.Close()
	x := some[int32](rand.New(rand.NewPCG(17, 18)), 3*40000)
	if r := ReductionOf("nothing"); r != nil {
		t.Errorf("there is %v", r)
	}
	sum := ReductionOf("sum")
	testReduction[int32](t, s, sum, OverRows, linalg.NewMatrix(3, 40000, x))
	testReduction[int32](t, s, sum, OverColumns, linalg.NewMatrix(40000, 3, x))
}

func TestReduceRefuses(t *testing.T) {
	s, err := linalg.Open("cpu")
	try(t, err)
	defer s.Close()
	a, c := linalg.NewMatrix[float32](3, 4, nil), linalg.NewMatrix[float32](1, 4, nil)
	sum, argmin := ReductionOf("sum"), ReductionOf("argmin")
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	file := npyOf(t, s, upload(t, s, 3, 4, false, a.Data))
	short := a
	short.Data = short.Data[:5]
	endless := linalg.Matrix[float32]{Rows: math.MaxInt, Cols: math.MaxInt, Stride: math.MaxInt, Data: a.Data}
	empty := linalg.Matrix[float32]{Rows: math.MaxInt}
	try(t, ReduceContext(t.Context(), s, sum, c.Slice(0, 1, 0, 1), empty))
	share := Share[float32]{Rows: 3, Cols: 4, Local: a, Block: 8}
	_, shareErr := ReduceShare(t.Context(), s, sum, OverRows, share, 2, 5)
	_, nilErr := ReduceShare(t.Context(), s, nil, OverRows, share, 2, 3)
	for _, x := range []struct {
		err, want error
		text      string
	}{
		{ReduceContext(t.Context(), s, sum, c.Slice(0, 1, 0, 3), a), linalg.ErrShape, "1x4 (over the rows) or 3x1"},
		{ReduceContext(t.Context(), s, sum, c, short), linalg.ErrShape, "sum: the operand is 3x4 float32"},
		{ReduceContext(t.Context(), s, sum, c.Slice(0, 1, 0, 1), endless), linalg.ErrShape, "sum: the operand"},
		{shareErr, backend.ErrArgument, "sum: results 2 to 5 of 3x4"},
		{nilErr, backend.ErrArgument, "the reduction is nil"},
		{MergeShares(s, nil, OverAll, share, []int64{1, 2}, c.Data[:1]), backend.ErrArgument, "the reduction is nil"},
		{MergeShares(s, sum, OverAll, share, []int64{1, 2}, c.Data[:1]), linalg.ErrShape, "2 numbers"},
		{ReduceContext(t.Context(), s, argmin, c, a), backend.ErrArgument, "is of float32, and must be of int32"},
		{ReduceContext(canceled, s, sum, c, a), context.Canceled, ""},
		{ReduceContext(t.Context(), s, nil, c, a), backend.ErrArgument, "the reduction is nil"},
		{
			ReduceNPY[float32](t.Context(), s, nil, OverAll, &memoryFile{}, bytes.NewReader(file),
				files.Options{}),
			backend.ErrArgument, "the reduction is nil",
		},
		{
			ReduceNPY[float32](t.Context(), s, sum, OverAll, &memoryFile{}, bytes.NewReader(file),
				files.Options{Memory: -1}),
			backend.ErrArgument, "-1 bytes of the host's memory",
		},
		{
			ReduceNPY[float64](t.Context(), s, sum, OverAll, &memoryFile{}, bytes.NewReader(file),
				files.Options{}),
			linalg.ErrNPY, "float32",
		},
		{
			ReduceNPY[float32](t.Context(), s, sum, OverAll, &memoryFile{}, bytes.NewReader(file[:130]),
				files.Options{}),
			linalg.ErrNPY, "",
		},
	} {
		if !errors.Is(x.err, x.want) || !contains(x.err, x.text) {
			t.Errorf("%v, want %v with %q", x.err, x.want, x.text)
		}
	}
}

// Outputs, which take many times the memory of an element, keep to what the device has for a call.
func TestReduceInLittleMemory(t *testing.T) {
	t.Setenv(linalg.EnvMemory, "1MiB")
	d, err := backend.Open("cpu")
	try(t, err)
	var now, most atomic.Int64
	s, err := linalg.NewSession(backendtest.Hook(d, &backendtest.Hooks{
		Info: func(i *backend.Info) { i.UnifiedMemory, i.Host = false, false },
		Made: func(_ string, bytes int64) {
			now.Add(bytes)
			most.Store(max(most.Load(), now.Load()))
		},
		Freed: func(_ string, bytes int64) { now.Add(-bytes) },
	}))
	try(t, err)
	defer s.Close()
	roomy, err := linalg.Open("cpu")
	try(t, err)
	defer roomy.Close()
	sum, x := ReductionOf("sum"), some[float64](rand.New(rand.NewPCG(19, 20)), 2*2000)
	testReductionBeside[float64](t, roomy, s, sum, OverRows, linalg.NewMatrix(2, 2000, x))
	testReductionBeside[float64](t, roomy, s, sum, OverColumns, linalg.NewMatrix(2000, 2, x))
	if n := most.Load(); n > 1<<20 {
		t.Errorf("up to %d bytes of 1 MiB", n)
	}
}

// A file is not overwritten by what is computed of it.
func TestReduceSameFile(t *testing.T) {
	s, err := linalg.Open("cpu")
	try(t, err)
	defer s.Close()
	data := npyOf(t, s, upload(t, s, 3, 4, false, make([]float32, 12)))
	name := filepath.Join(t.TempDir(), "a.npy")
	try(t, os.WriteFile(name, data, 0o600))
	a, err := os.OpenFile(name, os.O_RDWR, 0)
	try(t, err)
	defer a.Close()
	err = ReduceNPY[float32](t.Context(), s, ReductionOf("sum"), OverAll, a, a, files.Options{})
	if !errors.Is(err, linalg.ErrOverlap) {
		t.Error(err)
	}
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, data) {
		t.Error("the file has changed", err)
	}
}

// A file that panics does so in the caller's goroutine, on several devices too.
func TestReduceFileThatPanics(t *testing.T) {
	defer smallTiles(400)()
	for _, spec := range []string{"cpu", "cpu+opencl"} {
		s, err := linalg.Open(spec)
		if err != nil {
			backendtest.Require(t, "opencl", err)
			continue
		}
		a, err := linalg.Upload(s, linalg.NewMatrix[float32](30, 20, nil))
		try(t, err)
		for after := range int32(4) { // so that either device comes upon it
			file := &brokenFile{Reader: bytes.NewReader(npyOf(t, s, a))}
			file.left.Store(after)
			func() {
				defer func() {
					if err, ok := recover().(error); !ok || !contains(err, "spilled") {
						t.Errorf("%s: recovered %v", spec, err)
					}
				}()
				err := ReduceNPY[float32](t.Context(), s, ReductionOf("sum"), OverAll, &memoryFile{}, file,
					files.Options{})
				t.Errorf("%s: %v, and no panic", spec, err)
			}()
		}
		try(t, s.Close())
	}
}

// A brokenFile panics when so many of its data were read.
type brokenFile struct {
	*bytes.Reader
	left atomic.Int32
}

func (f *brokenFile) ReadAt(b []byte, at int64) (int, error) {
	if len(b) == 400 && f.left.Add(-1) < 0 {
		panic("spilled")
	}
	return f.Reader.ReadAt(b, at)
}

// Where a device fails at any of its calls the others do its part, and the session tells of it;
// with none left the error is returned. Progress is told whichever device does the work.
func TestReduceDeviceFails(t *testing.T) {
	defer smallTiles(400)()
	m := linalg.NewMatrix[float32](30, 40, nil)
	for i := range m.Data {
		m.Data[i] = float32(i%7) / 3
	}
	cpu, err := linalg.Open("cpu")
	try(t, err)
	defer cpu.Close()
	want, got := linalg.NewMatrix[float32](1, 40, nil), linalg.NewMatrix[float32](1, 40, nil)
	sum := ReductionOf("sum")
	try(t, ReduceContext(t.Context(), cpu, sum, want, m))
	var calls, bad atomic.Int64
	device := func(h *backendtest.Hooks) *backend.Device {
		d, err := backend.Lookup("cpu").Open(0)
		try(t, err)
		return backendtest.Hook(d, h)
	}
	lost := errors.New("fell off the bus")
	fails := func(name string, call func() error) error {
		n, made := bad.Load(), calls.Load()
		if name != "Buffer.Free" { // with which it fails, too, but not first: its work may be done then
			made = calls.Add(1)
		}
		if n > 0 && made >= n && !strings.HasSuffix(name, "Close") {
			return lost
		}
		return call()
	}
	for others := range 3 {
		all := []*backend.Device{device(&backendtest.Hooks{Call: fails})}
		for range others {
			all = append(all, device(&backendtest.Hooks{}))
		}
		s, err := linalg.NewSession(all[0], all[1:]...)
		try(t, err)
		for n := int64(0); ; n += 1 + n/8 {
			calls.Store(0)
			bad.Store(n)
			fraction := 0.0
			ctx := linalg.WithProgress(t.Context(), func(f float64) { fraction = f })
			err := ReduceContext(ctx, s, sum, got, m)
			bad.Store(0)
			failed := n > 0 && calls.Load() >= n
			use := s.Devices()
			switch {
			case failed && others == 0:
				if !errors.Is(err, lost) {
					t.Errorf("alone, from call %d on: %v", n, err)
				}
			case err != nil:
				t.Errorf("%d others, from call %d on: %v", others, n, err)
			default:
				equalBits(t, fmt.Sprintf("%d others, from call %d on", others, n), got.Data, want.Data)
				if failed != errors.Is(use[0].Err, lost) || fraction != 1 {
					t.Errorf("%d others, from call %d on: progress %v, %v", others, n, fraction, use[0].Err)
				}
			}
			if n > 0 && !failed {
				break
			}
		}
		try(t, s.Close())
	}
}
