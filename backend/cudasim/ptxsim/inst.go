package ptxsim

// A kind tells the interpreter's loop how to run an instruction.
type kind uint8

const (
	kindALU kind = iota // fn does it all

	// The hottest instructions have a kind of their own.
	kindMov
	kindAdd32
	kindAdd64
	kindFMA64

	kindDivide      // fn, where the divisor b is not zero
	kindBranch      // to imm
	kindBranchIndex // to x.targets[a]
	kindCall
	kindReturn
	kindExit
	kindTrap
	kindLoad
	kindStore
	kindAtomic
	kindBarrier
	kindCopy // cp.async
	kindCommit
	kindWait       // for copies: all groups but the last imm
	kindWarp       // waits for other threads of the warp: shfl.sync and the like
	kindClock      // d = instructions run so far
	kindActiveMask // d = the mask of the thread alone
)

// An inst is a decoded instruction. Its operands are indices into a frame's registers, which hold
// constants and special registers too.
//
// A register holds the bits of its value, zero-extended to 64; a predicate is 0 or 1.
type inst struct {
	fn      func(r []uint64, in *inst)
	x       *extra // what few instructions need; nil for most
	imm     int64  // offset of an address, or target of a branch
	d       int32  // destination
	a, b, c int32  // sources
	guard   int32  // the predicate, if guarded
	place   int32  // index into code.places
	kind    kind
	guarded bool
	not     bool   // runs where the guard is 0
	space   space  // of a memory access
	size    uint8  // bytes of an element of a memory access
	lanes   uint8  // elements of a memory access
	strong  bool   // volatile, relaxed, acquire or release: no part of a data race with its like
	narrow  bool   // the address is computed in 32 bits
	site    uint16 // of an access to global memory: 1 + its index in Module.sites; 0 for too many
}

// An extra is the rest of an instruction that does not fit into inst.
type extra struct {
	lanes    []int32 // registers of a vector, instead of d
	from     []int32 // sources of a packing mov
	sext     uint8   // loads: bits of the element to sign-extend from, 0 for none
	mask     uint64  // loads and conversions: of the destination register
	e        int32   // a fourth source, or a second destination
	fn       func(r []uint64, in *inst)
	f32      func(a, b, c float32) float32
	f64      func(a, b, c float64) float64
	compare  func(a, b float64) bool
	logic    func(a, b bool) bool
	not      bool // of the predicate that a comparison is combined with
	ftz      bool
	sat      bool
	typ      typ // of the operands, where fn depends on it
	cvt      conversion
	atom     atomicFunc
	commutes bool // atomics: the order of several does not matter
	barrier  barrierOp
	warp     warpOp
	targets  []int32
	call     *callSite
	imm      int64  // offset of the destination of a copy
	narrow   bool   // of that address
	text     string // traps: why; atomics: the operation and its type
}

// A callSite is a call of a function of the module. Arguments are copied from the caller's
// parameter memory to the callee's, results back.
type callSite struct {
	name    string
	fn      *code
	args    []paramCopy
	results []paramCopy
}

type paramCopy struct{ caller, callee, size int32 }

// A place is where an instruction stands in the PTX, and in the source if .loc says so.
type place struct {
	line int32
	loc  *location
}

// code is a decoded function.
type code struct {
	name             string
	line             int32
	entry            bool
	defined          bool // has a body
	formalSize       int  // bytes of parameters and results
	insts            []inst
	places           []place   // of insts
	consts           []uint64  // the first registers of a frame
	specials         []special // the registers behind the constants
	regs             int       // all registers of a frame
	params           []Param
	results          []Param
	paramSize        int          // bytes of parameter memory: parameters, results, and the variables of calls
	localSize        int          // bytes of local memory of a frame
	shared           sharedLayout // of a kernel, with the module's if it uses them
	reqntid, maxntid [3]int
	calls            []*callSite
	effects          effects
}

// effects is what decides how a kernel's groups may run, and how they can be watched.
type effects struct {
	ordered bool            // reads global memory that other groups may be writing: groups must run in order
	reduces map[string]bool // atomics on global memory whose results nobody reads
	warp    bool            // uses warp-level synchronisation
	fence   bool            // orders what it does to global memory for other groups to see
	fine    uint8           // the smallest access to global memory is 8>>fine bytes
}

// grain is the logarithm of the bytes of the words of global memory for which uses are noted.
func (e *effects) grain() uint8 { return 3 - e.fine }

// A site is an access to global memory in the code.
type site struct {
	code *code
	inst *inst
}
