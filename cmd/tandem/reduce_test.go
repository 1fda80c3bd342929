package main

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/linalg"
	npyfiles "github.com/tandem-gpu/tandem/linalg/files"
)

// Reductions of files have the bits of those of matrices, in every layout, in memory and in parts.
func TestReduce(t *testing.T) {
	onBackends(t, func(t *testing.T, backend string) {
		at := in(t.TempDir())
		a := values[float32]("random", 83, 57, false, rand.New(rand.NewPCG(9, 10)))
		s, err := linalg.Open("cpu")
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for n, op := range array.Reductions() {
			for axis, shape := range map[string][]int{"": {1, 1}, "0": {1, 57}, "1": {83, 1}} {
				if backend != "cpu" && axis != "0" {
					continue // package array's tests have them
				}
				for _, l := range layoutsOn(backend, n) {
					file := write(t, at("a.npy"), encode(l, a))
					args := []string{op.Name, file, "--axis", axis, "-o", at("c.npy"), "--backend", backend}
					must(t, args...)
					if op.Index {
						checkReduced[int32](t, s, op, a, at("c.npy"), shape)
					} else {
						checkReduced[float32](t, s, op, a, at("c.npy"), shape)
					}
					whole := read(t, at("c.npy"))
					t.Setenv(npyfiles.EnvHostMemory, "64KiB")
					var r record
					text := must(t, append(args, "--json")...)
					t.Setenv(npyfiles.EnvHostMemory, "")
					err := json.Unmarshal([]byte(text), &r)
					if err != nil || !r.InParts || read(t, at("c.npy")) != whole {
						t.Errorf("%v in parts: %v\n%s", args, err, text)
					}
				}
			}
		}
	})
}

func checkReduced[D linalg.Element](t *testing.T, s *linalg.Session, op *array.Reduction, a linalg.Matrix[float32],
	file string, shape []int,
) {
	t.Helper()
	want := linalg.NewMatrix[D](shape[0], shape[1], nil)
	if err := array.ReduceContext(t.Context(), s, op, want, a); err != nil {
		t.Fatal(err)
	}
	checkFile(t, file, shape, want)
}

func TestReduceVectors(t *testing.T) {
	dir := t.TempDir()
	at := in(dir)
	v := saveVector[int32](t, at("v.npy"), 3, -1, 4)
	must(t, "sum", v, "-o", at("c.npy"), "--axis", "1")
	checkFile(t, at("c.npy"), []int{1, 1}, linalg.NewMatrix(1, 1, []int32{6}))
	must(t, "sum", v, "-o", at("c.npy"), "--axis", "0")
	checkFile(t, at("c.npy"), []int{1, 3}, linalg.NewMatrix(1, 3, []int32{3, -1, 4}))
	must(t, "argmin", v, "-o", at("c.npy"))
	checkFile(t, at("c.npy"), []int{1, 1}, linalg.NewMatrix(1, 1, []int32{1}))
	none := save(t, at("none.npy"), linalg.NewMatrix[float64](0, 3, nil))
	must(t, "norm", none, "-o", at("c.npy"))
	checkFile(t, at("c.npy"), []int{1, 1}, linalg.NewMatrix(1, 1, []float64{0}))
	fails(t, dir, exitError, "none of no elements", "max", none, "-o", at("d.npy"), "--axis", "0")
	fails(t, dir, exitError, "floating-point", "mean", v, "-o", at("d.npy"))
	for want, args := range map[string][]string{
		"6\n":           {"sum", v},
		"[3  -1  4]\n":  {"max", v, "--axis", "0"},
		"1\n":           {"argmin", v, "--axis", "1"},
		"0x1 float64\n": {"sum", none, "--axis", "1"},
		"[0  0  0]\n":   {"sum", none, "--axis", "0"},
	} {
		if got := must(t, args...); got != want {
			t.Errorf("%v prints %q, want %q", args, got, want)
		}
	}
	fails(t, dir, exitUsage, "give -o", "sum", v, "--json")
	fails(t, dir, exitUsage, "give 0, over the rows", "sum", v, "--axis", "2")
}

func TestSort(t *testing.T) {
	onBackends(t, func(t *testing.T, backend string) {
		at := in(t.TempDir())
		zero, inf, nan := math.Copysign(0, -1), math.Inf(1), math.NaN()
		a := save(t, at("a.npy"), linalg.NewMatrix(2, 4, []float64{nan, 0, zero, -inf, 4, 3, 2, 1}))
		must(t, "sort", a, "-o", at("c.npy"), "--backend", backend)
		checkFile(t, at("c.npy"), []int{2, 4}, linalg.NewMatrix(2, 4, []float64{-inf, zero, 0, nan, 1, 2, 3, 4}))
		v := saveVector[int32](t, at("v.npy"), 3, -1, 4)
		must(t, "sort", v, "-o", at("c.npy"), "--backend", backend)
		checkFile(t, at("c.npy"), []int{3}, linalg.NewMatrix(1, 3, []int32{-1, 3, 4}))
	})
}

// Files of random numbers hold those of package array.
func TestRandom(t *testing.T) {
	onBackends(t, func(t *testing.T, backend string) {
		at := in(t.TempDir())
		must(t, "random", "normal", "9x7", "--seed", "5", "--type", "f4", "-o", at("c.npy"), "--backend", backend)
		checkFile(t, at("c.npy"), []int{9, 7}, filled(t, 9, 7, array.Normal[float32]))
		must(t, "random", "uniform", "3x4", "--seed", "5", "-o", at("c.npy"), "--backend", backend)
		checkFile(t, at("c.npy"), []int{3, 4}, filled(t, 3, 4, array.Uniform[float64]))
	})
	dir := t.TempDir()
	at := in(dir)
	fails(t, dir, exitUsage, "rows and columns", "random", "normal", "9", "-o", at("c.npy"))
	fails(t, dir, exitUsage, "whole number", "random", "normal", "9x-7", "-o", at("c.npy"))
	fails(t, dir, exitUsage, "f4 or f8", "random", "uniform", "9x7", "--type", "i4", "-o", at("c.npy"))
	fails(t, dir, exitUsage, "seed", "random", "uniform", "9x7", "--seed", "-1", "-o", at("c.npy"))
}

// filled is a matrix of random numbers of seed 5, by the cpu device.
func filled[T array.Float](t *testing.T, rows, cols int, fill func(*array.Stream, *array.Array[T]) error,
) linalg.Matrix[T] {
	t.Helper()
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := linalg.NewArray[T](s, rows, cols)
	if err != nil {
		t.Fatal(err)
	}
	if err := fill(&array.Stream{Seed: 5}, c); err != nil {
		t.Fatal(err)
	}
	m, err := c.Download()
	if err != nil {
		t.Fatal(err)
	}
	return m
}
