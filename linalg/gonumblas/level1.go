package gonumblas

// Dsdot is Sdot before its rounding to float32.
func (i *implementation) Dsdot(n int, x []float32, incX int, y []float32, incY int) float64 {
	if n <= 0 || !fitsVector(n, incX, len(x)) || !fitsVector(n, incY, len(y)) {
		return i.Implementation.Dsdot(n, x, incX, y, incY)
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
