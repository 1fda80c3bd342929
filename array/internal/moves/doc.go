// Package moves has the kernels of package array that bring elements elsewhere. Bits are moved as
// unsigned integers.
package moves

//go:generate go run github.com/tandem-gpu/tandem/gpu/compile -pack
