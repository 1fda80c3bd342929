package ptxsim

import (
	"math/bits"
	"slices"
	"strings"
)

// decode fills c in from a function's tree.
func decode(m *Module, f *funcTree, c *code) {
	d := &decoder{mod: m, code: c, consts: map[uint64]int32{}, specials: map[string]int32{}}
	d.regs = 1 // register 0 stands for operands that an instruction does not have
	d.scope = newScope(nil)
	for i, v := range append(slices.Clone(f.params), f.rets...) {
		at := append(slices.Clone(c.params), c.results...)[i].Offset
		d.define(&variable{decl: v, space: spaceParam, addr: uint64(at)})
	}
	if f.entry && d.usesModuleShared(f.body) {
		c.shared = m.shared
		c.shared.vars = slices.Clone(m.shared.vars)
	}
	d.block(f.body)
	d.stmt = &stmt{line: f.line}
	d.emit(inst{kind: kindReturn}) // control may run off the end
	d.fixBranches()
	d.findEffects()
	d.renumber()
}

// A decoder turns the statements of one function into instructions.
//
// While it works, registers are numbered from 0; constants are -1, -3, -5 ... and special registers
// -2, -4, ...: renumber gives the final numbers.
type decoder struct {
	mod       *Module
	code      *code
	scope     *scope
	stmt      *stmt    // the one that is being decoded
	mods      []string // those of its modifiers that have not been used
	consts    map[uint64]int32
	specials  map[string]int32
	regs      int32
	scratch   int32 // a register that is only written; 0 for none yet
	cc        int32 // the carry; 0 for none yet
	branches  []branch
	lastLabel string
}

// A scope is the names that a block declares.
type scope struct {
	parent *scope
	regs   map[string]*register
	ranges map[string]*varDecl // %r of .reg .b32 %r<9>
	vars   map[string]*variable
	labels map[string]int
	tables map[string][]string // of .branchtargets
}

// A register's number is 0 until it is used.
type register struct {
	typ   typ
	index int32
}

// A branch is an instruction whose targets are not known before the end of the function.
type branch struct {
	inst  int
	scope *scope
	line  int32
	label string
	table bool // label is that of a list of targets
}

func newScope(parent *scope) *scope {
	return &scope{
		parent: parent, regs: map[string]*register{}, ranges: map[string]*varDecl{}, vars: map[string]*variable{},
		labels: map[string]int{}, tables: map[string][]string{},
	}
}

// usesModuleShared reports whether a body names a shared variable of module level, or calls a
// function, which might.
func (d *decoder) usesModuleShared(b *block) bool {
	uses := func(o operand) bool {
		v := d.mod.vars[o.name]
		return v != nil && v.space == spaceShared && !v.decl.extern
	}
	for _, it := range b.items {
		if it.block != nil && d.usesModuleShared(it.block) {
			return true
		}
		if it.stmt != nil && (it.stmt.name == "call" || slices.ContainsFunc(it.stmt.args, uses)) {
			return true
		}
	}
	return false
}

func (d *decoder) block(b *block) {
	for _, it := range b.items {
		switch {
		case it.label != "":
			if _, ok := d.scope.labels[it.label]; ok {
				refuse(it.line, "label %s is defined twice", it.label)
			}
			d.scope.labels[it.label] = len(d.code.insts)
			d.lastLabel = it.label
		case it.decl != nil:
			d.declare(it.decl)
		case it.block != nil:
			d.scope = newScope(d.scope)
			d.block(it.block)
			d.scope = d.scope.parent
		case it.stmt != nil:
			d.statement(it.stmt)
		}
	}
}

// define enters a variable into the scope.
func (d *decoder) define(v *variable) {
	d.fresh(v.decl)
	d.scope.vars[v.decl.name] = v
}

// fresh refuses a name that the scope has already.
func (d *decoder) fresh(v *varDecl) {
	known := d.scope.vars[v.name] != nil || d.scope.regs[v.name] != nil
	if v.count > 0 {
		known = d.scope.ranges[v.name] != nil
	}
	if known {
		refuse(v.line, "%s is declared twice", v.name)
	}
}

func (d *decoder) declare(v *varDecl) {
	c := d.code
	switch v.space {
	case "reg":
		d.fresh(v)
		if v.count > 0 {
			d.scope.ranges[v.name] = v
		} else {
			d.scope.regs[v.name] = &register{typ: v.typ}
		}
	case "param":
		if len(v.init) > 0 {
			refuse(v.line, "%s is a parameter and has an initialiser", v.name)
		}
		p := c.layOut(v)
		if c.paramSize > maxVariable {
			refuse(v.line, "more than %d bytes of parameters", maxVariable)
		}
		d.define(&variable{decl: v, space: spaceParam, addr: uint64(p.Offset)})
	case "local":
		at := (c.localSize + v.align - 1) &^ (v.align - 1)
		if int64(at)+v.size > maxLocal {
			refuse(v.line, "%s has %d bytes of local (private) memory; a thread can have %d", c.name,
				int64(at)+v.size, maxLocal)
		}
		c.localSize = at + int(v.size)
		d.define(&variable{decl: v, space: spaceLocal, addr: uint64(at)})
	default:
		layout := &c.shared
		if !c.entry {
			layout = &d.mod.shared
		}
		x := d.mod.newVariable(v, layout)
		if x.space == spaceGlobal {
			d.mod.initialise(x)
		}
		d.define(x)
	}
}

// register is the register of a name, which is numbered when it is first used; nil if there is
// none.
func (d *decoder) register(name string) *register {
	prefix := strings.TrimRight(name, "0123456789")
	for s := d.scope; s != nil; s = s.parent {
		r := s.regs[name]
		if v := s.ranges[prefix]; r == nil && v != nil && prefix != name {
			if n, ok := parseInt(name[len(prefix):]); ok && n < uint64(v.count) {
				r = &register{typ: v.typ}
				s.regs[name] = r
			}
		}
		if r != nil {
			d.numbered(&r.index)
			return r
		}
		if s.vars[name] != nil {
			return nil
		}
	}
	return nil
}

func (d *decoder) newRegister() int32 {
	d.regs++
	return d.regs - 1
}

// numbered is r, which becomes the number of a register when it is first asked for.
func (d *decoder) numbered(r *int32) int32 {
	if *r == 0 {
		*r = d.newRegister()
	}
	return *r
}

// variable is the variable of a name; nil if there is none.
func (d *decoder) variable(name string) *variable {
	if v, ok := find(d.scope, name, func(s *scope) map[string]*variable { return s.vars }); ok {
		return v
	}
	return d.mod.vars[name]
}

func (d *decoder) constant(v uint64) int32 {
	i, ok := d.consts[v]
	if !ok {
		i = -1 - 2*int32(len(d.consts))
		d.consts[v] = i
		d.code.consts = append(d.code.consts, v)
	}
	return i
}

func (d *decoder) special(name string) int32 {
	i, ok := d.specials[name]
	if !ok {
		i = -2 - 2*int32(len(d.specials))
		d.specials[name] = i
		d.code.specials = append(d.code.specials, specials[name])
	}
	return i
}

// unused is a register for a result that nobody wants.
func (d *decoder) unused() int32 { return d.numbered(&d.scratch) }

// carry is the register of the carry flag.
func (d *decoder) carry() int32 { return d.numbered(&d.cc) }

// emit appends an instruction of the current statement.
func (d *decoder) emit(in inst) {
	if s := d.stmt; s.guard != "" {
		in.guarded, in.not = true, s.guardNot
		in.guard = d.register(s.guard).index
	}
	in.place = int32(len(d.code.places)) - 1
	if n := len(d.code.places); n == 0 || d.code.places[n-1] != (place{d.stmt.line, d.stmt.loc}) {
		d.code.places = append(d.code.places, place{d.stmt.line, d.stmt.loc})
		in.place++
	}
	d.code.insts = append(d.code.insts, in)
}

// fixBranches sets the targets of branches.
func (d *decoder) fixBranches() {
	for _, b := range d.branches {
		in := &d.code.insts[b.inst]
		if !b.table {
			in.imm = int64(b.target(b.label))
			continue
		}
		names, ok := find(b.scope, b.label, func(s *scope) map[string][]string { return s.tables })
		if !ok {
			refuse(b.line, "there is no list of branch targets %s", b.label)
		}
		for _, name := range names {
			in.x.targets = append(in.x.targets, int32(b.target(name)))
		}
	}
}

// target is the index of the instruction behind a label.
func (b *branch) target(label string) int {
	at, ok := find(b.scope, label, func(s *scope) map[string]int { return s.labels })
	if !ok {
		refuse(b.line, "there is no label %s", label)
	}
	return at
}

// find looks name up in s and the scopes around it.
func find[T any](s *scope, name string, in func(*scope) map[string]T) (v T, ok bool) {
	for ; s != nil && !ok; s = s.parent {
		v, ok = in(s)[name]
	}
	return v, ok
}

// operands calls f for every register that the instruction reads, and for those that it writes.
func (in *inst) operands(read, write func(*int32)) {
	read(&in.a)
	read(&in.b)
	read(&in.c)
	read(&in.guard)
	x := in.x
	if x == nil || x.lanes == nil {
		write(&in.d)
	}
	if x == nil {
		return
	}
	for i := range x.lanes {
		if in.kind == kindStore {
			read(&x.lanes[i])
		} else {
			write(&x.lanes[i])
		}
	}
	for i := range x.from {
		read(&x.from[i])
	}
	read(&x.warp.members)
	read(&x.e)
}

// findEffects sets what decides how the blocks of a kernel may run, and numbers the accesses to
// global memory.
func (d *decoder) findEffects() {
	reads := map[int32]bool{}
	for i := range d.code.insts {
		d.code.insts[i].operands(func(p *int32) { reads[*p] = true }, func(*int32) {})
	}
	d.strengthenGuesses()
	e := &d.code.effects
	for i := range d.code.insts {
		in := &d.code.insts[i]
		global := in.space == spaceGlobal || in.space == spaceGeneric
		switch {
		case in.kind == kindWarp && in.x.warp.name != "mma": // mma orders no memory
			e.warp = true
		case in.kind == kindLoad && in.strong && global:
			e.ordered = true
		case in.kind == kindAtomic && global && (reads[in.d] || !in.x.commutes):
			e.ordered = true
		case in.kind == kindAtomic && global:
			e.reduce(in.x.text)
		}
		if n := in.size * in.lanes; global && n > 0 {
			e.fine = max(e.fine, uint8(max(bits.LeadingZeros8(n)-4, 0)))
			if len(d.mod.sites) < maxSites-1 {
				d.mod.sites = append(d.mod.sites, site{d.code, in})
				in.site = uint16(len(d.mod.sites))
			}
		}
	}
}

// strengthenGuesses makes loads strong whose value a compare-and-swap compares with: the first
// guess of its loop, which may be wrong.
func (d *decoder) strengthenGuesses() {
	guesses := map[int32]bool{}
	for range 3 { // a guess may be moved to another register, and on
		for i := range d.code.insts {
			switch in := &d.code.insts[i]; {
			case in.kind == kindAtomic && strings.HasPrefix(in.x.text, "cas"):
				guesses[in.b] = true
			case in.kind == kindMov && guesses[in.d]:
				guesses[in.a] = true
			case in.kind == kindLoad && len(in.x.lanes) == 1 && guesses[in.x.lanes[0]]:
				in.strong = true
			}
		}
	}
}

// renumber puts the constants and the special registers before the others.
func (d *decoder) renumber() {
	nc, ns := int32(len(d.code.consts)), int32(len(d.code.specials))
	fix := func(p *int32) {
		switch v := *p; {
		case v >= 0:
			*p = nc + ns + v
		case v&1 != 0:
			*p = (-1 - v) / 2
		default:
			*p = nc + (-2-v)/2
		}
	}
	for i := range d.code.insts {
		d.code.insts[i].operands(fix, fix)
	}
	d.code.regs = int(nc + ns + d.regs)
}
