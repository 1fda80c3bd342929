package ptxsim

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Module is loaded PTX: functions, and variables in device memory.
type Module struct {
	dev      *Device
	target   string
	files    map[int32]string
	codes    map[string]*code
	entries  []string
	vars     map[string]*variable
	allocs   []*allocation
	sites    []site
	shared   sharedLayout // of module level, and of functions that are no kernels
	unloaded bool         // under dev.launch
}

// A variable is a symbol that has an address.
type variable struct {
	decl  *varDecl
	space space
	addr  uint64
}

// A Param is a parameter of a kernel.
type Param struct {
	Name    string
	Offset  int // in the parameter bytes of a launch
	Size    int
	Pointer bool // marked as a pointer by .ptr; a .u64 that is not marked may be one too
}

// A Function is an entry point of a module.
type Function struct {
	module    *Module
	code      *code
	Name      string
	Params    []Param
	ParamSize int    // bytes of parameters
	ReqNTID   [3]int // the block size that .reqntid asks for; zero without
	MaxNTID   [3]int // the block size that .maxntid allows; zero without
}

// maxConst is the bytes of constant memory that a module can have.
const maxConst = 64 << 10

// Load parses and decodes PTX, which is for the device's architecture or an older one, and
// allocates its variables. Its errors are *ParseError, with the line, or ErrOutOfMemory.
func (d *Device) Load(ptx []byte) (*Module, error) {
	m := &Module{dev: d, codes: map[string]*code{}, vars: map[string]*variable{}}
	var tree *moduleTree
	if err := reading(func() { tree = parse(string(ptx)) }); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := reading(func() { m.load(tree) }); err != nil {
		m.free()
		return nil, err
	}
	return m, nil
}

// load fills m in, with the device's memory locked.
func (m *Module) load(tree *moduleTree) {
	m.target, m.files = tree.target, tree.files
	if archOf(m.target) > m.dev.config.Arch {
		refuse(tree.targetLine, "the module is for %s, and the device is sm_%d", m.target, m.dev.config.Arch)
	}
	constants := int64(0)
	for _, v := range tree.vars {
		m.declare(v)
		if v.space == "const" {
			if constants += v.size; constants > maxConst {
				refuse(v.line, "%d bytes of .const; a module can have %d", constants, maxConst)
			}
		}
	}
	for _, f := range tree.funcs {
		m.signature(f)
	}
	// a kernel's shared variables come behind those of the functions that it may call
	for _, entries := range []bool{false, true} {
		for _, f := range tree.funcs {
			if !f.extern && f.entry == entries {
				decode(m, f, m.codes[f.name])
			}
		}
	}
	m.link()
	for _, v := range m.vars {
		m.initialise(v)
	}
}

// declare gives a variable of module level its address. A prototype and its definition are one
// variable.
func (m *Module) declare(v *varDecl) {
	if old := m.vars[v.name]; old != nil {
		if !old.decl.extern && !v.extern || old.decl.space != v.space {
			refuse(v.line, "%s is declared twice", v.name)
		}
		if v.extern {
			return
		}
	}
	m.vars[v.name] = m.newVariable(v, &m.shared)
}

// newVariable gives a variable its address: a shared one in the layout, others in device memory.
func (m *Module) newVariable(v *varDecl, layout *sharedLayout) *variable {
	x := &variable{decl: v}
	switch v.space {
	case "shared":
		x.space = spaceShared
		if len(v.init) > 0 {
			refuse(v.line, "%s is shared and has an initialiser", v.name)
		}
		if !v.extern { // else its address is known only when the kernel is: see decoder.address
			x.addr = uint64(layout.place(v))
		}
	case "global", "const":
		x.space = spaceGlobal
		if v.extern {
			refuse(v.line, "%s is .extern: other modules are not simulated", v.name)
		}
		a, err := m.dev.alloc(uint64(max(v.size, 1)))
		if err != nil {
			panic(stop{err})
		}
		a.owned = true
		a.complete.Store(true)
		m.allocs = append(m.allocs, a)
		x.addr = a.addr
	default:
		refuse(v.line, "%s is in .%s, which is not for module level", v.name, v.space)
	}
	return x
}

// initialise writes a variable's initial value.
func (m *Module) initialise(v *variable) {
	if len(v.decl.init) == 0 {
		return
	}
	a, _ := m.dev.mem.find(v.addr, 0)
	t := v.decl.typ
	if int64(len(v.decl.init)*t.size()) > v.decl.size {
		refuse(v.decl.line, "%s has %d initial values, too many for %d bytes", v.decl.name, len(v.decl.init),
			v.decl.size)
	}
	for i, e := range v.decl.init {
		bits, ok := e.value.as(t)
		if e.symbol != "" {
			target := m.vars[e.symbol]
			if target == nil || target.space != spaceGlobal {
				refuse(v.decl.line, "%s is initialised with the address of %s, which is no global variable",
					v.decl.name, e.symbol)
			}
			bits, ok = target.addr+e.value.bits, t.bits == 64 && t.class != float
		}
		if !ok {
			refuse(v.decl.line, "an initial value of %s is not a %s", v.decl.name, t)
		}
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], bits)
		copy(a.mem[i*t.size():], b[:t.size()])
	}
}

// signature enters a function with its parameters. A prototype may come before or after the
// function.
func (m *Module) signature(f *funcTree) {
	if old := m.codes[f.name]; old != nil {
		if old.defined && !f.extern {
			refuse(f.line, "function %s is defined twice", f.name)
		}
		if f.extern {
			return
		}
	}
	c := &code{name: f.name, line: f.line, entry: f.entry, defined: !f.extern, reqntid: f.reqntid, maxntid: f.maxntid}
	for _, v := range f.params {
		c.params = append(c.params, c.layOut(v))
	}
	for _, v := range f.rets {
		c.results = append(c.results, c.layOut(v))
	}
	if f.entry && c.paramSize > maxParams {
		refuse(f.line, "%s has %d bytes of parameters; a kernel can have %d", f.name, c.paramSize, maxParams)
	}
	c.formalSize = c.paramSize
	m.codes[f.name] = c
	if f.entry && !f.extern {
		m.entries = append(m.entries, f.name)
	}
}

const maxParams = 32764

// layOut gives a variable in .param its place behind those before it.
func (c *code) layOut(v *varDecl) Param {
	at := (c.paramSize + v.align - 1) &^ (v.align - 1)
	c.paramSize = at + int(v.size)
	return Param{Name: v.name, Offset: at, Size: int(v.size), Pointer: v.pointer}
}

// frameParams is the bytes of parameter memory that each frame has of its own: a kernel's
// parameters are the launch's.
func (c *code) frameParams() int {
	if c.entry {
		return c.paramSize - c.formalSize
	}
	return c.paramSize
}

// link resolves calls and gathers what a kernel does through its callees.
func (m *Module) link() {
	for _, c := range m.codes {
		for _, site := range c.calls {
			site.fn = m.codes[site.name]
		}
	}
	for _, name := range m.entries {
		k := m.codes[name]
		k.gather(k, map[*code]bool{})
	}
}

// gather adds the effects of c and of what it calls to k's.
func (k *code) gather(c *code, seen map[*code]bool) {
	if seen[c] {
		return
	}
	seen[c] = true
	e := &k.effects
	e.ordered = e.ordered || c.effects.ordered
	e.warp = e.warp || c.effects.warp
	e.fence = e.fence || c.effects.fence
	e.fine = max(e.fine, c.effects.fine)
	for op := range c.effects.reduces {
		e.reduce(op)
	}
	for _, site := range c.calls {
		k.gather(site.fn, seen)
	}
}

func (e *effects) reduce(op string) {
	if e.reduces == nil {
		e.reduces = map[string]bool{}
	}
	e.reduces[op] = true
}

// free gives the variables' memory back, with the device's memory locked.
func (m *Module) free() {
	for _, a := range m.allocs {
		m.dev.mem.remove(a)
	}
	m.allocs = nil
}

// Unload frees the module's variables. Its functions cannot be launched any more. It waits for a
// launch that runs, and may be called twice.
func (m *Module) Unload() {
	m.dev.launch.Lock()
	defer m.dev.launch.Unlock()
	m.dev.mu.Lock()
	defer m.dev.mu.Unlock()
	m.unloaded = true
	m.free()
}

// Entries is the names of the module's entry points, in the order of the PTX.
func (m *Module) Entries() []string { return slices.Clone(m.entries) }

// archOf is 75 of sm_75, and of sm_75a.
func archOf(target string) int {
	n, _ := strconv.Atoi(strings.TrimRight(strings.TrimPrefix(target, "sm_"), "af"))
	return n
}

// Global is the address and size of a variable in .global or .const.
func (m *Module) Global(name string) (addr, size uint64, err error) {
	v := m.vars[name]
	if v == nil || v.space != spaceGlobal {
		return 0, 0, fmt.Errorf("the module has no global variable %s", name)
	}
	return v.addr, uint64(v.decl.size), nil
}

// Function is an entry point of the module.
func (m *Module) Function(name string) (*Function, error) {
	c := m.codes[name]
	if c == nil || !c.entry || !c.defined {
		return nil, fmt.Errorf("the module has no kernel %s; it has %v", name, m.entries)
	}
	return &Function{
		module: m, code: c, Name: name, Params: slices.Clone(c.params), ParamSize: c.formalSize, ReqNTID: c.reqntid,
		MaxNTID: c.maxntid,
	}, nil
}
