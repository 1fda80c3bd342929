package ptxsim

import "slices"

func (d *decoder) bra() {
	d.take("uni")
	d.args(1)
	d.branch(inst{kind: kindBranch}, d.stmt.args[0], false)
}

// branch emits a branch whose target fixBranches will set.
func (d *decoder) branch(in inst, to operand, table bool) {
	if to.kind != operandName || to.not || to.offset != 0 {
		d.refuse("the target of %s is not a label", d.stmt.name)
	}
	d.branches = append(d.branches, branch{len(d.code.insts), d.scope, d.stmt.line, to.name, table})
	d.emit(in)
}

// brx decodes a branch by an index into a list of labels.
func (d *decoder) brx() {
	d.require(d.take("idx"))
	d.take("uni")
	d.args(2)
	d.branch(inst{kind: kindBranchIndex, a: d.src(0, u32), x: &extra{}}, d.stmt.args[1], true)
}

// branchTargets takes the list of labels that the label before it names.
func (d *decoder) branchTargets() {
	if at, ok := d.scope.labels[d.lastLabel]; !ok || at != len(d.code.insts) {
		d.refuse("a list of branch targets without a label before it")
	}
	names := []string{}
	for _, a := range d.stmt.args {
		if a.kind != operandName {
			d.refuse("a branch target is not a label")
		}
		names = append(names, a.name)
	}
	d.scope.tables[d.lastLabel] = names
}

// call decodes call (results), name, (arguments), where both are variables in .param.
func (d *decoder) call() {
	d.take("uni")
	args := slices.Clone(d.stmt.args)
	results := operand{kind: operandList}
	if len(args) > 0 && args[0].kind == operandList {
		results, args = args[0], args[1:]
	}
	if len(args) == 1 {
		args = append(args, operand{kind: operandList})
	}
	if len(args) == 3 {
		d.refuse("an indirect call: only calls of named functions are simulated")
	}
	if len(args) != 2 || args[0].kind != operandName || args[1].kind != operandList {
		d.refuse("call needs (results), a function's name, and (arguments)")
	}
	name := args[0].name
	fn := d.mod.codes[name]
	switch {
	case name == "__assertfail":
		d.emit(inst{kind: kindTrap, x: &extra{text: "an assertion failed"}})
		return
	case fn == nil:
		d.refuse("call of %s, which is not a function of the module: only calls of named functions are simulated", name)
	case !fn.defined || fn.entry:
		d.refuse("call of %s, which has no body in this module: the simulated device has no such function", name)
	}
	site := &callSite{name: name, args: d.copies(args[1], fn.params), results: d.copies(results, fn.results)}
	d.code.calls = append(d.code.calls, site)
	d.emit(inst{kind: kindCall, x: &extra{call: site}})
}

// copies pairs the variables of a call with the function's parameters or results.
func (d *decoder) copies(list operand, formals []Param) (out []paramCopy) {
	if len(list.list) != len(formals) {
		d.refuse("a call with %d values for %d parameters", len(list.list), len(formals))
	}
	for i, a := range list.list {
		v := d.variable(a.name)
		if a.kind != operandName || v == nil || v.space != spaceParam {
			d.refuse("value %d of the call is not a variable in .param: others are not simulated", i)
		}
		at := int(v.addr)
		if d.code.entry {
			at -= d.code.formalSize
		}
		if at < 0 || int(v.decl.size) < formals[i].Size {
			d.refuse("%s cannot be passed for %s, which has %d bytes", a.name, formals[i].Name, formals[i].Size)
		}
		out = append(out, paramCopy{int32(at), int32(formals[i].Offset), int32(formals[i].Size)})
	}
	return out
}

func (d *decoder) ret() {
	d.take("uni")
	d.args(0)
	d.emit(inst{kind: kindReturn})
}

func (d *decoder) exit() {
	d.args(0)
	d.emit(inst{kind: kindExit})
}

func (d *decoder) trap() {
	d.args(0)
	d.emit(inst{kind: kindTrap, x: &extra{text: "the kernel stopped itself"}})
}

// bar decodes bar and barrier, and bar.warp.sync.
func (d *decoder) bar() {
	if d.take("warp") {
		d.require(d.take("sync"))
		d.args(1)
		d.emit(inst{kind: kindWarp, x: d.members(warpOp{name: "bar"})})
		return
	}
	d.take("cta")
	x := &extra{}
	in := inst{kind: kindBarrier, x: x}
	args := d.stmt.args
	form := d.oneOf("sync", "arrive", "red")
	d.require(form != "")
	if form == "red" {
		args = d.barReduce(&in, args)
	}
	d.take("aligned")
	if x.barrier.arrive = form == "arrive"; x.barrier.arrive && len(args) != 2 {
		d.args(2)
	}
	if len(args) < 1 || len(args) > 2 {
		d.args(1)
	}
	in.a = d.source(args[0], u32)
	if len(args) == 2 {
		x.barrier.counted = true
		in.b = d.source(args[1], u32)
	}
	d.emit(in)
}

// barReduce decodes the destination and the predicate of bar.red and gives the operands between.
func (d *decoder) barReduce(in *inst, args []operand) []operand {
	op := &in.x.barrier
	op.reduce = d.oneOf("popc", "and", "or")
	t := d.typ()
	d.require(op.reduce == "popc" && t == u32 || (op.reduce == "and" || op.reduce == "or") && t == p1)
	if len(args) < 3 {
		d.args(3)
	}
	last := len(args) - 1
	in.d, in.c = d.dst(t), d.negated(args[last], p1, &op.not)
	return args[1:last]
}

// members decodes the mask of the threads that take part in a warp-level instruction, the last
// operand.
func (d *decoder) members(op warpOp) *extra {
	op.members = d.source(d.stmt.args[len(d.stmt.args)-1], b32)
	return &extra{warp: op}
}

// A warpForm is the form of a warp-level instruction: its modes, its sources, and the types of its
// destination and its first source for the type and the mode that it names.
type warpForm struct {
	modes   []string
	sources int
	types   func(t typ, mode string) (dst, src typ, ok bool)
}

var warpForms = map[string]warpForm{
	"shfl": {[]string{"up", "down", "bfly", "idx"}, 3, func(t typ, _ string) (typ, typ, bool) {
		return t, t, t == b32
	}},
	"vote": {[]string{"all", "any", "uni", "ballot"}, 1, func(t typ, mode string) (typ, typ, bool) {
		return t, p1, mode == "ballot" && t == b32 || mode != "ballot" && t == p1
	}},
	"match": {[]string{"any", "all"}, 1, func(t typ, _ string) (typ, typ, bool) {
		return b32, t, t == b32 || t == b64
	}},
	"redux": {[]string{"add", "min", "max", "and", "or", "xor"}, 1, func(t typ, mode string) (typ, typ, bool) {
		return t, t, t.bits == 32 && t.class != float && atomics[t][mode] != nil
	}},
}

// warp decodes a warp-level instruction, whose destination may be a pair with a predicate.
func (d *decoder) warp() {
	form := warpForms[d.stmt.name]
	d.require(d.take("sync"))
	op := warpOp{name: d.stmt.name, mode: d.oneOf(form.modes...)}
	d.require(op.mode != "")
	to, from, ok := form.types(d.typ(), op.mode)
	d.require(ok)
	op.typ = from
	d.args(form.sources + 2)
	in := inst{kind: kindWarp, a: d.negated(d.stmt.args[1], from, &op.not)}
	in.x = d.members(op)
	in.x.e, _ = d.pair()
	in.d = d.dst(to)
	if form.sources == 3 {
		in.b, in.c = d.src(2, u32), d.src(3, u32)
	}
	d.emit(in)
}

func (d *decoder) activemask() {
	d.require(d.typ() == b32)
	d.args(1)
	d.emit(inst{kind: kindActiveMask, d: d.dst(b32)})
}
