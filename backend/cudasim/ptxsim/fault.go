package ptxsim

import (
	"fmt"
	"path"
	"strings"
)

// A Kind is what is wrong in a kernel or a launch.
type Kind uint8

const (
	OutOfBounds   Kind = iota + 1 // an access outside every live allocation, array or frame
	Misaligned                    // an address that is not a multiple of the access's size
	Uninitialised                 // a read of shared or global memory that nothing has written
	// two threads use the same byte, and one of them writes, with no barrier of their block between
	Race
	DivergentBarrier // threads of a block wait at different barriers, or some have exited
	Trap             // the kernel's own trap, or a failed assert
	Limit            // a launch that the device cannot take
	Timeout          // more instructions than Config.MaxSteps in one block
	DivByZero        // integer division by zero: a diagnostic; the result is all ones, as on hardware
)

var kindNames = [...]string{
	"unknown fault", "out-of-bounds access", "misaligned access", "read of uninitialised memory", "data race",
	"divergent barrier", "trap",
	"launch limit exceeded", "too many steps", "integer division by zero",
}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return kindNames[0]
}

// A Fault says what went wrong in a launch, and where. Fields that do not apply are zero.
type Fault struct {
	Kind     Kind
	Kernel   string // the entry point
	Function string // the function of the module that the instruction is in, if it is not the kernel
	Line     int    // in the PTX
	File     string // of the source, where .loc says so; after inlining, the place in the outermost function
	FileLine int
	Block    [3]int // block (group) in the grid
	Thread   [3]int // thread in the block
	Address  uint64 // of a memory access, in its space: shared memory starts at 0
	Text     string // one sentence
}

func (f *Fault) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "kernel %s: %s", f.Kernel, f.Kind)
	if f.Text != "" {
		b.WriteString(": " + f.Text)
	}
	if f.Line == 0 {
		return b.String()
	}
	fmt.Fprintf(&b, " (%s, block %s, thread %s)", f.place(), triple(f.Block), triple(f.Thread))
	return b.String()
}

// place is the line of the source, if it is known, and that of the PTX. Compilers put the working
// directory before the names of files, wherever these are.
func (f *Fault) place() string {
	s := fmt.Sprintf("PTX line %d", f.Line)
	if f.File != "" {
		s = fmt.Sprintf("%s:%d, %s", path.Base(f.File), f.FileLine, s)
	}
	if f.Function != "" {
		s += " in " + f.Function
	}
	return s
}

func triple(v [3]int) string { return fmt.Sprintf("(%d,%d,%d)", v[0], v[1], v[2]) }

// at sets the place: the PTX line, and the line of the source in the outermost function of an
// inlined call.
func (f *Fault) at(c *code, files map[int32]string, p place) {
	f.Line = int(p.line)
	if c.name != f.Kernel {
		f.Function = c.name
	}
	l := p.loc
	for l != nil && l.inlinedAt != nil {
		l = l.inlinedAt
	}
	if l != nil && files[l.file] != "" {
		f.File, f.FileLine = files[l.file], int(l.line)
	}
}
