package conformance

import (
	"encoding/binary"
	"io"
	"math"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/conformance/internal/functions"
	"github.com/tandem-gpu/tandem/element"
)

// All that depends on the element type.

// A computation runs cases of one type on a device, and by the definition.
type computation struct {
	run       func(c *Case, x *session, k *backend.Kernel, v variant) (string, error)
	reference func(c *Case) string
	function  func(f int, x, y any) any // functions.Apply, of two elements; nil for integers
}

func computationOf[T element.Element]() computation {
	return computation{run: runOf[T], reference: referenceDigest[T]}
}

func computationOfFloat[T float32 | float64]() computation {
	c := computationOf[T]()
	run, reference := c.run, c.reference
	c.run = func(c *Case, x *session, k *backend.Kernel, v variant) (string, error) {
		if c.factorization() {
			return runFactor[T](c, x, k, v)
		}
		return run(c, x, k, v)
	}
	c.reference = func(c *Case) string {
		if c.factorization() {
			return factorReference[T](c)
		}
		return reference(c)
	}
	c.function = func(f int, x, y any) any { return functions.Apply(f, x.(T), y.(T)) }
	return c
}

// in chooses the computation of a type.
func in(t element.Type) computation {
	return element.ByType(t, computationOfFloat[float32], computationOfFloat[float64], computationOf[int32])()
}

// elementFrom makes an element of u, as the package says. operand is "a", "b" or "c".
func elementFrom[T element.Element](kind values, operand string, u uint64) T {
	var v any
	switch any(T(0)).(type) {
	case int32:
		v = int32(uint32(u))
	case float32:
		if f, ok := exception(kind, u, math.SmallestNonzeroFloat32, math.MaxFloat32); ok {
			v = float32(f)
			break
		}
		e := uint32(exponent(kind, operand, u, 127, 127-78, 255))
		v = math.Float32frombits(uint32(u>>63)<<31 | e<<23 | uint32(u)&(1<<23-1))
	case float64:
		if f, ok := exception(kind, u, math.SmallestNonzeroFloat64, math.MaxFloat64); ok {
			v = f
			break
		}
		v = math.Float64frombits(u>>63<<63 | exponent(kind, operand, u, 1023, 1023-541, 2047)<<52 | u&(1<<52-1))
	}
	return v.(T)
}

func writeElement[T element.Element](w io.Writer, v T) {
	var b [8]byte
	switch v := any(v).(type) {
	case float32:
		u := math.Float32bits(v)
		if v != v {
			u = 0x7fc00000
		}
		binary.LittleEndian.PutUint32(b[:], u)
		w.Write(b[:4])
	case float64:
		u := math.Float64bits(v)
		if v != v {
			u = 0x7ff8000000000000
		}
		binary.LittleEndian.PutUint64(b[:], u)
		w.Write(b[:])
	case int32:
		binary.LittleEndian.PutUint32(b[:], uint32(v))
		w.Write(b[:4])
	}
}
