package linalg_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/linalg"
	"github.com/tandem-gpu/tandem/linalg/files"
)

// A countdown is a context that is cancelled when it has been looked at so many times.
type countdown struct {
	context.Context
	mu   sync.Mutex
	left int
	done chan struct{}
}

func newCountdown(n int) *countdown {
	return &countdown{Context: context.Background(), left: n, done: make(chan struct{})}
}

// look counts, and tells whether the context is cancelled.
func (c *countdown) look() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left--
	if c.left == -1 {
		close(c.done)
	}
	return c.left < 0
}

// looks is how often the context, made for so many looks, was looked at.
func (c *countdown) looks(of int) int {
	c.mu.Lock() // package context may look once more, in a goroutine of its own
	defer c.mu.Unlock()
	return of - c.left
}

func (c *countdown) Err() error {
	if c.look() {
		return context.Canceled
	}
	return nil
}

func (c *countdown) Done() <-chan struct{} {
	c.look()
	return c.done
}

// cancellable are all calls that can be cancelled, of a size that is copied and computed in several
// pieces.
var cancellable = map[string]func(ctx context.Context, s *linalg.Session) ([]float32, error){
	"MatMul": func(ctx context.Context, s *linalg.Session) ([]float32, error) {
		c, err := linalg.MatMul(sequence(600, 5, 0), sequence(5, 4, 1), linalg.On(s), linalg.WithContext(ctx))
		return c.Data, err
	},
	"Gemm": func(ctx context.Context, s *linalg.Session) ([]float32, error) {
		c := sequence(600, 4, 1)
		err := linalg.Gemm(2, blas.Trans, sequence(5, 600, 0), blas.Trans, sequence(4, 5, 0), 3, c, linalg.On(s),
			linalg.WithContext(ctx))
		return c.Data, err
	},
	"Array.Gemm": func(ctx context.Context, s *linalg.Session) ([]float32, error) {
		var arrays [3]*linalg.Array[float32]
		for i, m := range []linalg.Matrix[float32]{sequence(5, 600, 0), sequence(5, 4, 1), sequence(600, 4, 0)} {
			a, err := linalg.Upload(s, m)
			if err != nil {
				return nil, err
			}
			defer a.Free()
			arrays[i] = a
		}
		if err := arrays[2].Gemm(1, blas.Trans, arrays[0], blas.NoTrans, arrays[1], 1,
			linalg.WithContext(ctx)); err != nil {
			return nil, err
		}
		c, err := arrays[2].Download()
		return c.Data, err
	},
	"Batch": func(ctx context.Context, s *linalg.Session) ([]float32, error) {
		c, err := linalg.MatMul(sequence(900, 5, 0), sequence(15, 4, 1), linalg.Batch(3), linalg.On(s),
			linalg.WithContext(ctx))
		return c.Data, err
	},
	"Transpose": func(ctx context.Context, s *linalg.Session) ([]float32, error) {
		c, err := linalg.Transpose(sequence(70, 30, 2), linalg.On(s), linalg.WithContext(ctx))
		return c.Data, err
	},
	"Add": func(ctx context.Context, s *linalg.Session) ([]float32, error) {
		c, err := linalg.Add(sequence(70, 30, 2), sequence(70, 30, 0), linalg.On(s), linalg.WithContext(ctx))
		return c.Data, err
	},
	"Scale": func(ctx context.Context, s *linalg.Session) ([]float32, error) {
		c, err := linalg.Scale(0.5, sequence(70, 30, 2), linalg.On(s), linalg.WithContext(ctx))
		return c.Data, err
	},
}

// A context that ends has a cause, which is what all calls return, before they begin and in the
// middle.
func TestCause(t *testing.T) {
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m := linalg.NewMatrix[float64](300, 300, nil)
	for i := range 300 {
		m.Set(i, i, 2)
	}
	lu, errLU := linalg.FactorLU(m)
	qr, errQR := linalg.FactorQR(m)
	if err := errors.Join(errLU, errQR); err != nil {
		t.Fatal(err)
	}
	file := encoded(t, m, false, false)
	in, err := files.Open[float64](bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	z := linalg.NewMatrix[complex128](30, 30, nil)
	for name, call := range map[string]func(ctx context.Context) error{
		"MatMul": func(ctx context.Context) error {
			_, err := linalg.MatMul(m, m, linalg.On(s), linalg.WithContext(ctx))
			return err
		},
		"Complex": func(ctx context.Context) error {
			_, err := linalg.MatMulComplex(z, z, linalg.On(s), linalg.WithContext(ctx))
			return err
		},
		"LU": func(ctx context.Context) error {
			_, err := linalg.FactorLU(m, linalg.On(s), linalg.WithContext(ctx))
			return err
		},
		"LU.Solve": func(ctx context.Context) error { _, err := lu.Solve(m, linalg.WithContext(ctx)); return err },
		"Cholesky": func(ctx context.Context) error {
			_, err := linalg.FactorCholesky(m, linalg.On(s), linalg.WithContext(ctx))
			return err
		},
		"QR": func(ctx context.Context) error {
			_, err := linalg.FactorQR(m, linalg.On(s), linalg.WithContext(ctx))
			return err
		},
		"QR.Q": func(ctx context.Context) error { _, err := qr.Q(linalg.WithContext(ctx)); return err },
		"EigSym": func(ctx context.Context) error {
			_, err := linalg.FactorEigSym(m, linalg.On(s), linalg.WithContext(ctx))
			return err
		},
		"SVD": func(ctx context.Context) error {
			_, err := linalg.FactorSVD(m, linalg.On(s), linalg.WithContext(ctx))
			return err
		},
		"ReadPart": func(ctx context.Context) error { return in.ReadPart(ctx, m, 0, 0) },
		"files.Add": func(ctx context.Context) error {
			return files.Add[float64](ctx, s, &memoryFile{}, bytes.NewReader(file), bytes.NewReader(file),
				files.Options{Memory: 1 << 20})
		},
		"Wait": func(ctx context.Context) error { return s.Wait(linalg.WithContext(ctx)) },
	} {
		cause := errors.New("the request has ended")
		ctx, cancel := context.WithCancelCause(t.Context())
		working := linalg.WithProgress(ctx, func(fraction float64) {
			if fraction < 1 {
				cancel(cause)
			}
		})
		if err := call(working); !errors.Is(err, cause) && ctx.Err() != nil {
			t.Errorf("%s, ended in the middle: %v", name, err)
		}
		cancel(cause)
		if err := call(ctx); !errors.Is(err, cause) {
			t.Errorf("%s, ended before: %v", name, err)
		}
	}
}

// sequence is a matrix with a gap after each row.
func sequence(rows, cols, gap int) linalg.Matrix[float32] {
	m := linalg.Matrix[float32]{Rows: rows, Cols: cols, Stride: cols + gap, Data: make([]float32, rows*(cols+gap))}
	for i := range m.Data {
		m.Data[i] = float32(i%31) - 15
	}
	return m
}

// Whenever a call is cancelled, it returns the context's error, leaves nothing behind, and the
// session goes on.
func TestCancelledAnywhere(t *testing.T) {
	defer linalg.SmallPieces()()
	defer linalg.SmallChunks(4000)()
	eachFaulty(t, testCancelled)
	for _, name := range []string{"opencl", "cuda", "cudasim"} {
		t.Run(name, func(t *testing.T) {
			_, err := backend.Lookup(name).Devices()
			backendtest.Require(t, name, err)
			testCancelled(t, newFaulty(name, func(*backend.Info) {}))
		})
	}
}

// On a cpu device alone, which needs no copies of what is transposed, pieces give the same results.
func TestPiecesOnProcessor(t *testing.T) {
	defer linalg.SmallPieces()()
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for name, call := range cancellable {
		want, err := call(context.Background(), s)
		if err != nil {
			t.Fatal(name, err)
		}
		if got, err := call(newCountdown(1<<30), s); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s, in pieces: %v", name, err)
		}
	}
}

func testCancelled(t *testing.T, f *faulty) {
	s, cases := f.session(t), 0
	for name, call := range cancellable {
		want, err := call(context.Background(), s)
		if err != nil {
			t.Fatal(name, err)
		}
		never := newCountdown(1 << 30)
		if got, err := call(never, s); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s, in pieces: %v", name, err)
		}
		looks := never.looks(1 << 30)
		if looks == 0 {
			t.Errorf("%s never looks at its context", name)
		}
		kept := f.count(parts...)
		for k := range looks {
			got, err := call(newCountdown(k), s)
			if err == nil && slices.Equal(got, want) && k > 0 {
				continue // cancelled when nothing was left to do
			}
			cases++
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s, cancelled at look %d of %d: %v", name, k+1, looks, err)
			}
			if n := f.count(parts...); n > kept {
				t.Fatalf("%s, cancelled at look %d of %d: %d objects are left", name, k+1, looks, n-kept)
			}
			if got, err := call(context.Background(), s); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s, after it was cancelled at look %d of %d: %v", name, k+1, looks, err)
			}
		}
	}
	t.Logf("%d cancellations", cases)
}
