// Package random has the kernels of package array's random numbers.
package random

//go:generate go run github.com/tandem-gpu/tandem/gpu/compile -pack
