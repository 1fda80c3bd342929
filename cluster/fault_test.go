package cluster

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/cluster/internal/mpi"
	"github.com/tandem-gpu/tandem/internal/npy"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

// limit is far above what a job takes that does not hang.
const limit = 30 * time.Second

// inTime fails the test where f hangs.
func inTime(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(limit):
		t.Fatalf("%s: the job hangs", what)
	}
}

// everything uses all that calls MPI, and writes a file.
func everything(t *testing.T, file string) func(ctx context.Context, c *Comm) error {
	return func(ctx context.Context, c *Comm) error {
		s := openCPU(t, c)
		defer s.Close()
		g, err := c.Grid(ctx, 0, 4)
		if err != nil {
			return err
		}
		m, err := Scatter(ctx, g, 0, only(c, random[float32](9, 10, 1)))
		if err != nil {
			return err
		}
		n, err := Transpose(ctx, m)
		if err != nil {
			return err
		}
		p, err := MatMul(ctx, s, m, n)
		if err != nil {
			return err
		}
		if err := p.WriteNPY(ctx, file, Layout{}); err != nil {
			return err
		}
		q, err := ReadNPY[float32](ctx, g, file)
		if err != nil {
			return err
		}
		if _, err = q.Gather(ctx, 0); err != nil {
			return err
		}
		_, err = AllGather(ctx, c, []int32{int32(c.Rank())})
		return err
	}
}

// harmless are calls whose failure costs memory at most.
var harmless = []string{"FreeMem", "Cancel", "Wait", "ErrorString", "GetLibraryVersion"}

// Every call of MPI fails in turn, on the first and on another rank: all ranks have an error, none
// waits for ever, and there is no file but a whole one.
func TestEveryCallFails(t *testing.T) {
	table := reflect.TypeFor[mpi.Table]()
	for i := range table.NumField() {
		for rank := range 2 {
			t.Run(fmt.Sprintf("%s/%d", table.Field(i).Name, rank), func(t *testing.T) {
				t.Parallel() // the jobs wait most of the time
				n := 0
				for callFails(t, table.Field(i).Name, rank, n) {
					n = n*3/2 + 1 // some uses of each
				}
			})
		}
	}
}

// callFails lets use n of a call fail on a rank, if there is such a use.
func callFails(t *testing.T, name string, rank, n int) bool {
	file := filepath.Join(t.TempDir(), "p.npy")
	f, calls := newFake(3), new(int)
	var errs []error
	ended := false // all that the failing rank does, without an error
	what := fmt.Sprintf("call %d of %s on rank %d", n, name, rank)
	inTime(t, what, func() {
		errs = f.job(t.Context(), func(r int, t *mpi.Table) {
			if r == rank {
				calls = failing(t, name, n)
			}
		}, func(ctx context.Context, c *Comm) error {
			err := everything(t, file)(ctx, c)
			if c.Rank() == rank {
				ended = err == nil
			}
			return err
		})
	})
	checkOutput(t, what, file, errs[0])
	if *calls <= n {
		return false
	}
	for r, err := range errs {
		switch {
		case strings.Contains(strings.Join(harmless, " "), name):
		case err == nil && r != rank && ended: // the others may have ended before
		case err == nil:
			t.Errorf("%s: no error on rank %d", what, r)
		case r == rank && !strings.Contains(err.Error(), "Fake 1.0 (libfake.so)"):
			t.Errorf("%s: %v does not name the library", what, err)
		}
	}
	return true
}

// checkOutput looks for what is not a whole file. The last operations may fail after it was made.
func checkOutput(t *testing.T, what, file string, err error) {
	t.Helper()
	names, e := filepath.Glob(filepath.Join(filepath.Dir(file), "*"))
	if e != nil {
		t.Fatal(e)
	}
	hidden, e := filepath.Glob(filepath.Join(filepath.Dir(file), ".*"))
	if e != nil {
		t.Fatal(e)
	}
	for _, name := range append(names, hidden...) {
		info, e := os.Stat(name)
		if e != nil {
			t.Fatal(e)
		}
		if name != file || info.Size() != 128+9*9*4 {
			t.Errorf("%s: %v, and it left %s of %d bytes", what, err, name, info.Size())
		}
	}
	if err == nil && len(names) != 1 {
		t.Errorf("%s: no error, and no file", what)
	}
}

// What goes wrong on one rank ends the waiting of the others, with its text.
func TestOneRankFails(t *testing.T) {
	for rank := range 3 {
		var errs []error
		inTime(t, "a job", func() {
			errs = newFake(3).job(t.Context(), nil, func(ctx context.Context, c *Comm) error {
				if c.Rank() == rank {
					return errTest
				}
				_, err := c.Grid(ctx, 0, 0)
				return err
			})
		})
		for r, err := range errs {
			var e *Error
			want := fmt.Sprintf("rank %d: planted", rank)
			if !errors.As(err, &e) || e.Rank != rank || e.Here != r || err.Error() != want {
				t.Errorf("rank %d failed, and rank %d says %v", rank, r, err)
			}
			if r == rank && !errors.Is(err, errTest) {
				t.Errorf("rank %d: %v is not its own error", r, err)
			}
		}
	}
}

// The context of f is done when another rank fails, also while nobody waits for MPI.
func TestContextOfAFailedJob(t *testing.T) {
	inTime(t, "a job", func() {
		errs := newFake(2).job(t.Context(), nil, func(ctx context.Context, c *Comm) error {
			if c.Rank() == 1 {
				return errTest
			}
			<-ctx.Done() // as a long computation does
			return context.Cause(ctx)
		})
		if errs[0] == nil || errs[0].Error() != "rank 1: planted" {
			t.Error(errs[0])
		}
	})
}

// A canceled job ends on all ranks, also where one rank alone learns of it.
func TestCanceled(t *testing.T) {
	f := newFake(3)
	inTime(t, "a canceled job", func() {
		for rank, err := range f.job(t.Context(), nil, func(ctx context.Context, c *Comm) error {
			if c.Rank() == 2 {
				var cancel func()
				ctx, cancel = context.WithCancel(ctx)
				time.AfterFunc(time.Millisecond, cancel)
				<-ctx.Done()
			}
			_, err := c.Grid(ctx, 0, 0)
			return err
		}) {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("rank %d: %v", rank, err)
			}
		}
	})
}

// Ranks that call different things, or one thing with different arguments, are told so.
func TestDifferentCalls(t *testing.T) {
	file := filepath.Join(t.TempDir(), "v.npy")
	save(t, file, random[int32](1, 3, 1), npy.Header{Shape: []int{3}})
	out := filepath.Join(t.TempDir(), "out.npy")
	for _, c := range []struct {
		name string
		call func(ctx context.Context, s *linalg.Session, g *Grid, m *Matrix[int32], rank int) error
	}{
		{"blocks", func(ctx context.Context, _ *linalg.Session, g *Grid, _ *Matrix[int32], rank int) error {
			_, err := g.c.Grid(ctx, 0, 4+rank)
			return err
		}},
		{"shape", func(ctx context.Context, _ *linalg.Session, g *Grid, _ *Matrix[int32], rank int) error {
			_, err := Scatter(ctx, g, 0, linalg.NewMatrix[int32](3, 3+rank, nil))
			return err
		}},
		{"root", func(ctx context.Context, _ *linalg.Session, _ *Grid, m *Matrix[int32], rank int) error {
			_, err := m.Gather(ctx, rank)
			return err
		}},
		{"operation", func(ctx context.Context, _ *linalg.Session, _ *Grid, m *Matrix[int32], rank int) error {
			if rank == 0 {
				_, err := Transpose(ctx, m)
				return err
			}
			_, err := m.Gather(ctx, 0)
			return err
		}},
		{"alpha", func(ctx context.Context, s *linalg.Session, g *Grid, m *Matrix[int32], rank int) error {
			return gemmInto(ctx, s, g, int32(rank), 'N', m, 1)
		}},
		{"beta", func(ctx context.Context, s *linalg.Session, g *Grid, m *Matrix[int32], rank int) error {
			return gemmInto(ctx, s, g, 1, 'N', m, int32(1+rank))
		}},
		{"op", func(ctx context.Context, s *linalg.Session, g *Grid, m *Matrix[int32], rank int) error {
			return gemmInto(ctx, s, g, 1, []blas.Transpose{'N', 'T'}[rank], m, 0)
		}},
		{"factor", func(ctx context.Context, s *linalg.Session, _ *Grid, m *Matrix[int32], rank int) error {
			_, err := Scale(ctx, s, int32(2+rank), m)
			return err
		}},
		{"order", func(ctx context.Context, _ *linalg.Session, _ *Grid, m *Matrix[int32], rank int) error {
			return m.WriteNPY(ctx, out, Layout{Fortran: rank == 1})
		}},
		{"dimensions", func(ctx context.Context, _ *linalg.Session, g *Grid, _ *Matrix[int32], rank int) error {
			m, err := New[int32](g, 1, 3)
			if err != nil {
				return err
			}
			return m.WriteNPY(ctx, out, Layout{Shape: [][]int{{3}, {1, 3}}[rank]})
		}},
		{"output", func(ctx context.Context, _ *linalg.Session, _ *Grid, m *Matrix[int32], rank int) error {
			return m.WriteNPY(ctx, out+fmt.Sprint(rank), Layout{})
		}},
		{"vector", func(ctx context.Context, _ *linalg.Session, g *Grid, _ *Matrix[int32], rank int) error {
			read := []func(context.Context, *Grid, string) (*Matrix[int32], error){ReadNPY[int32], ReadNPYColumn[int32]}
			_, err := read[rank](ctx, g, file)
			return err
		}},
		{"none", func(ctx context.Context, _ *linalg.Session, g *Grid, _ *Matrix[int32], rank int) error {
			if rank == 1 {
				return nil
			}
			return g.c.Agree(ctx, nil)
		}},
		{"agreement", func(ctx context.Context, _ *linalg.Session, g *Grid, m *Matrix[int32], rank int) error {
			if rank == 1 {
				return g.c.Agree(ctx, nil)
			}
			_, err := Transpose(ctx, m)
			return err
		}},
	} {
		inTime(t, c.name, func() {
			for rank, err := range newFake(2).job(t.Context(), nil, func(ctx context.Context, comm *Comm) error {
				s := openCPU(t, comm)
				defer s.Close()
				g, err := comm.Grid(ctx, 0, 4)
				if err != nil {
					return err
				}
				m, err := New[int32](g, 3, 3)
				if err != nil {
					return err
				}
				return c.call(ctx, s, g, m, comm.Rank())
			}) {
				if err == nil || !isAgreed(err) || !strings.Contains(err.Error(), "rank 1: it has another call") {
					t.Errorf("%s: rank %d: %v", c.name, rank, err)
				}
			}
		})
		if _, err := os.Stat(out); err == nil {
			t.Fatalf("%s: a file was written", c.name)
		}
	}
}

func gemmInto(ctx context.Context, s *linalg.Session, g *Grid, alpha int32, op blas.Transpose, m *Matrix[int32],
	beta int32,
) error {
	c, err := New[int32](g, 3, 3)
	if err != nil {
		return err
	}
	return Gemm(ctx, s, alpha, op, m, 'N', m, beta, c)
}

// A matrix that the machine has no room for is an error on all ranks, which ends the job.
func TestTooLarge(t *testing.T) {
	want := "out of memory"
	if strconv.IntSize == 32 { // more elements than an int counts
		want = "a matrix of 268435456x268435456"
	}
	for rank, err := range newFake(2).job(t.Context(), nil, func(ctx context.Context, c *Comm) error {
		g, err := c.Grid(ctx, 0, 4)
		if err != nil {
			return err
		}
		_, err = New[float64](g, 1<<28, 1<<28)
		return err
	}) {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("on rank %d: %v", rank, err)
		}
	}
}

// The whole of a matrix may be too large where its parts are not.
func TestGatherTooLarge(t *testing.T) {
	defer func(f func() int64) { hostMemory = f }(hostMemory)
	hostMemory = func() int64 { return 1 << 10 }
	for rank, err := range newFake(2).job(t.Context(), nil, func(ctx context.Context, c *Comm) error {
		g, err := c.Grid(ctx, 0, 4)
		if err != nil {
			return err
		}
		m, err := New[float64](g, 12, 12)
		if err != nil {
			return fmt.Errorf("a part: %w", err)
		}
		_, err = m.Gather(ctx, 1)
		return err
	}) {
		if err == nil || !strings.Contains(err.Error(), "rank 1: ") && rank == 0 ||
			!strings.Contains(err.Error(), "1152 bytes are needed for the whole of 12x12") {
			t.Errorf("on rank %d: %v", rank, err)
		}
	}
}

// Arguments that are wrong on one rank alone end the job on all, whatever the ranks do with that.
func TestWrongArgumentsOfOne(t *testing.T) {
	for name, after := range map[string]func(ctx context.Context, c *Comm, err error) error{
		"return": func(_ context.Context, _ *Comm, err error) error { return err },
		"agree":  func(ctx context.Context, c *Comm, err error) error { return c.Agree(ctx, err) },
		"ignore": func(ctx context.Context, c *Comm, err error) error {
			_, e := c.Grid(ctx, 0, 5)
			return errors.Join(err, e)
		},
	} {
		inTime(t, name, func() {
			for rank, err := range newFake(3).job(t.Context(), nil, func(ctx context.Context, c *Comm) error {
				_, err := c.Grid(ctx, []int{1, 2, 1}[c.Rank()], 4) // 2 does not divide 3
				return after(ctx, c, err)
			}) {
				if err == nil {
					t.Errorf("%s: no error on rank %d", name, rank)
				}
			}
		})
	}
}

// What is wrong with the arguments is an error that every rank has, and after which MPI ends well.
func TestWrongArguments(t *testing.T) {
	onRanks(t, 4, func(ctx context.Context, c *Comm) error {
		s := openCPU(t, c)
		defer s.Close()
		g, err := c.Grid(ctx, 0, 4)
		if err != nil {
			return err
		}
		other, err := c.Grid(ctx, 1, 4)
		if err != nil {
			return err
		}
		a, _ := New[float64](g, 3, 4)
		b, _ := New[float64](g, 5, 6)
		o, _ := New[float64](other, 4, 3)
		square, _ := New[float64](g, 3, 3)
		var none linalg.Matrix[int32]
		for name, f := range map[string]func() error{
			"rows that do not divide": func() error { _, err := c.Grid(ctx, 3, 4); return err },
			"a negative block":        func() error { _, err := c.Grid(ctx, 1, -1); return err },
			"a negative dimension":    func() error { _, err := New[float64](g, -1, 4); return err },
			"too many elements":       func() error { _, err := New[float64](g, 1<<31-1, 1<<31-1); return err },
			"a product":               func() error { _, err := MatMul(ctx, s, a, b); return err },
			"another grid":            func() error { _, err := MatMul(ctx, s, a, o); return err },
			"a sum":                   func() error { _, err := Add(ctx, s, a, b); return err },
			"a block without end":     func() error { _, err := c.Grid(ctx, 1, math.MaxInt); return err },
			"no transposition":        func() error { return Gemm(ctx, s, 1, 'N', square, 0, square, 1, a) },
			"an overlap":              func() error { return Gemm(ctx, s, 1, 'N', square, 'N', square, 1, square) },
			"a rank":                  func() error { _, err := Scatter(ctx, g, 4, none); return err },
			"no rank":                 func() error { _, err := a.Gather(ctx, -1); return err },
			"a layout":                func() error { return a.WriteNPY(ctx, "/no", Layout{Shape: []int{4, 3}}) },
			"a vector":                func() error { return a.WriteNPY(ctx, "/no", Layout{Shape: []int{12}}) },
			"three dimensions":        func() error { return a.WriteNPY(ctx, "/no", Layout{Shape: []int{3, 4, 2}}) },
		} {
			err := f()
			if !isAgreed(err) || !errors.Is(err, linalg.ErrShape) && !errors.Is(err, linalg.ErrOverlap) {
				return fmt.Errorf("%s: %v", name, err)
			}
		}
		if err := checkNil(ctx, s, a, b); err != nil {
			return err
		}
		_, err = Scatter(ctx, g, 0, linalg.Matrix[int32]{Rows: 3, Cols: 3, Stride: 3, Data: make([]int32, 8)})
		if !isAgreed(err) {
			return fmt.Errorf("a matrix with too few values: %v", err)
		}
		return nil
	})
}

// checkNil gives calls less than they need, as after an error that was not looked at. Where one of
// the matrices is there, the ranks agree on what is not.
func checkNil(ctx context.Context, s *linalg.Session, a, b *Matrix[float64]) error {
	var none *linalg.Session
	sum := array.ReductionOf("sum")
	for _, c := range []struct {
		err    error
		want   error
		text   string
		agreed bool
	}{
		{second(MatMul(ctx, s, a, nil)), linalg.ErrShape, "MatMul: b is nil", true},
		{second(MatMul(ctx, s, nil, b)), linalg.ErrShape, "MatMul: a is nil", true},
		{second(MatMul(ctx, s, a, new(Matrix[float64]))), linalg.ErrShape, "MatMul: b is nil", true},
		{second(MatMul(ctx, none, a, b)), backend.ErrArgument, "MatMul: there is no session", true},
		{second(MatMul(ctx, new(linalg.Session), a, b)), backend.ErrArgument, "there is no session", true},
		{Gemm(ctx, s, 1, 'N', a, 'N', b, 0, nil), linalg.ErrShape, "Gemm: c is nil", true},
		{Gemm[float64](ctx, s, 1, 'N', nil, 'N', nil, 0, nil), linalg.ErrShape, "Gemm: a is nil", false},
		{Gemm(ctx, none, 1, 'N', a, 'N', b, 0, b), backend.ErrArgument, "Gemm: there is no session", true},
		{second(Add(ctx, s, a, nil)), linalg.ErrShape, "add: b is nil", true},
		{second(Scale(ctx, none, 2, a)), backend.ErrArgument, "scale: there is no session", true},
		{second(Elementwise(ctx, s, nil, 2, a)), backend.ErrArgument, "the operation is nil", true},
		{second(Elementwise(ctx, s, kernels.Add, 2, a)), linalg.ErrShape, "add takes 2 matrices, not 1", true},
		{second(Elementwise[float64](ctx, s, kernels.Add, 2)), linalg.ErrShape, "not 0", false},
		{second(Transpose[float64](ctx, nil)), linalg.ErrShape, "Transpose: the matrix is nil", false},
		{second(Reduce[float64](ctx, none, sum, array.OverAll, a)), backend.ErrArgument, "there is no session", true},
		{second(Reduce[float64](ctx, s, sum, array.Over(7), a)), backend.ErrArgument, "there is no Over(7)", true},
		{second(Reduce[float64](ctx, s, nil, array.OverAll, a)), backend.ErrArgument, "the reduction is nil", true},
		{second(Reduce[float64, float64](ctx, s, sum, array.OverAll, nil)), linalg.ErrShape, "sum: a is nil", false},
		{second((*Matrix[float64])(nil).Gather(ctx, 0)), linalg.ErrShape, "Gather: the matrix is nil", false},
		{(*Matrix[float64])(nil).WriteNPY(ctx, "/no", Layout{}), linalg.ErrShape, "WriteNPY: the matrix is nil", false},
		{second(New[float64](nil, 2, 2)), backend.ErrArgument, "New: the grid is nil", false},
		{second(Scatter(ctx, nil, 0, a.Local())), backend.ErrArgument, "the grid is nil", false},
		{second(ReadNPY[float64](ctx, nil, "/no")), backend.ErrArgument, "ReadNPY: the grid is nil", false},
		{second(ReadNPYColumn[float64](ctx, nil, "/no")), backend.ErrArgument, "the grid is nil", false},
	} {
		if !errors.Is(c.err, c.want) || !strings.Contains(c.err.Error(), c.text) || isAgreed(c.err) != c.agreed {
			return fmt.Errorf("%v is not %v, %q, agreed: %t", c.err, c.want, c.text, c.agreed)
		}
	}
	return nil
}

func second[T any](_ T, err error) error { return err }
