// Package seeds has the kernels that introductions to GPU programming begin with, in Go: those of
// Numba's manual for CUDA and ROC, and of OpenCL's and CUDA's textbooks, line by line. Its tests
// run each with the data and the grid of its text on every device.
package seeds

//go:generate go run github.com/tandem-gpu/tandem/gpu/compile -pack
