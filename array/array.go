package array

import (
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/gpu/launch"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

//go:generate go run github.com/tandem-gpu/tandem/gpu/compile -pack

// Element is what arrays compute with.
type Element = linalg.Element

// Float is the floating-point numbers.
type Float interface{ float32 | float64 }

// Float16 and BFloat16 are linalg's numbers of 16 bits.
type (
	Float16  = linalg.Float16
	BFloat16 = linalg.BFloat16
)

// Half is the numbers of 16 bits, which are only stored: moved and converted.
type Half interface{ Float16 | BFloat16 }

// An Array is linalg's.
type Array[T any] = linalg.Array[T]

// Const stands for an array of any shape whose elements are all Value.
type Const[T any] = launch.Const[T]

// Arg is an operand of an elementwise function: an array, or a Const. Host memory will do, too; it
// is copied to the device, and the function waits. A number by itself does not compile:
// Mul(x, x, 2) is Mul(x, x, Value[float32](2)) where x is of float32.
type Arg[T any] interface{ launch.MapArg[T] }

// session is that of c, nil where there is no array.
func session[T any](c *Array[T]) *linalg.Session {
	if c == nil {
		return nil
	}
	return c.Session()
}

// Value is v as an operand.
func Value[T any](v T) Const[T] { return Const[T]{Value: v} }

// Copy makes c a, which is repeated as any operand is. An array of another session, on whatever
// device, goes through the host's memory, in parts where it is large, and Copy waits for that. For
// arrays of other elements there is Convert.
func Copy[T Stored, A Arg[T]](c *Array[T], a A) error {
	if from, ok := any(a).(*Array[T]); ok && c != nil && from != nil && from.Session() != c.Session() {
		return copyAcross(c, from)
	}
	return launchSame[T](session(c), c, a)
}

// copyAcross is Copy of an array of another session.
func copyAcross[T Stored](c, a *Array[T]) error {
	rows, cols := c.Dims()
	if r, k := a.Dims(); r != rows || k != cols {
		m, err := a.Download()
		if err != nil {
			return err
		}
		return launchSame[T](c.Session(), c, m)
	}
	const most = 4 << 20 // elements of a part
	step := max(1, most/max(1, cols))
	for i := 0; i < rows; i += step {
		k := min(i+step, rows)
		m, err := a.Slice(i, k, 0, cols).Download()
		if err != nil {
			return err
		}
		if err := c.Slice(i, k, 0, cols).CopyFrom(m); err != nil {
			return err
		}
	}
	return nil
}

//tandem:map float32 float64 int32 bool Float16 BFloat16 int8 int16 int64 uint8 uint16 uint32 uint64
func same[T Stored](x T) T { return x }

// Fill makes all elements of c v.
func Fill[T Stored](c *Array[T], v T) error { return Copy(c, Value(v)) }

// Range makes element k of c, counted along its rows, fma(k, step, start), where k is rounded to T:
// of float32 those beyond 2^24 share theirs with others.
func Range[T Element](c *Array[T], start, step T) error {
	s := session(c)
	if s == nil {
		return launchIndices[T](nil, backend.Grid{}, c, start, step)
	}
	info := s.Info()
	c = flat(c)
	rows, cols := c.Dims()
	return launchIndices[T](s, kernels.ElementwiseGrid(&info, int64(rows), int64(cols)), c, start, step)
}

// indexBlock is the elements of a row that a group of indices takes at a time.
const indexBlock = 1024

// indices is Range's kernel.
//
//tandem:kernel float32 float64 int32
func indices[T Element](it gpu.Item, z gpu.Matrix[T], start, step T) {
	for i := it.Global(1); i < z.Rows; i += it.GlobalSize(1) {
		for begin := it.Group(0) * indexBlock; begin < z.Cols; begin += it.Groups(0) * indexBlock {
			end := min(begin+indexBlock, z.Cols)
			for j := begin + it.Local(0); j < end; j += it.LocalSize(0) {
				z.Set(i, j, gpu.FMA(T(i*z.Cols+j), step, start))
			}
		}
	}
}
