// Package sums has the kernels of package array's reductions. Sums are exact, and rounded once, so
// that no grid shows.
//
// There are two ways to add up. Terms whose exponents do not differ much, as nearly all have it,
// are extracted, block by block, see block.go. Any others are added to the words of a
// superaccumulator, as package superacc has it, where all parts of a sum meet. Of few terms, or of
// float32, a sum in floating point nearly always tells the result, see guess.go.
package sums

//go:generate go run github.com/tandem-gpu/tandem/gpu/compile -pack
