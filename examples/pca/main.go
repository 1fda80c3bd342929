// Command pca finds the principal components of handwritten digits by power iteration, on the
// device.
//
//	go run ./examples/pca
//	go run ./examples/pca -backend opencl
//
// The directions in which the images differ most are the eigenvectors of their covariance matrix.
// To find the first, a vector is multiplied by the matrix again and again; the parts of the other
// eigenvectors in it fade. Then what the first explains is taken out of the matrix, and the next is
// found in the same way.
package main

import (
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"

	_ "github.com/tandem-gpu/tandem/backend/cudasim" // for -backend cudasim; nothing else needs it
	"github.com/tandem-gpu/tandem/examples/internal/digits"
	"github.com/tandem-gpu/tandem/linalg"
)

func main() {
	spec := flag.String("backend", "",
		"device: cpu, opencl, opencl:1, ...; by default what TANDEM_BACKEND says, or the best")
	flag.Parse()
	if err := run(os.Stdout, *spec); err != nil {
		log.Fatal(err)
	}
}

const (
	components = 3
	iterations = 200
)

func run(w io.Writer, spec string) error {
	images, _, err := digits.Load()
	if err != nil {
		return err
	}
	s, err := linalg.Open(spec)
	if err != nil {
		return err
	}
	defer s.Close() // frees the arrays, too
	fmt.Fprintln(w, "device:", s.Info().Name)

	x, err := linalg.Upload(s, images)
	if err != nil {
		return err
	}
	if err := center(x); err != nil {
		return err
	}
	c, err := covariance(x)
	if err != nil {
		return err
	}
	view, err := c.View() // a copy, for gonum
	if err != nil {
		return err
	}
	total := mat.Trace(view)
	h := sha256.New()
	for i := range components {
		v, variance, err := strongest(c)
		if err != nil {
			return err
		}
		if err := binary.Write(h, binary.LittleEndian, v.Data); err != nil {
			return err
		}
		fmt.Fprintf(w, "component %d explains %.2f of %.2f\n", i+1, variance, total)
		if err := remove(c, v, variance); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "digest of the components: %x\n", h.Sum(nil))
	return nil
}

// center subtracts the mean of all rows from each: x = x - 1/n * ones*(onesᵀ*x).
func center(x *linalg.Array[float32]) error {
	n, cols := x.Dims()
	column := linalg.NewMatrix[float32](n, 1, nil)
	for i := range column.Data {
		column.Data[i] = 1
	}
	ones, err := linalg.Upload(x.Session(), column)
	if err != nil {
		return err
	}
	sums, err := linalg.NewArray[float32](x.Session(), 1, cols)
	if err != nil {
		return err
	}
	if err := sums.Gemm(1, blas.Trans, ones, blas.NoTrans, x, 0); err != nil {
		return err
	}
	return x.Gemm(-1/float32(n), blas.NoTrans, ones, blas.NoTrans, sums, 1)
}

// covariance is xᵀ*x / (n-1) for centred rows.
func covariance(x *linalg.Array[float32]) (*linalg.Array[float32], error) {
	n, cols := x.Dims()
	c, err := linalg.NewArray[float32](x.Session(), cols, cols)
	if err != nil {
		return nil, err
	}
	return c, c.Gemm(1/float32(n-1), blas.Trans, x, blas.NoTrans, x, 0)
}

// strongest is the eigenvector of c with the largest eigenvalue, of length 1, and the eigenvalue.
func strongest(c *linalg.Array[float32]) (linalg.Matrix[float32], float32, error) {
	n, _ := c.Dims()
	v := linalg.NewMatrix[float32](n, 1, nil)
	for i := range v.Data {
		v.Data[i] = 1
	}
	normalize(v.Data)
	x, err := linalg.Upload(c.Session(), v)
	if err != nil {
		return v, 0, err
	}
	y, err := linalg.NewArray[float32](c.Session(), n, 1)
	if err != nil {
		return v, 0, err
	}
	var value float32
	for range iterations {
		if err := y.Mul(c, x); err != nil {
			return v, 0, err
		}
		if err := y.CopyTo(v); err != nil {
			return v, 0, err
		}
		value = normalize(v.Data)
		if err := x.CopyFrom(v); err != nil {
			return v, 0, err
		}
	}
	return v, value, nil
}

// normalize divides v by its length. The conversions keep Go from fusing the product and the sum,
// which only some processors can.
func normalize(v []float32) float32 {
	var sum float64
	for _, x := range v {
		sum += float64(float64(x) * float64(x))
	}
	length := float32(math.Sqrt(sum))
	for i := range v {
		v[i] /= length
	}
	return length
}

// remove takes what v explains out of c: c = c - value * v*vᵀ.
func remove(c *linalg.Array[float32], v linalg.Matrix[float32], value float32) error {
	x, err := linalg.Upload(c.Session(), v)
	if err != nil {
		return err
	}
	return c.Gemm(-value, blas.NoTrans, x, blas.Trans, x, 1)
}
