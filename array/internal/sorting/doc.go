// Package sorting has the kernels with which package array sorts and searches.
package sorting

//go:generate go run github.com/tandem-gpu/tandem/gpu/compile -pack
