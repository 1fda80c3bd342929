package linalg_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/linalg"
)

var busy = flag.Duration("busy", 300*time.Millisecond, "how long TestBusy works with each backend: 1m on a GPU")

// Two sessions of one device work at once, each in two goroutines, and free arrays that queued
// commands still use: memory that comes back too early would have another's elements.
func TestBusy(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *linalg.Session) {
		other := s
		if t.Name() != "TestBusy/copies" { // whose device has hooks
			var err error
			if other, err = linalg.Open(s.Info().Driver); err != nil {
				t.Fatal(err)
			}
			defer other.Close()
		}
		const size = 96
		want, err := chain(s, size, func() error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		until := time.Now().Add(*busy)
		for i, s := range []*linalg.Session{s, s, other, other} {
			go func() { done <- work(s, size, uint64(i), until, want) }()
		}
		for range 4 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

// work makes the same chain of products again and again, among arrays of garbage that come and go.
func work(s *linalg.Session, size int, seed uint64, until time.Time, want []float32) error {
	rng := rand.New(rand.NewPCG(seed, 1))
	for n := 0; n == 0 || time.Now().Before(until); n++ {
		got, err := chain(s, size, func() error {
			rows := 1 + rng.IntN(2*size)
			garbage, err := linalg.Upload(s, linalg.NewMatrix(rows, size, slices.Repeat([]float32{7e30}, rows*size)))
			if err != nil {
				return err
			}
			return garbage.Free()
		})
		switch {
		case err != nil:
			return err
		case !slices.Equal(got, want):
			return fmt.Errorf("goroutine %d, round %d: a chain of products differs", seed, n)
		}
	}
	return nil
}

// chain is x = x·a for some steps, each in an array of its own, which is freed at once; between
// runs before each.
func chain(s *linalg.Session, size int, between func() error) ([]float32, error) {
	m := linalg.NewMatrix[float32](size, size, nil)
	for i := range m.Data {
		m.Data[i] = float32(i%7)/64 - 0.05
	}
	a, err := linalg.Upload(s, m)
	if err != nil {
		return nil, err
	}
	defer a.Free()
	x, err := linalg.Upload(s, m)
	if err != nil {
		return nil, err
	}
	for range 12 {
		if err := between(); err != nil {
			return nil, err
		}
		y, err := linalg.NewArray[float32](s, size, size)
		if err != nil {
			return nil, err
		}
		if err := y.Mul(x, a); err != nil {
			return nil, err
		}
		if err := x.Free(); err != nil { // while the product may run
			return nil, err
		}
		x = y
	}
	defer x.Free()
	m, err = x.Download()
	return m.Data, err
}
