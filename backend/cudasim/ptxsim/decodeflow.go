package ptxsim

import "slices"

func (d *decoder) bra() error {
	d.take("uni")
	if err := d.args(1); err != nil {
		return err
	}
	return d.branch(inst{kind: kindBranch}, d.stmt.args[0], false)
}

// branch emits a branch whose target fixBranches will set.
func (d *decoder) branch(in inst, to operand, table bool) error {
	if to.kind != operandName || to.not || to.offset != 0 {
		return d.errorf("the target of %s is not a label", d.stmt.name)
	}
	d.branches = append(d.branches, branch{len(d.code.insts), d.scope, d.stmt.line, to.name, table})
	d.emit(in)
	return nil
}

// brx decodes a branch by an index into a list of labels.
func (d *decoder) brx() error {
	if !d.take("idx") {
		return d.unknown()
	}
	d.take("uni")
	if err := d.args(2); err != nil {
		return err
	}
	index, err := d.src(0, u32)
	if err != nil {
		return err
	}
	return d.branch(inst{kind: kindBranchIndex, a: index, x: &extra{}}, d.stmt.args[1], true)
}

// branchTargets takes the list of labels that the label before it names.
func (d *decoder) branchTargets() error {
	if at, ok := d.scope.labels[d.lastLabel]; !ok || at != len(d.code.insts) {
		return d.errorf("a list of branch targets without a label before it")
	}
	names := []string{}
	for _, a := range d.stmt.args {
		if a.kind != operandName {
			return d.errorf("a branch target is not a label")
		}
		names = append(names, a.name)
	}
	d.scope.tables[d.lastLabel] = names
	return nil
}

// call decodes call (results), name, (arguments), where both are variables in .param.
func (d *decoder) call() error {
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
		return d.errorf("an indirect call: only calls of named functions are simulated")
	}
	if len(args) != 2 || args[0].kind != operandName || args[1].kind != operandList {
		return d.errorf("call needs (results), a function's name, and (arguments)")
	}
	name := args[0].name
	fn := d.mod.codes[name]
	switch {
	case name == "__assertfail":
		d.emit(inst{kind: kindTrap, x: &extra{text: "an assertion failed"}})
		return nil
	case fn == nil:
		return d.errorf("call of %s, which is not a function of the module: only calls of named functions are "+
			"simulated", name)
	case !fn.defined || fn.entry:
		return d.errorf("call of %s, which has no body in this module: the simulated device has no such function", name)
	}
	site := &callSite{name: name}
	var err error
	if site.args, err = d.copies(args[1], fn.params); err != nil {
		return err
	}
	if site.results, err = d.copies(results, fn.results); err != nil {
		return err
	}
	d.code.calls = append(d.code.calls, site)
	d.emit(inst{kind: kindCall, x: &extra{call: site}})
	return nil
}

// copies pairs the variables of a call with the function's parameters or results.
func (d *decoder) copies(list operand, formals []Param) ([]paramCopy, error) {
	if len(list.list) != len(formals) {
		return nil, d.errorf("a call with %d values for %d parameters", len(list.list), len(formals))
	}
	var out []paramCopy
	for i, a := range list.list {
		v := d.variable(a.name)
		if a.kind != operandName || v == nil || v.space != spaceParam {
			return nil, d.errorf("value %d of the call is not a variable in .param: others are not simulated", i)
		}
		at := int(v.addr)
		if d.code.entry {
			at -= d.code.formalSize
		}
		if at < 0 || int(v.decl.size) < formals[i].Size {
			return nil, d.errorf("%s cannot be passed for %s, which has %d bytes", a.name, formals[i].Name,
				formals[i].Size)
		}
		out = append(out, paramCopy{int32(at), int32(formals[i].Offset), int32(formals[i].Size)})
	}
	return out, nil
}

func (d *decoder) ret() error {
	d.take("uni")
	d.emit(inst{kind: kindReturn})
	return d.args(0)
}

func (d *decoder) exit() error {
	d.emit(inst{kind: kindExit})
	return d.args(0)
}

func (d *decoder) trap() error {
	d.emit(inst{kind: kindTrap, x: &extra{text: "the kernel stopped itself"}})
	return d.args(0)
}

// bar decodes bar and barrier, and bar.warp.sync.
func (d *decoder) bar() error {
	if d.take("warp") {
		return d.syncWarp()
	}
	d.oneOf("cta")
	x := &extra{}
	in := inst{kind: kindBarrier, x: x}
	op := &x.barrier
	args := d.stmt.args
	var err error
	switch d.oneOf("sync", "arrive", "red") {
	case "arrive":
		op.arrive = true
		if len(args) != 2 {
			return d.args(2)
		}
	case "red":
		if args, err = d.barReduce(&in, args); err != nil {
			return err
		}
	case "":
		return d.unknown()
	}
	d.take("aligned")
	if len(args) < 1 || len(args) > 2 {
		return d.args(1)
	}
	if in.a, err = d.source(args[0], u32); err != nil {
		return err
	}
	if len(args) == 2 {
		op.counted = true
		if in.b, err = d.source(args[1], u32); err != nil {
			return err
		}
	}
	d.emit(in)
	return nil
}

// barReduce decodes the destination and the predicate of bar.red and gives the operands between.
func (d *decoder) barReduce(in *inst, args []operand) ([]operand, error) {
	op := &in.x.barrier
	op.reduce = d.oneOf("popc", "and", "or")
	t, err := d.typ()
	if err != nil || op.reduce == "" || (op.reduce == "popc") != (t == u32) || t != u32 && t != p1 {
		return nil, d.unknown()
	}
	if len(args) < 3 {
		return nil, d.args(3)
	}
	if in.d, err = d.dst(t); err != nil {
		return nil, err
	}
	p := args[len(args)-1]
	op.not, p.not = p.not, false
	in.c, err = d.source(p, p1)
	return args[1 : len(args)-1], err
}

// members decodes the mask of the threads that take part in a warp-level instruction, the last
// operand.
func (d *decoder) members(op warpOp) (x *extra, err error) {
	if op.members, err = d.source(d.stmt.args[len(d.stmt.args)-1], b32); err != nil {
		return nil, err
	}
	return &extra{warp: op}, nil
}

func (d *decoder) syncWarp() error {
	if !d.take("sync") {
		return d.unknown()
	}
	if err := d.args(1); err != nil {
		return err
	}
	x, err := d.members(warpOp{name: "bar"})
	if err == nil {
		d.emit(inst{kind: kindWarp, x: x})
	}
	return err
}

// warp takes .sync, the mode and the type, and decodes the destination, which may be a pair with a
// predicate, and the sources.
func (d *decoder) warp(modes []string, sources int, typeOf func(t typ) (dst, src typ, ok bool)) error {
	if !d.take("sync") {
		return d.unknown()
	}
	op := warpOp{name: d.stmt.name, mode: d.oneOf(modes...)}
	t, err := d.typ()
	if err != nil || op.mode == "" {
		return d.unknown()
	}
	to, from, ok := typeOf(t)
	if !ok {
		return d.unknown()
	}
	op.typ = from
	if err := d.args(sources + 2); err != nil {
		return err
	}
	first := d.stmt.args[1]
	op.not, first.not = first.not, false
	x, err := d.members(op)
	if err != nil {
		return err
	}
	in := inst{kind: kindWarp, x: x}
	x.e = d.unused()
	if pair := d.stmt.args[0]; pair.kind == operandPair {
		second, err := d.destination(pair.list[1], p1)
		if err != nil {
			return err
		}
		x.e = second.index
		d.stmt.args[0] = pair.list[0]
	}
	if in.d, err = d.dst(to); err != nil {
		return err
	}
	if in.a, err = d.source(first, from); err != nil {
		return err
	}
	if sources == 3 {
		if in.b, err = d.src(2, u32); err != nil {
			return err
		}
		if in.c, err = d.src(3, u32); err != nil {
			return err
		}
	}
	d.emit(in)
	return nil
}

func (d *decoder) shfl() error {
	return d.warp([]string{"up", "down", "bfly", "idx"}, 3, func(t typ) (typ, typ, bool) { return t, t, t == b32 })
}

func (d *decoder) vote() error {
	ballot := slices.Contains(d.mods, "ballot")
	return d.warp([]string{"all", "any", "uni", "ballot"}, 1, func(t typ) (typ, typ, bool) {
		return t, p1, ballot && t == b32 || !ballot && t == p1
	})
}

func (d *decoder) match() error {
	return d.warp([]string{"any", "all"}, 1, func(t typ) (typ, typ, bool) { return b32, t, t == b32 || t == b64 })
}

func (d *decoder) redux() error {
	mode := d.peek("add", "min", "max", "and", "or", "xor")
	return d.warp([]string{mode}, 1, func(t typ) (typ, typ, bool) {
		return t, t, t.bits == 32 && t.class != float && atomicOps(mode, t) != nil
	})
}

func (d *decoder) activemask() error {
	t, err := d.typ()
	if err != nil || t != b32 {
		return d.unknown()
	}
	if err := d.args(1); err != nil {
		return err
	}
	reg, err := d.dst(t)
	if err == nil {
		d.emit(inst{kind: kindActiveMask, d: reg})
	}
	return err
}
