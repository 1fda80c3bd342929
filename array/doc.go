// Package array is what NumPy has for arrays, on those of package linalg, with the same bits on
// every device.
//
// Functions take the destination first, as gonum's floats do. They enqueue their work and return;
// those that give a number wait for it. An operand of an elementwise function has the destination's
// shape, or is a row, a column or a single element, which is repeated; the destination may be an
// operand of its shape, and shares elements with no other.
//
// Arrays of one call belong to one session, but for [Copy].
//
// Elementwise functions take host memory and numbers ([Const]) beside arrays. Those of one or two
// operands of one type are also operations of matrices in host memory, of several devices and of
// files: see [Operations]. So are reductions: see [Reductions].
package array
