package linalg

// Const stands for an array of any shape whose elements are all Value, as an input of a map.
type Const[T any] struct{ Value T }
