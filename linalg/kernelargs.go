package linalg

// KernelArg is what the launch function of a kernel written in Go takes for a slice or a matrix of
// T: memory of the host, which is copied to the device and back (or used in place), or an array on
// the device. As a matrix, a slice is one row; as a slice, a matrix or an array must be packed.
type KernelArg[T any] interface {
	[]T | Matrix[T] | *Array[T]
}

// Const stands for an array of any shape whose elements are all Value, as an input of a map.
type Const[T any] struct{ Value T }

// MapArg is what the launch function of a map takes for an input of elements T: a matrix of the
// result's shape, or a row, a column or a single element, which is repeated.
type MapArg[T any] interface {
	[]T | Matrix[T] | *Array[T] | Const[T]
}
