// Command gaussian predicts a curve from noisy measurements by a Gaussian process: with a Cholesky
// factorization, which it times beside gonum's.
//
//	go run ./examples/gaussian
//	go run ./examples/gaussian -backend opencl
//
// Measurements y at places x vary together as K[i,j] = exp(-(x[i]-x[j])²/2), and have noise of
// their own. The curve at a place p is the sum of w[i]*exp(-(p-x[i])²/2), where w solves K*w = y;
// and the logarithm of the determinant of K says how likely the measurements are. See Rasmussen and
// Williams, "Gaussian Processes for Machine Learning", 2006, algorithm 2.1.
package main

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/tandem-gpu/tandem/examples/program"
	"github.com/tandem-gpu/tandem/linalg"
	"github.com/tandem-gpu/tandem/rmath"
)

func main() { program.Main(run) }

const (
	points = 700
	noise  = 0.01 // its variance
)

func run(w io.Writer, spec string) error {
	s, err := linalg.Open(spec)
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Fprintln(w, "device:", s.Info().Name)
	x, y := measurements()
	k := covariance(x)

	start := time.Now()
	c, err := linalg.FactorCholesky(k, linalg.On(s))
	if err != nil {
		return err
	}
	ours := time.Since(start)
	weights, err := c.Solve(y)
	if err != nil {
		return err
	}
	for _, p := range []float64{1, 5, 9} {
		curve := 0.0
		for i, v := range weights.Data {
			curve += float64(v * similarity(p, x[i]))
		}
		fmt.Fprintf(w, "at %v the curve is %.3f; without noise it is %.3f\n", p, curve, rmath.Sin(p))
	}
	fmt.Fprintf(w, "log likelihood: %.3f\n", likelihood(c, y, weights))
	h := sha256.New()
	if err := binary.Write(h, binary.LittleEndian, weights.Data); err != nil {
		return err
	}
	fmt.Fprintf(w, "digest of the weights: %x\n", h.Sum(nil))

	start = time.Now()
	var other mat.Cholesky
	if !other.Factorize(mat.NewSymDense(points, k.Data)) {
		return errors.New("gonum finds the matrix not positive definite")
	}
	gonums := time.Since(start)
	fmt.Fprintf(w, "factorization: %v, gonum %v\n", ours.Round(time.Microsecond), gonums.Round(time.Microsecond))
	return nil
}

// measurements are of a sine from 0 to 10, at places and with noise that look random.
func measurements() (x []float64, y linalg.Matrix[float64]) {
	y = linalg.NewMatrix[float64](points, 1, nil)
	for i := range points {
		p := 10 * part(float64(float64(i)*0.6180339887))
		x = append(x, p)
		y.Set(i, 0, rmath.Sin(p)+float64(0.3*(part(float64(float64(i)*0.7548776662))-0.5)))
	}
	return x, y
}

// part is v without its whole part.
func part(v float64) float64 { return v - math.Floor(v) }

// covariance is K.
func covariance(x []float64) linalg.Matrix[float64] {
	k := linalg.NewMatrix[float64](points, points, nil)
	for i := range points {
		for j := range points {
			k.Set(i, j, similarity(x[i], x[j]))
		}
		k.Set(i, i, 1+noise)
	}
	return k
}

// similarity is exp(-(p-q)²/2), with the same bits on every processor.
func similarity(p, q float64) float64 { return rmath.Exp(-(p - q) * (p - q) / 2) }

// likelihood is the logarithm of the probability density of the measurements: of the noise, of how
// far the curve goes, and of the unit.
func likelihood(c *linalg.Cholesky[float64], y, weights linalg.Matrix[float64]) float64 {
	fit := 0.0
	for i, v := range y.Data {
		fit += float64(v * weights.Data[i])
	}
	mantissa, exp := c.Det()
	logDet := rmath.Log(mantissa) + float64(float64(exp)*math.Ln2)
	return -fit/2 - logDet/2 - float64(points/2*rmath.Log(2*math.Pi))
}
