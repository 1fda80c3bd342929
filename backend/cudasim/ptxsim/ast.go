package ptxsim

// The syntax tree of a PTX module. Names are not resolved: that is the decoder's work.

type moduleTree struct {
	target     string
	targetLine int32
	files      map[int32]string // of .file, for .loc
	vars       []*varDecl
	funcs      []*funcTree
}

// A varDecl declares a variable, or a set of registers, in a state space.
type varDecl struct {
	line    int32
	space   string // "global", "const", "shared", "local", "param", "reg"
	typ     typ
	name    string
	count   int   // registers of .reg name<count>; 0 without < >
	align   int   // bytes
	size    int64 // bytes; 0 for an extern array
	extern  bool
	pointer bool // a parameter that .ptr marks as a pointer
	init    []initValue
}

// An initValue is one element of a variable's initialiser: a number, or the address of a symbol
// plus a number.
type initValue struct {
	symbol string
	value  literal
}

type funcTree struct {
	line    int32
	name    string
	entry   bool
	extern  bool // a prototype: no body follows
	rets    []*varDecl
	params  []*varDecl
	reqntid [3]int // 0 where not given
	maxntid [3]int
	body    *block
}

// A block is the text between { and }.
type block struct{ items []blockItem }

// A blockItem is exactly one of its fields, with its place.
type blockItem struct {
	line  int32
	label string
	decl  *varDecl
	stmt  *stmt
	block *block
}

// A location is a line of the source that .loc names, and the call that it was inlined at.
type location struct {
	file, line, column int32
	inlinedAt          *location
}

// A stmt is an instruction, or a directive that lists labels (.branchtargets).
type stmt struct {
	line     int32
	loc      *location
	guard    string // the predicate register of @p; "" without
	guardNot bool
	name     string   // "ld"
	mods     []string // "global", "v4", "f32"
	args     []operand
}

// An operandKind says which fields of an operand are meant.
type operandKind uint8

const (
	operandName    operandKind = iota // name: a register, symbol or label; offset: symbol+offset
	operandLiteral                    // lit
	operandMemory                     // [name+offset] or [offset]
	operandList                       // {list}, or (list) in a call
	operandPair                       // list[0]|list[1]
)

type operand struct {
	kind   operandKind
	not    bool // !name
	name   string
	lit    literal
	offset int64
	list   []operand
}
