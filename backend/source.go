package backend

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
)

// Source is a kernel in the portable dialect, with what some drivers can use instead of compiling
// it. It is read only: the same Source may be compiled for many devices at once.
type Source struct {
	Name   string            // the entry point
	File   string            // file name for the compiler's messages; "" is Name + ".cl"
	Text   string            // portable OpenCL C; the driver adds its prelude
	Macros map[string]string // defined before the text, as -D does
	Params []Param           // the arguments; nil: read from the PTX or from the text
	// the group size that the kernel is written for; zero: read from the text, any if it names none
	Group [3]int
	// it is of a function under //tandem:map: a matrix of results, then for each input a matrix and
	// a number that may stand for it; any grid computes all results
	Map bool
	PTX []byte   // prebuilt, for cuda and cudasim; may be nil
	Go  GoKernel // for the cpu device; may be nil
	// the text in a compressed file, where Text is empty; may be nil
	PackedText func() string
	// prebuilt PTX that is unpacked when it is needed, where PTX is nil; may be nil
	Packed *PackedPTX
	// of kernels that gpu/compile generated; nil for others
	Fresh  func() error // tells whether the kernel is still the one that this was generated from
	Checks *Checks      // what a checked launch needs
	// machine code for a level of processors ("avx2", "avx512" or "neon"), which the cpu device
	// runs in place of Go: the same each time, nil where there is none; may be nil
	Native func(level string) (*Native, error)
}

// Native is machine code of a kernel for one kind of processor, which does what its Go does.
type Native struct {
	Code         []byte // of a C function, which internal/nativegen/native.h declares, wherever it lies
	Lanes        int    // how many work-items that are neighbours in x make a strip
	Group, Strip int    // bytes of scratch memory for a group, and for each strip of it
}

// PackedPTX is PTX in a compressed file.
type PackedPTX struct {
	Hash   func() string          // tells it from other PTX; "" where there is none
	Unpack func() ([]byte, error) // gives nil where there is none
}

// Prebuilt is the PTX of s, nil if it has none.
func (s *Source) Prebuilt() ([]byte, error) {
	if s.PTX != nil || s.Packed == nil {
		return s.PTX, nil
	}
	return s.Packed.Unpack()
}

// Checks is what a launch needs to find an index out of range. The text takes one more buffer
// behind the other parameters, of 8 words, where the macro TANDEM_CHECKED is defined. The first
// work-item that makes a mistake writes there
//
//	what it is, its line and 1e6 times the index of its file, two numbers about it, and the
//	work-item's global ids in x, y and z
//
// and touches no memory of others from then on. Word 0 must be 0 before.
type Checks struct {
	Files []string // the names of the kernel's files
	Go    GoKernel // runs the kernel as it is written, in which Go checks every index
}

// A GoKernel is a kernel's implementation in Go. It runs the work-groups lo <= i < hi of g,
// numbered as [Grid.Group] does, on the memory of its arguments ([Mem], [Arg.Int32], ...). The
// arguments are checked against the kernel's parameters. Several calls with different groups run at
// once. An error, or a panic, fails the launch. args is valid until the call returns.
type GoKernel func(g Grid, lo, hi int, args []Arg) error

// FileName is the name that compilers show in their messages.
func (s *Source) FileName() string {
	if s.File != "" {
		return s.File
	}
	return s.Name + ".cl"
}

// GridFor is a grid with a work-item for each of n elements, of nx by ny, or of nx by ny by nz, in
// groups of the kernel's own size, s.Group, or else in those of the function [GridFor]:
//
//	launchBlur(s, blurKernel.GridFor(cols, rows), out, in)
//
// It panics without sizes, or with more than three.
func (s *Source) GridFor(n ...int) Grid {
	if len(n) == 0 || len(n) > 3 {
		panic(fmt.Sprintf("backend: a grid has one to three sizes, not %d", len(n)))
	}
	g := Grid{Local: s.Group}
	if g.Local == [3]int{} {
		g.Local = [...][3]int{{256, 1, 1}, {16, 16, 1}, {8, 8, 4}}[len(n)-1]
	}
	sizes := [3]int{1, 1, 1}
	copy(sizes[:], n)
	for d, size := range sizes {
		g.Groups[d] = size / g.Local[d]
		if size%g.Local[d] > 0 {
			g.Groups[d]++
		}
	}
	return g
}

// Unpacked is s with its text, which is unpacked where it has to be.
func (s *Source) Unpacked() *Source {
	if s.Text != "" || s.PackedText == nil {
		return s
	}
	whole := *s
	whole.Text = s.PackedText()
	return &whole
}

// Defines is the macros as "NAME=value" in a fixed order.
func (s *Source) Defines() []string {
	d := make([]string, 0, len(s.Macros))
	for _, k := range slices.Sorted(maps.Keys(s.Macros)) {
		d = append(d, k+"="+s.Macros[k])
	}
	return d
}

// Key identifies what a compiler makes of s, for caches: name, file, text, macros and PTX. The rest
// of a cache key (device, driver version, prelude, options) is the driver's.
func (s *Source) Key() [sha256.Size]byte {
	h := sha256.New()
	ptx := string(s.PTX)
	if s.PTX == nil && s.Packed != nil {
		ptx = s.Packed.Hash()
	}
	for _, part := range append([]string{s.Name, s.FileName(), s.Unpacked().Text, ptx}, s.Defines()...) {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write([]byte(part))
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// A Param is one parameter of a kernel.
type Param struct {
	Name   string // may be empty
	Type   string // as the source spells it; may be empty
	Elem   string // Go's name of the numbers that a buffer holds, "float32" for a struct of floats; "": as Type tells
	Buffer bool   // a pointer to global memory
	Size   int    // bytes of a scalar, or of a buffer's element; 0 where it is not known

	ReadOnly bool // a buffer that the kernel is known not to write
}

// String is the parameter as a person would write it: "buffer a (float*)", "int n".
func (p Param) String() string {
	kind := p.Type
	if p.Buffer {
		kind = "buffer"
		if p.Type != "" {
			kind += " (" + p.Type + ")"
		}
	} else if kind == "" {
		kind = fmt.Sprintf("scalar of %d bytes", p.Size)
	}
	if p.Name == "" {
		return kind
	}
	return kind + " " + p.Name
}
