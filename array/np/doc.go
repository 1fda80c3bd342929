// Package np has the functions of package array in NumPy's form: the result is a new array, and
// errors are looked at once.
//
//	y := np.Mul(np.Exp(x), 2)
//	total := np.Sum(np.Where(np.Less(x, 5), y, 0), 0) // axis 0: of each column
//	fmt.Println(total) // or its error
//
// Where a call fails, its result carries the error, which names the call, its file and its line
// ([linalg.Array.Err]). What is made of such an array is that error, too; so are Download, At,
// WriteNPY and whatever else takes it, in package array as well. It is enough to look at the end.
//
// The arrays are those of packages linalg and array, on the same sessions. A function has the same
// bits as its namesake in package array, whose documentation says what it computes. An operand is
// an array, or a number as the second one ([Operand]): 1 - x is np.Add(np.Neg(x), 1). Rows,
// columns and single elements are repeated, on both sides: of a column and a row np.Equal makes a
// matrix.
//
// A function with an axis goes over all elements without it, over the rows with axis 0, so that one
// row is left, and over the columns with axis 1, so that one column is left. Those that go along an
// axis, as [Sort] does, go along the rows without it.
//
// Each call takes memory for its result, which is free again once the program has forgotten the
// array and Go has collected its garbage, or after Free. Programs that compute the same many times
// save that by package array, whose functions take the destination, and may mix both.
package np

//go:generate go run generate.go
