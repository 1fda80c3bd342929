package cpu

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
)

// EnvNative is the environment variable that chooses the machine code that kernels written in Go
// run as: "off" is none, and so their Go; "avx2", "avx512" or "neon" is what a processor may have;
// without it the best that this one has.
const EnvNative = "TANDEM_NATIVE"

// chosenLevels is the levels that kernels may run at, the best first, as EnvNative has it. There
// are none where the system refuses memory for their code.
func chosenLevels() ([]string, error) {
	all, choice := levels(), os.Getenv(EnvNative)
	i := slices.Index(all, choice)
	switch {
	case choice == "off", choice == "" && refused() != nil:
		return nil, nil
	case choice == "":
		return all, nil
	case i < 0:
		return nil, backend.Failure(driverName, "Driver.Open", backend.ErrArgument,
			"%s is %q, and must be one of %q here", EnvNative, choice, append(all, "off"))
	}
	if err := refused(); err != nil {
		return nil, backend.Failure(driverName, "Driver.Open", backend.ErrUnsupported,
			"%s is %q, and the system refuses executable memory: %v", EnvNative, choice, err)
	}
	return all[i:], nil
}

// A native is the machine code of a kernel.
type native struct {
	*backend.Native
	entry    uintptr
	operands []operand
	files    []string
	isMap    bool
}

// newNative brings the code of s to memory for the first of levels that it has; it is nil where s
// has none.
func newNative(s *backend.Source, levels []string) (*native, error) {
	if s.Checks == nil || s.Native == nil {
		return nil, nil
	}
	for _, level := range levels {
		code, err := s.Native(level)
		if err != nil {
			return nil, err
		}
		if code == nil {
			continue
		}
		entry, err := entryOf(code)
		if err != nil {
			return nil, err
		}
		return &native{
			Native: code, entry: entry, operands: operandsOf(s.Params), files: s.Checks.Files, isMap: s.Map,
		}, nil
	}
	return nil, nil
}

// An operand is a slice or a matrix among the arguments: a buffer, behind which come an offset and
// a length, or an offset, rows, columns and a stride, in elements.
type operand struct {
	at     int
	size   int64 // bytes of an element
	matrix bool
}

func operandsOf(params []backend.Param) (list []operand) {
	for i, p := range params {
		if p.Buffer {
			list = append(list, operand{i, int64(p.Size), strings.HasSuffix(params[i+2].Name, ".Rows")})
		}
	}
	return list
}

// fits tells whether the elements of an operand are in its buffer: the code does not look.
func (o operand) fits(c *call) bool {
	args := c.args[o.at:]
	off := args[1].Int64()
	mem := (c.mems[o.at].Size-args[0].Offset)/o.size - off
	if off < 0 || mem < 0 {
		return false
	}
	if !o.matrix {
		n := args[2].Int64()
		return n >= 0 && n <= mem
	}
	rows, cols, stride := args[2].Int64(), args[3].Int64(), args[4].Int64()
	if rows < 0 || cols < 0 || stride < 0 {
		return false
	}
	return rows == 0 || cols == 0 || cols <= mem && (rows == 1 || stride <= (mem-cols)/(rows-1))
}

// prepare makes the words that the code is given of a call's arguments: addresses and scalars. It
// makes none where only the kernel's Go can say what is wrong with them.
func (n *native) prepare(c *call) {
	for _, o := range n.operands {
		if !o.fits(c) {
			return
		}
	}
	for i := range c.args {
		a := &c.args[i]
		word := a.Bits
		if a.Buffer != nil {
			word = uint64(uintptr(unsafe.Pointer(unsafe.SliceData(c.mems[i].Bytes)))) + uint64(a.Offset)
		}
		c.words = append(c.words, word)
	}
	c.native, c.narrow = true, n.isNarrow(c.words)
}

// A nativeCall is what an entry is given: struct call of internal/nativegen/native.h.
type nativeCall struct {
	lo, hi        int64
	local, groups [3]int64
	scratch       unsafe.Pointer
	bad           [4]int64
	saved         [16]uintptr
	arg           *uint64
}

// A frame is a call and its memory, for use again.
type frame struct {
	nativeCall
	memory []byte
	tiles  []byte   // of a map of few columns, in the place of operands
	words  []uint64 // that say so
}

var frames = sync.Pool{New: func() any { return new(frame) }}

// call runs some groups.
func (n *native) call(g backend.Grid, lo, hi int, words []uint64, f *frame) error {
	f.lo, f.hi = int64(lo), int64(hi)
	for i := range 3 {
		f.local[i], f.groups[i] = int64(g.Local[i]), int64(g.Groups[i])
	}
	f.reserve(n.scratch(g))
	f.bad[0], f.arg = 0, unsafe.SliceData(words)
	enter(n.entry, &f.nativeCall)
	f.arg = nil
	if f.bad[0] == 0 {
		return nil
	}
	return fmt.Errorf("panic in groups %d to %d of %s (%s:%d): runtime error: %s", lo, hi-1, g,
		n.files[f.bad[1]/1e6], f.bad[1]%1e6, mistake(f.bad))
}

// scratch is how many bytes of memory a call needs.
func (n *native) scratch(g backend.Grid) int {
	strips := (g.Local[0] + n.Lanes - 1) / n.Lanes * g.Local[1] * g.Local[2]
	return n.Group + strips*n.Strip
}

// page is as far as cores fetch in advance. Where the memory of two of them lay in one page, each
// took lines from the other, and a product in tiles half as long again.
const page = 4096

// reserve makes size bytes of scratch memory, from the start of a page: no two frames share one.
func (f *frame) reserve(size int) {
	if size == 0 {
		return
	}
	if len(f.memory) < size+page {
		f.memory = make([]byte, size+page)
		start := uintptr(unsafe.Pointer(unsafe.SliceData(f.memory)))
		f.scratch = unsafe.Pointer(&f.memory[-start%page])
	}
}

// mistake is what Go says where a kernel's code failed; native.h has the numbers.
func mistake(bad [4]int64) string {
	switch a, b := bad[2], bad[3]; {
	case bad[0] == 1 && a < 0:
		return fmt.Sprintf("index out of range [%d]", a)
	case bad[0] == 1:
		return fmt.Sprintf("index out of range [%d] with length %d", a, b)
	case bad[0] == 2:
		return "integer divide by zero"
	case bad[0] == 3 && a < 0:
		return fmt.Sprintf("slice bounds out of range [:%d]", a)
	case bad[0] == 3:
		return fmt.Sprintf("slice bounds out of range [:%d] with capacity %d", a, b)
	case bad[0] == 5 && a < 0:
		return fmt.Sprintf("slice bounds out of range [%d:]", a)
	case bad[0] == 5:
		return fmt.Sprintf("slice bounds out of range [%d:%d]", a, b)
	}
	return "negative shift amount"
}
