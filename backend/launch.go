package backend

import (
	"fmt"
	"math"
	"strings"
	"unsafe"
)

// A Grid is a launch: Groups work-groups in x, y, z, each of Local work-items in x, y, z.
// A component of Groups that is 0 makes the launch a no-op.
type Grid struct{ Groups, Local [3]int }

// Grid1 is a one-dimensional launch of groups work-groups with local work-items each: CUDA's
// kernel[groups, local].
func Grid1(groups, local int) Grid { return Grid3(groups, 1, 1, local, 1, 1) }

// Grid2 is a two-dimensional launch of gx by gy groups with lx by ly work-items each: CUDA's
// kernel[(gx, gy), (lx, ly)].
func Grid2(gx, gy, lx, ly int) Grid { return Grid3(gx, gy, 1, lx, ly, 1) }

// Grid3 is a three-dimensional launch of gx by gy by gz groups with lx by ly by lz work-items each.
func Grid3(gx, gy, gz, lx, ly, lz int) Grid {
	return Grid{Groups: [3]int{gx, gy, gz}, Local: [3]int{lx, ly, lz}}
}

// GridFor is a grid with a work-item for each of n elements, of nx by ny, or of nx by ny by nz, in
// groups of 256, 16x16 or 8x8x4 work-items, which every device takes:
//
//	launchSaxpy[float32](s, backend.GridFor(len(x)), 2, x, y)
//
// The last groups reach beyond the elements: a kernel checks its position. Of a matrix x is the
// column. For a kernel with a group of its own there is [Source.GridFor].
func GridFor(n ...int) Grid { return new(Source).GridFor(n...) }

// Empty tells whether the grid has no groups.
func (g Grid) Empty() bool { return g.Groups[0] == 0 || g.Groups[1] == 0 || g.Groups[2] == 0 }

// Items is the number of work-items of a group.
func (g Grid) Items() int { return g.Local[0] * g.Local[1] * g.Local[2] }

// Count is the number of groups.
func (g Grid) Count() int { return g.Groups[0] * g.Groups[1] * g.Groups[2] }

// Group is the position of the i-th group, counted with x fastest.
func (g Grid) Group(i int) (x, y, z int) {
	x, i = i%g.Groups[0], i/g.Groups[0]
	return x, i % g.Groups[1], i / g.Groups[1]
}

// Each calls f with the global id of every work-item of the groups lo to hi-1: what a GoKernel
// without barriers loops over.
func (g Grid) Each(lo, hi int, f func(x, y, z int)) {
	l := g.Local
	for i := lo; i < hi; i++ {
		gx, gy, gz := g.Group(i)
		for z := gz * l[2]; z < (gz+1)*l[2]; z++ {
			for y := gy * l[1]; y < (gy+1)*l[1]; y++ {
				for x := gx * l[0]; x < (gx+1)*l[0]; x++ {
					f(x, y, z)
				}
			}
		}
	}
}

// Size is the number of work-items of the whole grid in x, y and z: OpenCL's global size.
func (g Grid) Size() (x, y, z int) {
	return g.Groups[0] * g.Local[0], g.Groups[1] * g.Local[1], g.Groups[2] * g.Local[2]
}

// String is the grid as the CLI takes it: "6x6 groups of 6x6".
func (g Grid) String() string { return dims(g.Groups) + " groups of " + dims(g.Local) }

func dims(d [3]int) string {
	n := 3
	for n > 1 && d[n-1] == 1 {
		n--
	}
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(d[:n]), " ", "x"), "[]")
}

// An Arg is one kernel argument: a buffer with an offset, or a scalar of fixed width. Buf, At,
// Int32 and the like make one.
type Arg struct {
	Buffer *Buffer // nil for a scalar
	Offset int64   // bytes into Buffer, a multiple of Info.OffsetAlign
	Bits   uint64  // the scalar, in its low Size bytes
	Size   int     // bytes of the scalar: 4 or 8; 0 for a buffer
	Type   string  // Go's name of the type of the scalar, or of the buffer's elements: "float32"; "": not checked
}

// Buf passes the address of b, with elements of any type.
func Buf(b *Buffer) Arg { return Arg{Buffer: b} }

// At passes the address of b plus off bytes.
func At(b *Buffer, off int64) Arg { return Arg{Buffer: b, Offset: off} }

// Int32 passes an int.
func Int32(v int32) Arg { return Arg{Bits: uint64(uint32(v)), Size: 4, Type: "int32"} }

// Uint32 passes a uint.
func Uint32(v uint32) Arg { return Arg{Bits: uint64(v), Size: 4, Type: "uint32"} }

// Int64 passes a 64-bit integer.
func Int64(v int64) Arg { return Arg{Bits: uint64(v), Size: 8, Type: "int64"} }

// Uint64 passes a ulong.
func Uint64(v uint64) Arg { return Arg{Bits: v, Size: 8, Type: "uint64"} }

// Float32 passes a float.
func Float32(v float32) Arg { return Arg{Bits: uint64(math.Float32bits(v)), Size: 4, Type: "float32"} }

// Float64 passes a double.
func Float64(v float64) Arg { return Arg{Bits: math.Float64bits(v), Size: 8, Type: "float64"} }

// Int32 is the scalar as an int32. Like the other accessors it is meant for a GoKernel, whose
// arguments are checked before.
func (a Arg) Int32() int32 { return int32(a.Bits) }

// Uint32 is the scalar as a uint32.
func (a Arg) Uint32() uint32 { return uint32(a.Bits) }

// Int64 is the scalar as an int64.
func (a Arg) Int64() int64 { return int64(a.Bits) }

// Uint64 is the scalar as a uint64.
func (a Arg) Uint64() uint64 { return a.Bits }

// Float32 is the scalar as a float32.
func (a Arg) Float32() float32 { return math.Float32frombits(uint32(a.Bits)) }

// Float64 is the scalar as a float64.
func (a Arg) Float64() float64 { return math.Float64frombits(a.Bits) }

// Mem is the memory of a buffer argument on the cpu device, from the argument's offset to its end,
// as elements of T: what a GoKernel computes on. A rest shorter than an element is left out.
func Mem[T any](a Arg) []T { return Elems[T](a.Buffer.mem.Bytes[a.Offset:]) }

// Bytes is the memory of s as bytes, for Queue.Write, Queue.Read and Device.Register. It shares
// memory with s.
func Bytes[T any](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(s[0])))
}

// Elems is the memory of b as elements of T; a rest shorter than an element is left out. It is the
// inverse of Bytes. b must be aligned as T is.
func Elems[T any](b []byte) []T {
	var t T
	n := len(b) / int(unsafe.Sizeof(t))
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// String says what kind of argument it is, for messages.
func (a *Arg) String() string {
	if a.Buffer != nil {
		return "a buffer"
	}
	return fmt.Sprintf("a scalar of %d bytes", a.Size)
}
