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
	"fmt"
	"io"

	"github.com/tandem-gpu/tandem/array/np"
	"github.com/tandem-gpu/tandem/examples/handwriting"
	"github.com/tandem-gpu/tandem/examples/program"
	"github.com/tandem-gpu/tandem/linalg"
)

func main() { program.Main(run) }

const (
	components = 3
	iterations = 200
)

func run(w io.Writer, spec string) error {
	images, _, err := handwriting.Load()
	if err != nil {
		return err
	}
	s, err := linalg.Open(spec)
	if err != nil {
		return err
	}
	defer s.Close() // frees the arrays, too
	fmt.Fprintln(w, "device:", s.Info().Name)

	x := np.Upload(s, images)
	x = np.Sub(x, np.Mean(x, 0))
	c := np.Div(np.TMatMul(x, x), images.Rows-1)
	total, h := np.Sum(np.Diag(c)), sha256.New()
	for i := range components {
		v, variance := strongest(c)
		if err := v.WriteRaw(h); err != nil { // or what went wrong before
			return err
		}
		fmt.Fprintf(w, "component %d explains %.2f of %.2f\n", i+1, variance, total)
		c = np.Sub(c, np.Mul(np.Outer(v, v), variance)) // what v explains is taken out
	}
	fmt.Fprintf(w, "digest of the components: %x\n", h.Sum(nil))
	return nil
}

// strongest is the eigenvector of c with the largest eigenvalue, of length 1, and the eigenvalue.
func strongest(c *np.Array[float32]) (v, value *np.Array[float32]) {
	n, _ := c.Dims()
	v = np.Ones[float32](c.Session(), n, 1)
	for range iterations {
		v = np.MatMul(c, v)
		value = np.Norm(v, 2)
		v = np.Div(v, value)
	}
	return v, value
}
