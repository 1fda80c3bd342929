package main

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/tandem-gpu/tandem/linalg"
)

// Files have the bits of package linalg's results, in every layout.
func TestFactor(t *testing.T) {
	t.Run("float32", testFactor[float32])
	t.Run("float64", testFactor[float64])
}

func testFactor[T linalg.Float](t *testing.T) {
	at := in(t.TempDir())
	rng := rand.New(rand.NewPCG(41, 42))
	const n = 70
	a := values[T]("random", n, n, false, rng)
	for i := range n {
		for j := range i {
			a.Set(i, j, a.At(j, i))
		}
		a.Set(i, i, n)
	}
	b, tall := values[T]("random", n, 3, false, rng), values[T]("random", n, 9, false, rng)
	lu, err := linalg.FactorLU(a)
	if err != nil {
		t.Fatal(err)
	}
	x, err := lu.Solve(b)
	if err != nil {
		t.Fatal(err)
	}
	column, err := lu.Solve(b.Slice(0, n, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	c, err := linalg.FactorCholesky(a)
	if err != nil {
		t.Fatal(err)
	}
	tallLU, err := linalg.FactorLU(tall)
	if err != nil {
		t.Fatal(err)
	}
	qr, err := linalg.FactorQR(tall)
	if err != nil {
		t.Fatal(err)
	}
	q, err := qr.Q()
	if err != nil {
		t.Fatal(err)
	}
	eig, err := linalg.FactorEigSym(a)
	if err != nil {
		t.Fatal(err)
	}
	svd, err := linalg.FactorSVD(tall)
	if err != nil {
		t.Fatal(err)
	}
	pivots := func(lu *linalg.LU[T]) linalg.Matrix[int32] {
		p := linalg.NewMatrix[int32](1, len(lu.Pivots()), nil)
		for i, v := range lu.Pivots() {
			p.Data[i] = int32(v)
		}
		return p
	}
	for i, l := range layouts {
		backend := []string{"cpu", "opencl"}[i%2]
		need(t, backend)
		pa, pb := write(t, at("a.npy"), encode(l, a)), write(t, at("b.npy"), encode(l, b))
		pt := write(t, at("t.npy"), encode(l, tall))
		pv := saveVector(t, at("b1.npy"), b.Slice(0, n, 0, 1).Packed().Data...)
		must(t, "lu", pa, "-o", at("lu.npy"), "--pivots", at("p.npy"), "--backend", backend)
		checkFile(t, at("lu.npy"), []int{n, n}, lu.Packed())
		checkFile(t, at("p.npy"), []int{n}, pivots(lu))
		must(t, "lu", pt, "-o", at("lu.npy"), "--pivots", at("p.npy"), "--backend", backend)
		checkFile(t, at("lu.npy"), []int{n, 9}, tallLU.Packed())
		checkFile(t, at("p.npy"), []int{9}, pivots(tallLU))
		must(t, "cholesky", pa, "-o", at("l.npy"), "--backend", backend)
		checkFile(t, at("l.npy"), []int{n, n}, c.L())
		must(t, "qr", pt, "-o", at("q.npy"), "--r", at("r.npy"), "--backend", backend)
		checkFile(t, at("q.npy"), []int{n, 9}, q)
		checkFile(t, at("r.npy"), []int{9, 9}, qr.R())
		must(t, "eigh", pa, "-o", at("w.npy"), "--vectors", at("v.npy"), "--backend", backend)
		checkFile(t, at("w.npy"), []int{n}, linalg.NewMatrix(1, n, eig.Values()))
		checkFile(t, at("v.npy"), []int{n, n}, eig.Vectors())
		must(t, "svd", pt, "-o", at("s.npy"), "--u", at("u.npy"), "--vt", at("vt.npy"), "--backend", backend)
		checkFile(t, at("s.npy"), []int{9}, linalg.NewMatrix(1, 9, svd.Values()))
		checkFile(t, at("u.npy"), []int{n, 9}, svd.U())
		checkFile(t, at("vt.npy"), []int{9, 9}, svd.VT())
		must(t, "solve", pa, pb, "-o", at("x.npy"), "--backend", backend)
		checkFile(t, at("x.npy"), []int{n, 3}, x)
		must(t, "solve", pa, pv, "-o", at("x.npy"), "--backend", backend)
		checkFile(t, at("x.npy"), []int{n}, column)
	}
	var r record
	text := must(t, "lu", at("a.npy"), "-o", at("lu.npy"), "--pivots", at("p.npy"), "--json")
	if err := json.Unmarshal([]byte(text), &r); err != nil || r.Command != "lu" || len(r.Outputs) != 2 ||
		r.Outputs[1].Type != "int32" || r.GFlops <= 0 {
		t.Errorf("%v\n%s", err, text)
	}
}

// What cannot be factored is said, and no file is left.
func TestFactorErrors(t *testing.T) {
	dir := t.TempDir()
	at := in(dir)
	singular := save(t, at("singular.npy"), linalg.NewMatrix(2, 2, []float64{1, 2, 2, 4}))
	wide := save(t, at("wide.npy"), linalg.NewMatrix(2, 3, make([]float64, 6)))
	whole := save(t, at("whole.npy"), linalg.NewMatrix(2, 2, []int32{1, 2, 3, 4}))
	vector := saveVector[float64](t, at("vector.npy"), 1, 2, 3)
	o, p := at("o.npy"), at("p.npy")
	fails(t, dir, exitError, "pivot 1 of 2x2 float64 is 0", "solve", singular, singular, "-o", o)
	fails(t, dir, exitError, "is to be square", "solve", wide, singular, "-o", o)
	fails(t, dir, exitError, "with the rows of the second", "solve", singular, vector, "-o", o)
	fails(t, dir, exitError, "row 1 of 2x2 float64", "cholesky", singular, "-o", o)
	fails(t, dir, exitError, "not square", "cholesky", wide, "-o", o)
	fails(t, dir, exitError, "astype", "lu", whole, "-o", o, "--pivots", p)
	fails(t, dir, exitError, "both must hold one type", "solve", singular, whole, "-o", o)
	fails(t, dir, exitError, "no matrix", "lu", vector, "-o", o, "--pivots", p)
	fails(t, dir, exitUsage, "--pivots", "lu", singular, "-o", o)
	fails(t, dir, exitUsage, "only -o may be standard output", "lu", singular, "-o", o, "--pivots", "-")
	fails(t, dir, exitUsage, "is the file of -o", "lu", singular, "-o", o, "--pivots", o)
	fails(t, dir, exitUsage, "is the file of -o", "lu", singular, "-o", o, "--pivots", dir+"/./o.npy")
	fails(t, dir, exitUsage, "no file for R", "qr", singular, "-o", o)
	fails(t, dir, exitUsage, "is the file of -o", "qr", singular, "-o", o, "--r", o)
	fails(t, dir, exitError, "--pivots", "lu", singular, "-o", o, "--pivots", at("nowhere/p.npy"))
	fails(t, dir, exitUsage, "no output file", "cholesky", singular)
}
