package support

import (
	"slices"
	"sync"

	"github.com/tandem-gpu/tandem/backend"
)

// Kernels is a generic kernel, compiled for several lists of types.
type Kernels []Instance

// An Instance is a kernel for one list of types.
type Instance struct {
	Types  []any // zero values
	Kernel *Lazy
}

// Lazy is a kernel whose source is made when it is first asked for: a program links the kernels
// that it names alone.
type Lazy struct {
	New func() *backend.Source

	once   sync.Once
	source *backend.Source
}

// Made is the Lazy of a source that there is.
func Made(s *backend.Source) *Lazy { return &Lazy{New: func() *backend.Source { return s }} }

// Source is the kernel's source, always the same one.
func (l *Lazy) Source() *backend.Source {
	l.once.Do(func() { l.source = l.New() })
	return l.source
}

// Of is the kernel for the types of some zero values, nil if it is not compiled for them.
func (k Kernels) Of(types ...any) *backend.Source {
	for i := range k {
		if slices.Equal(k[i].Types, types) {
			return k[i].Kernel.Source()
		}
	}
	return nil
}

// Params is the parameters of a kernel's text.
type Params []backend.Param

// Slice adds those of a slice, as [Slice] takes them, of elements of size bytes.
func (p Params) Slice(name, elem string, size int) Params {
	return p.buffer(name, elem, size).Scalar(name+".offset", "ulong", 8).Scalar(name+".len", "ulong", 8)
}

// Matrix adds those of a matrix, as [Matrix] takes them, of elements of size bytes.
func (p Params) Matrix(name, elem string, size int) Params {
	return p.buffer(name, elem, size).Scalar(name+".offset", "ulong", 8).Scalar(name+".Rows", "ulong", 8).
		Scalar(name+".Cols", "ulong", 8).Scalar(name+".Stride", "ulong", 8)
}

// ConstSlice is Slice for elements that the kernel does not write.
func (p Params) ConstSlice(name, elem string, size int) Params {
	n := len(p)
	p = p.Slice(name, elem, size)
	p[n].ReadOnly = true
	return p
}

// ConstMatrix is Matrix for elements that the kernel does not write.
func (p Params) ConstMatrix(name, elem string, size int) Params {
	n := len(p)
	p = p.Matrix(name, elem, size)
	p[n].ReadOnly = true
	return p
}

// Scalar adds one of size bytes.
func (p Params) Scalar(name, typ string, size int) Params {
	return append(p, backend.Param{Name: name, Type: typ, Size: size})
}

func (p Params) buffer(name, elem string, size int) Params {
	return append(p, backend.Param{Name: name, Type: elem + "*", Buffer: true, Size: size})
}

// Group is where group i lies in the grid.
func Group(g backend.Grid, i int) (x, y, z int64) {
	gx, gy, gz := g.Group(i)
	return int64(gx), int64(gy), int64(gz)
}

// More is how many groups behind group i, below hi, lie beside it in x, where each group is a row
// of work-items, so that together they are one, too; it is 0 for others.
func More(g backend.Grid, i, hi int) int {
	if g.Local[1]*g.Local[2] > 1 {
		return 0
	}
	return min(hi-i, g.Groups[0]-i%g.Groups[0]) - 1
}
