package gonumblas

import "github.com/tandem-gpu/tandem/internal/host"

// What follows is level 1 as gonum declares it. A call with an invalid argument, or with
// nothing to do, goes to gonum's own implementation, which panics or returns.

// Ddot is the sum of the products of x and y.
func (i *implementation) Ddot(n int, x []float64, incX int, y []float64, incY int) float64 {
	if n <= 0 || !fitsVector(n, incX, len(x)) || !fitsVector(n, incY, len(y)) {
		return i.Implementation.Ddot(n, x, incX, y, incY)
	}
	if incX == 1 && incY == 1 {
		return host.Dot(x[:n], y[:n])
	}
	return dot(n, x, incX, y, incY)
}

// Dasum is the sum of the magnitudes of x.
func (i *implementation) Dasum(n int, x []float64, incX int) float64 {
	if n <= 0 || incX < 0 || !fitsVector(n, incX, len(x)) {
		return i.Implementation.Dasum(n, x, incX)
	}
	if incX == 1 {
		return host.Asum(x[:n])
	}
	return asum(n, x, incX)
}

// Dnrm2 is the square root of the sum of the squares of x.
func (i *implementation) Dnrm2(n int, x []float64, incX int) float64 {
	if n <= 0 || incX < 0 || !fitsVector(n, incX, len(x)) {
		return i.Implementation.Dnrm2(n, x, incX)
	}
	if incX == 1 {
		return host.Nrm2(x[:n])
	}
	return nrm2(n, x, incX)
}

// Idamax is the index of the element of the largest magnitude.
func (i *implementation) Idamax(n int, x []float64, incX int) int {
	if n <= 0 || incX < 0 || !fitsVector(n, incX, len(x)) {
		return i.Implementation.Idamax(n, x, incX)
	}
	return host.IamaxSteps(n, &x[0], incX)
}

// Daxpy is y = alpha*x + y.
func (i *implementation) Daxpy(n int, alpha float64, x []float64, incX int, y []float64, incY int) {
	if n <= 0 || alpha == 0 || !fitsVector(n, incX, len(x)) || !fitsVector(n, incY, len(y)) {
		i.Implementation.Daxpy(n, alpha, x, incX, y, incY)
		return
	}
	if incX == 1 && incY == 1 {
		host.Axpy(alpha, x[:n], y[:n])
		return
	}
	host.AxpySteps(n, alpha, &x[start(n, incX)], incX, &y[start(n, incY)], incY)
}

// Dscal is x = alpha*x.
func (i *implementation) Dscal(n int, alpha float64, x []float64, incX int) {
	if n <= 0 || alpha == 0 || incX < 0 || !fitsVector(n, incX, len(x)) {
		i.Implementation.Dscal(n, alpha, x, incX)
		return
	}
	if incX == 1 {
		host.Scal(alpha, x[:n])
		return
	}
	host.ScalSteps(n, alpha, &x[0], incX)
}

// Sdot is the sum of the products of x and y.
func (i *implementation) Sdot(n int, x []float32, incX int, y []float32, incY int) float32 {
	if n <= 0 || !fitsVector(n, incX, len(x)) || !fitsVector(n, incY, len(y)) {
		return i.Implementation.Sdot(n, x, incX, y, incY)
	}
	if incX == 1 && incY == 1 {
		return float32(host.Dot(x[:n], y[:n]))
	}
	return float32(dot(n, x, incX, y, incY))
}

// Sasum is the sum of the magnitudes of x.
func (i *implementation) Sasum(n int, x []float32, incX int) float32 {
	if n <= 0 || incX < 0 || !fitsVector(n, incX, len(x)) {
		return i.Implementation.Sasum(n, x, incX)
	}
	if incX == 1 {
		return float32(host.Asum(x[:n]))
	}
	return float32(asum(n, x, incX))
}

// Snrm2 is the square root of the sum of the squares of x.
func (i *implementation) Snrm2(n int, x []float32, incX int) float32 {
	if n <= 0 || incX < 0 || !fitsVector(n, incX, len(x)) {
		return i.Implementation.Snrm2(n, x, incX)
	}
	if incX == 1 {
		return float32(host.Nrm2(x[:n]))
	}
	return float32(nrm2(n, x, incX))
}

// Isamax is the index of the element of the largest magnitude.
func (i *implementation) Isamax(n int, x []float32, incX int) int {
	if n <= 0 || incX < 0 || !fitsVector(n, incX, len(x)) {
		return i.Implementation.Isamax(n, x, incX)
	}
	return host.IamaxSteps(n, &x[0], incX)
}

// Saxpy is y = alpha*x + y.
func (i *implementation) Saxpy(n int, alpha float32, x []float32, incX int, y []float32, incY int) {
	if n <= 0 || alpha == 0 || !fitsVector(n, incX, len(x)) || !fitsVector(n, incY, len(y)) {
		i.Implementation.Saxpy(n, alpha, x, incX, y, incY)
		return
	}
	if incX == 1 && incY == 1 {
		host.Axpy(alpha, x[:n], y[:n])
		return
	}
	host.AxpySteps(n, alpha, &x[start(n, incX)], incX, &y[start(n, incY)], incY)
}

// Sscal is x = alpha*x.
func (i *implementation) Sscal(n int, alpha float32, x []float32, incX int) {
	if n <= 0 || alpha == 0 || incX < 0 || !fitsVector(n, incX, len(x)) {
		i.Implementation.Sscal(n, alpha, x, incX)
		return
	}
	if incX == 1 {
		host.Scal(alpha, x[:n])
		return
	}
	host.ScalSteps(n, alpha, &x[0], incX)
}

// Dsdot is Sdot before its rounding to float32.
func (i *implementation) Dsdot(n int, x []float32, incX int, y []float32, incY int) float64 {
	if n <= 0 || !fitsVector(n, incX, len(x)) || !fitsVector(n, incY, len(y)) {
		return i.Implementation.Dsdot(n, x, incX, y, incY)
	}
	if incX == 1 && incY == 1 {
		return host.Dot(x[:n], y[:n])
	}
	return dot(n, x, incX, y, incY)
}

// Sdsdot is alpha + Dsdot, rounded to float64 and then to float32.
func (i *implementation) Sdsdot(n int, alpha float32, x []float32, incX int, y []float32, incY int) float32 {
	if n <= 0 || !fitsVector(n, incX, len(x)) || !fitsVector(n, incY, len(y)) {
		return i.Implementation.Sdsdot(n, alpha, x, incX, y, incY)
	}
	return float32(float64(alpha) + dot(n, x, incX, y, incY))
}
