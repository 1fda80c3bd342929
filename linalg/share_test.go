package linalg_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/internal/faulttest"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/racetest"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

// eachShared runs f with sessions that cut results into tiles: of a few elements, whose panels have
// a few steps of k.
func eachShared(t *testing.T, f func(t *testing.T, s *linalg.Session)) {
	for _, x := range []struct{ spec, limit string }{
		{"cpu+opencl", ""}, {"cudasim", "20KiB"}, {"opencl+cpu+cudasim", "0.004MiB"},
	} {
		t.Run(x.spec+" "+x.limit, func(t *testing.T) {
			if strings.Contains(x.spec, "cudasim") && racetest.Enabled {
				t.Skip("minutes of simulation under the race detector")
			}
			t.Setenv(linalg.EnvMemory, x.limit)
			defer linalg.SmallTiles(4, 5, 256)()
			s, err := linalg.Open(x.spec)
			if err != nil {
				backendtest.Require(t, "opencl", err)
				return
			}
			f(t, s)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	// matrices larger than a buffer go through any device in parts
	for _, x := range []struct {
		drivers []string
		unified bool
	}{{[]string{"opencl"}, true}, {[]string{"opencl", "cpu"}, true}, {[]string{"cpu"}, false}} {
		t.Run(fmt.Sprintf("small buffers of %v", x.drivers), func(t *testing.T) {
			defer linalg.SmallTiles(4, 5, 256)()
			var drivers []*faulty
			for _, name := range x.drivers {
				if _, err := backend.Lookup(name).Devices(); err != nil {
					backendtest.Require(t, name, err)
					return
				}
				drivers = append(drivers, newFaulty(name, func(i *backend.Info) {
					i.Host, i.UnifiedMemory, i.MaxAlloc = i.Host && x.unified, x.unified, 4000
				}))
			}
			s := openFaulty(t, drivers...)
			f(t, s)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// What is shared out has the bits of the reference, and every device computes some of it.
func TestShared(t *testing.T) {
	eachShared(t, func(t *testing.T, s *linalg.Session) {
		testShared[float32](t, s)
		testShared[float64](t, s)
		testShared[int32](t, s)
		idle := func(d linalg.DeviceUse) bool { return d.Elements == 0 }
		for n := 0; n < 100 && slices.ContainsFunc(s.Devices(), idle); n++ { // beside other work one may come too late
			testShared[float32](t, s)
		}
		for _, d := range s.Devices() {
			t.Logf("%s: %d elements", d.Info.Name, d.Elements)
			if d.Elements == 0 || d.Err != nil {
				t.Errorf("%s computed %d elements, %v", d.Info.Name, d.Elements, d.Err)
			}
		}
	})
}

// A device without a type leaves the calls in it to the others: to one that works on the host's
// memory as they are, and that tells the progress.
func TestSharedType(t *testing.T) {
	defer linalg.SmallTiles(4, 5, 256)()
	s := openFaulty(t,
		newFaulty("cpu", func(i *backend.Info) { i.Driver, i.UnifiedMemory, i.Float64 = "faulty", false, false }),
		newFaulty("cpu", func(*backend.Info) {}))
	testShared[float64](t, s)
	if use := s.Devices(); use[0].Elements > 0 || use[1].Elements == 0 {
		t.Errorf("the devices computed %d and %d elements", use[0].Elements, use[1].Elements)
	}
	last, n := 0.0, linalg.NewMatrix[float64](64, 64, nil)
	ctx := linalg.WithProgress(t.Context(), func(part float64) { last = part })
	if _, err := linalg.MatMul(n, n, linalg.On(s), linalg.WithContext(ctx)); err != nil || last != 1 {
		t.Errorf("%v, the last progress is %v", err, last)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func testShared[T linalg.Element](t *testing.T, s *linalg.Session) {
	rng := rand.New(rand.NewPCG(51, 52))
	ctx := context.Background()
	cases := slices.Concat(batchCases, []batchCase{
		{1, 1, 1, 1, 'N', 'N', false, false},
		{1, 45, 37, 23, 'N', 'N', false, false},
		{1, 45, 37, 23, 'T', 'N', false, false},
		{1, 37, 45, 23, 'N', 'C', false, false},
		{1, 29, 31, 41, 'T', 'T', false, false},
		{1, 3, 90, 11, 'N', 'N', false, false},
		{1, 90, 3, 11, 'N', 'N', false, false},
		{2, 26, 27, 9, 'N', 'T', false, false},
	})
	scalars := []T{1, 0, 3, T(0) - 2}
	for i, x := range cases {
		a := stackOf[T](rng, x.count, x.sharedA, x.tA, x.m, x.k, i%3)
		b := stackOf[T](rng, x.count, x.sharedB, x.tB, x.k, x.n, (i+1)%4)
		c := random[T](rng, x.count*x.m, x.n, 2+i%3)
		for n := range 2 {
			alpha, beta := scalars[(i+n)%5%4], scalars[(i+3*n+1)%4]
			what := fmt.Sprintf("%s alpha %v beta %v", x, alpha, beta)
			got := c
			got.Data = slices.Clone(c.Data)
			if err := linalg.Gemm(alpha, x.tA, a, x.tB, b, beta, got, linalg.Batch(x.count), linalg.On(s),
				linalg.WithContext(ctx)); err != nil {
				t.Fatal(what, err)
			}
			same(t, what, got, batchReference(x, alpha, a, b, beta, c))
			guarded(t, what, got)
		}
		if x.tA != 'N' || x.tB != 'N' || a.Rows*x.k == 0 || c.Rows*x.n == 0 {
			continue
		}
		special(a.Row(0), c.Row(0)[:min(x.n, 3)])
		for _, negate := range []bool{false, true} {
			what := fmt.Sprintf("%s, chain, negated %v", x, negate)
			got, want, update := c, c.Packed(), linalg.AddMul[T]
			got.Data = slices.Clone(c.Data)
			if negate {
				update = linalg.SubMul[T]
			}
			if err := update(a, b, got, linalg.On(s), linalg.WithContext(ctx), linalg.Batch(x.count)); err != nil {
				t.Fatal(what, err)
			}
			for z := range x.count {
				a, b, c := part(a, z, x.count, x.sharedA), part(b, z, x.count, x.sharedB), part(want, z, x.count, false)
				host.AddMulReference(negate, x.m, x.n, x.k, a.Data, a.Stride, b.Data, b.Stride, c.Data, c.Stride)
			}
			same(t, what, got, want)
		}
	}
	a, b := random[T](rng, 35, 46, 1), random[T](rng, 35, 46, 3)
	alone, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Close()
	for _, op := range kernels.Elementwises() {
		in := []linalg.Matrix[T]{a, b}[:op.Inputs]
		got, err1 := linalg.Elementwise(op, T(0)-3, in, linalg.On(s), linalg.WithContext(ctx))
		want, err2 := linalg.Elementwise(op, T(0)-3, in, linalg.On(alone), linalg.WithContext(ctx))
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		same(t, op.Name, got, want)
	}
	transposed, err := linalg.Transpose(a, linalg.On(s), linalg.WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	wantTransposed := transposed.Packed()
	for i := range a.Rows {
		for j := range a.Cols {
			wantTransposed.Set(j, i, a.At(i, j))
		}
	}
	same(t, "transposed", transposed, wantTransposed)
}

// No more memory of a device is used than TANDEM_MEMORY allows, wherever that cuts K.
func TestMemoryLimit(t *testing.T) {
	defer linalg.SmallTiles(1, 4, 64)()
	rng := rand.New(rand.NewPCG(53, 54))
	a, b := random[float32](rng, 13, 40, 1), random[float32](rng, 40, 11, 0)
	want := reference(1, 'N', a, 'N', b, 0, linalg.NewMatrix[float32](13, 11, nil))
	for _, limit := range []int64{10, 40, 100, 300, 1000, 3000, 10_000} {
		t.Setenv(linalg.EnvMemory, fmt.Sprint(limit))
		f := newFaulty("cpu", func(i *backend.Info) { i.Driver, i.UnifiedMemory = "faulty", false })
		s := f.session(t)
		var mu sync.Mutex
		launches := 0
		restore := f.wrap(func(name string, c faulttest.Call) []reflect.Value {
			mu.Lock()
			defer mu.Unlock()
			if name == "Queue.Launch" {
				launches++
			}
			return c.Run()
		})
		got, err := linalg.MatMul(a, b, linalg.On(s))
		restore()
		if limit < 32 {
			if !errors.Is(err, backend.ErrOutOfMemory) || !strings.Contains(err.Error(), linalg.EnvMemory) {
				t.Errorf("%d bytes: %v, want an ErrOutOfMemory that names the variable", limit, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%d bytes: %v", limit, err)
			continue
		}
		same(t, fmt.Sprintf("%d bytes", limit), got, want)
		t.Logf("%d bytes: %d launches, %d bytes used", limit, launches, f.most)
		if f.most > limit || f.most == 0 {
			t.Errorf("%d bytes: %d were used at once", limit, f.most)
		}
	}
	t.Setenv(linalg.EnvMemory, "many")
	if s, err := linalg.Open("cpu"); !errors.Is(err, backend.ErrArgument) {
		t.Errorf("session %v, %v; want an ErrArgument", s, err)
	}
}

// sharedCalls are calls on host matrices that devices share. Each gives its result.
var sharedCalls = map[string]func(ctx context.Context, s *linalg.Session) (linalg.Matrix[float32], error){
	"product": func(ctx context.Context, s *linalg.Session) (linalg.Matrix[float32], error) {
		return linalg.MatMul(sequence(30, 12, 1), sequence(12, 20, 0), linalg.On(s), linalg.WithContext(ctx))
	},
	"update": func(ctx context.Context, s *linalg.Session) (linalg.Matrix[float32], error) {
		c := sequence(30, 20, 2)
		err := linalg.Gemm(3, 'T', sequence(12, 30, 1), 'T', sequence(20, 12, 0), 2, c, linalg.On(s),
			linalg.WithContext(ctx))
		return c, err
	},
	"chain": func(ctx context.Context, s *linalg.Session) (linalg.Matrix[float32], error) {
		c := sequence(30, 20, 2)
		err := linalg.SubMul(sequence(30, 12, 1), sequence(12, 20, 0), c, linalg.On(s), linalg.WithContext(ctx))
		return c, err
	},
	"batch": func(ctx context.Context, s *linalg.Session) (linalg.Matrix[float32], error) {
		c := sequence(60, 4, 2)
		err := linalg.Gemm(1, 'N', sequence(60, 5, 1), 'N', sequence(100, 4, 0), 2, c, linalg.Batch(20), linalg.On(s),
			linalg.WithContext(ctx))
		return c, err
	},
	"beta": func(ctx context.Context, s *linalg.Session) (linalg.Matrix[float32], error) {
		c := sequence(30, 20, 2)
		err := linalg.Gemm(0, 'N', sequence(30, 3, 1), 'N', sequence(3, 20, 0), 2, c, linalg.On(s),
			linalg.WithContext(ctx))
		return c, err
	},
	"sum": func(ctx context.Context, s *linalg.Session) (linalg.Matrix[float32], error) {
		return linalg.Add(sequence(30, 20, 1), sequence(30, 20, 0), linalg.On(s), linalg.WithContext(ctx))
	},
	"transpose": func(ctx context.Context, s *linalg.Session) (linalg.Matrix[float32], error) {
		return linalg.Transpose(sequence(30, 20, 1), linalg.On(s), linalg.WithContext(ctx))
	},
}

// Where a device fails at any of its calls the others finish its part, and the session tells of it;
// with none left the error is returned. What the failed one had made is given back.
func TestSharedFaults(t *testing.T) {
	defer linalg.SmallTiles(4, 5, 64)()
	ctx := context.Background()
	discrete := func(i *backend.Info) { i.Driver, i.UnifiedMemory = "faulty", false }
	want := map[string]linalg.Matrix[float32]{}
	for name, call := range sharedCalls {
		s, err := linalg.Open("cpu")
		if err != nil {
			t.Fatal(err)
		}
		want[name], err = call(ctx, s)
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	inPlace := func(*backend.Info) {}
	for _, x := range []struct {
		bad    func(*backend.Info)
		others int // that work
	}{{discrete, 0}, {discrete, 1}, {discrete, 2}, {inPlace, 1}} {
		bad, others := newFaulty("cpu", x.bad), x.others
		all := []*faulty{bad, newFaulty("cpu", discrete), newFaulty("cpu", inPlace)}
		s := openFaulty(t, all[:others+1]...)
		faults, told := 0, 0
		for name, call := range sharedCalls {
			for range 2 {
				if _, err := call(ctx, s); err != nil {
					t.Fatal(name, err)
				}
			}
			for _, lost := range []bool{false, true} {
				for nth := 1; ; nth += 1 + nth/20 {
					var mu sync.Mutex
					uses, failed := 0, ""
					restore := bad.wrap(func(function string, c faulttest.Call) []reflect.Value {
						mu.Lock()
						uses++
						now := uses == nth || lost && uses > nth
						if now && failed == "" {
							failed = function
						}
						mu.Unlock()
						switch {
						case !now:
							return c.Run()
						case strings.HasSuffix(function, "Free") || strings.HasSuffix(function, "Release"):
							c.Run()
						}
						if lost {
							return c.Fail(2)
						}
						return c.Fail(1)
					})
					got, err := call(ctx, s)
					restore()
					if failed == "" {
						break
					}
					faults++
					what := fmt.Sprintf("%d others, %s, call %d, %s, lost %v", others, name, nth, failed, lost)
					after := s.Devices()[0].Err
					switch {
					case others == 0 && err != nil || others > 0 && after != nil:
						told++
						if reported := cmp.Or(err, after); !errors.Is(reported, backend.ErrOutOfMemory) &&
							!errors.Is(reported, backend.ErrDeviceLost) {
							t.Errorf("%s: %v is not the device's error", what, reported)
						}
					case !triedTwice(failed):
						t.Errorf("%s: nobody is told", what)
					}
					if others > 0 && err != nil {
						t.Errorf("%s: %v", what, err)
					}
					if err == nil {
						same(t, what, got, want[name])
					}
					got, err = call(ctx, s)
					switch {
					case lost && others == 0 && errors.Is(err, backend.ErrDeviceLost):
					case err != nil:
						t.Fatalf("%s, afterwards: %v", what, err)
					default:
						same(t, what+", afterwards", got, want[name])
					}
					if n := bad.count("event"); n > 0 || bad.bytes > 0 {
						t.Fatalf("%s: %d events and %d bytes are left", what, n, bad.bytes)
					}
					if lost { // for good
						s.Close()
						s = openFaulty(t, all[:others+1]...)
					}
				}
			}
		}
		t.Logf("%d others: %d faults, %d told", others, faults, told)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A call that is cancelled ends, with all that it had started; calls beside each other take turns.
func TestSharedCancel(t *testing.T) {
	eachShared(t, func(t *testing.T, s *linalg.Session) {
		for _, n := range []int{0, 1, 2, 5, 10, 20, 40} {
			ctx := newCountdown(n)
			if _, err := sharedCalls["product"](ctx, s); err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled at the %dth look: %v", n, err)
			}
		}
		want, err := sharedCalls["update"](context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() {
				last := 0.0
				ctx := linalg.WithProgress(context.Background(), func(f float64) {
					if f < last {
						t.Errorf("progress goes back from %v to %v", last, f)
					}
					last = f
				})
				got, err := sharedCalls["update"](ctx, s)
				if err != nil {
					t.Error(err)
					return
				}
				same(t, "one of several", got, want)
				if last != 1 {
					t.Errorf("the last progress is %v", last)
				}
			})
		}
		wait.Wait()
	})
}
