package lanes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ir"
)

// An access is a place in memory or in a variable as C has it: "@" in its text stands for what the
// number of a lane adds, "#" for the number.
type access struct {
	text    string
	t       *ir.Type
	lanes   bool   // a part of a variable that varies: each lane has its own
	shape   shape  // of the indices together
	run     bool   // neighbours in memory: one index is linear, the last
	inside  string // where some lanes are missing: the condition that a run is within bounds
	first   string // the text for the first lane, where a condition tells whether all are neighbours
	near    string // that condition
	guarded bool   // where some lanes are missing, theirs may be beyond
	row     string // the number of the row of a short table that all lanes find, whatever it has for them
	local   bool   // nobody but this group sees it
}

// at is the text for the first lane.
func (a access) at() string { return strings.ReplaceAll(a.text, "@", "") }

// lane is the text for lane q.
func (a access) lane() string {
	return strings.NewReplacer("@", " + q", "#", "q").Replace(a.text)
}

// access prints the checks of a place.
func (p *lanePrinter) access(e *ir.Expr) access {
	switch e.Op {
	case ir.OpVar:
		p.Type(e.Type)
		name := p.name(e.Var)
		if e.Var.Array && !p.inStrip {
			name = p.ofGroup(e.Var)
		}
		return access{
			text: name, t: e.Type, local: e.Var.Local,
			lanes: !e.Var.Local && e.Var.Table == nil && p.a.vars[e.Var] == varying,
		}
	case ir.OpField:
		a := p.access(e.X)
		a.text += "." + ir.FieldName(e.X.Type, e.N)
		a.t, a.run = e.Type, false
		return a
	case ir.OpIndex:
		if e.X.Type.Kind == ir.KindSlice {
			s := p.temp(p.expr(e.X))
			if s.shape == varying {
				return p.indexOfMany(s, e)
			}
			return p.index(access{text: s.c + ".p"}, e, s.c+".n")
		}
		a := p.access(e.X)
		a.text += ".v"
		return p.index(a, e, fmt.Sprint(e.X.Type.Len))
	}
	v := p.temp(p.expr(e))
	return access{text: v.c, t: e.Type, lanes: v.shape == varying}
}

// index is element e of a.
func (p *lanePrinter) index(a access, e *ir.Expr, n string) access {
	i := p.expr(e.Y)
	known := p.a.inArray(e)
	place := p.Place(e.Pos)
	a.t = e.Type
	if i.shape == linear && (i.t.Size < 8 && i.t.Unsigned() || a.shape != uniform) {
		i.c, i.shape = p.varied(i), varying
	}
	switch i.shape {
	case uniform:
		if !known {
			i = p.temp(i)
			p.Line("CHECK(%s, %s, %d)", i.c, n, place)
		}
		a.text += "[" + i.c + "]"
		a.run = false
	case linear:
		i = p.temp(i)
		a.run, a.shape = e.Type.Scalar(), varying
		a.text += "[" + i.c + "@]"
		if p.mask == "" {
			p.Line("CHECK_STRIP(%s, %s, %d)", i.c, n, place)
			return a
		}
		inside := p.next("in")
		a.guarded = true
		p.Line("const int %s = INSIDE(%s, %s);", inside, i.c, n)
		p.Line("if (!%s) check_strip(c, %s, %s, %s, %d);", inside, p.mask, i.c, n, place)
		if !a.local { // which has room around it
			a.inside = inside
		}
	default:
		p.lanesIndex(&a, p.temp(i), e, n, known)
	}
	return a
}

// lanesIndex is an index of which each lane has its own. It is checked once, where nothing is
// assigned in between.
func (p *lanePrinter) lanesIndex(a *access, i laneValue, e *ir.Expr, n string, known bool) {
	known = known || !beyond(i.t, e.X.Type)
	before, key := a.text, "["+i.c+"] of "+n+" in "+a.text
	old, again := p.seen[key]
	if again && old.version == p.version {
		*a = old.access
		return
	}
	if !known {
		check := fmt.Sprintf("check_lanes(c, %s, %s, %s, %d);", p.present(), i.c, n, p.Place(e.Pos))
		v := ir.RootVariable(e.X) // nobody reads a table from end to end
		if i.t.Size >= 4 && a.shape == uniform && e.Type.Number() && (v == nil || v.Table == nil) {
			a.first, a.near = fmt.Sprintf("%s[%s[0]]", before, i.c), p.next("near")
			p.Line("const int %s = near(%s, %s);", a.near, i.c, n)
			check = fmt.Sprintf("if (!%s) %s", a.near, check)
		}
		p.Line("%s", check)
		if p.mask != "" { // others may have any index
			safe := p.next("t")
			p.Line("const %sv %s = sel(%s, %s, (%[1]sv)(0));", i.t.Name, safe, p.mask, i.c)
			i.c = safe
		}
	}
	a.row = ""
	if known && a.shape == uniform && i.t.Size == 8 && shortTable(e.X) {
		a.row = i.c
	}
	a.run, a.shape = false, varying
	if i.t.Size < 4 && p.mask == "" {
		a.text += "[lane(" + i.c + ", #)]"
	} else {
		a.text += "[" + i.c + "[#]]"
	}
	p.seen[key] = seenAccess{*a, p.version}
}

// A seenAccess is a place that has been printed, and what had been assigned by then.
type seenAccess struct {
	access
	version int
}

// indexOfMany is element e of slices that differ between lanes.
func (p *lanePrinter) indexOfMany(s laneValue, e *ir.Expr) access {
	i64 := p.Program.Types.Basic(ir.KindInt64)
	i := p.temp(laneValue{c: "CV(" + p.varied(p.expr(e.Y)) + ", i64)", t: i64, shape: varying})
	p.Line("check_many(c, %s, %s, %s.n, %d);", p.present(), i.c, s.c, p.Place(e.Pos))
	return access{
		text: fmt.Sprintf("((%s *)%s.p[#])[%s[#]]", p.Type(e.Type), s.c, i.c), t: e.Type, shape: varying,
		guarded: p.mask != "",
	}
}

// shortTable tells whether e is a table of so many rows that permutations find one at once, as FIND
// does.
func shortTable(e *ir.Expr) bool {
	return e.Op == ir.OpVar && e.Var.Table != nil && e.Type.Len == 64
}

// beyond tells whether an index of type i can be out of range of t.
func beyond(i, t *ir.Type) bool {
	return !(t.Kind == ir.KindArray && i.Unsigned() && i.Size < 4 && t.Len >= 1<<i.Bits())
}

// register is a variable or a part of it, without lanes of its own.
func (p *lanePrinter) register(e *ir.Expr) laneValue {
	a := p.access(e)
	return laneValue{a.text, e.Type, p.a.vars[ir.RootVariable(e)]}
}

// load is the value of a place.
func (p *lanePrinter) load(e *ir.Expr) laneValue {
	if e.Op == ir.OpVar && !e.Var.Local && e.Var.Table == nil {
		if x := p.anew(e.Var); x != nil {
			p.Type(e.Type)
			return p.expr(x)
		}
		if p.inStrip || !e.Var.Array {
			return p.register(e)
		}
	}
	a := p.access(e)
	v := laneValue{t: e.Type, shape: uniform}
	switch {
	case a.shape == uniform:
		v.c = a.text
		switch {
		case a.lanes && p.inStrip:
			v.shape = varying
		case a.lanes: // a value of the whole group
			v.c = p.first(v)
		}
		return v
	case a.run && e.Type.Scalar() && !a.lanes:
		v.c, v.shape = p.loadRun(a), varying
	default:
		v.c, v.shape = p.gather(a), varying
	}
	return v
}

// ofGroup is a variable of the strips that is the same for the whole group: the first strip's.
func (p *lanePrinter) ofGroup(v *ir.Variable) string {
	if !slices.Contains(p.strips, v) {
		p.strips = append(p.strips, v)
	}
	return "strips->" + p.Printer.Name(v)
}

// loadRun loads neighbours in memory.
func (p *lanePrinter) loadRun(a access) string {
	name, elem := p.next("t"), a.t.Name
	p.ahead(a)
	if a.inside == "" {
		p.Line("const %sv %s = load(&%s);", elem, name, a.at())
	} else {
		p.Line("const %sv %s = %s ? load(&%s) : load(%s, &%[4]s);", elem, name, a.inside, a.at(), p.mask)
	}
	if a.t.Kind == ir.KindBool {
		mask := p.next("t")
		p.Line("const mask %s = as_mask(%s != 0);", mask, name)
		return mask
	}
	return name
}

// ahead brings what the group, or the next one, comes to later into the caches, where it is known:
// processors foresee no memory that is read by tiles, or in large steps. A loop of many turns comes
// to it itself, or too late for this to help.
func (p *lanePrinter) ahead(a access) {
	if p.beyond != "" && p.long == 0 && !a.local {
		p.Line("AHEAD(&%s, %s)", a.at(), p.beyond)
	}
}

// gather loads a place for each lane.
func (p *lanePrinter) gather(a access) string {
	key := a.t.Key + " " + a.text
	if old, again := p.seen[key]; again && old.version == p.version && !a.guarded {
		return old.text
	}
	name := p.next("t")
	p.seen[key] = seenAccess{access{text: name}, p.version}
	guard := "LANES "
	zero := ""
	if a.guarded {
		guard, zero = p.guard(), " = {0}"
	}
	p.Line("%s %s%s;", p.lanesType(a.t), name, zero)
	if a.row != "" && a.t.Kind == ir.KindFloat64 {
		p.Line("FIND(%s, %s, %s)", name, strings.Replace(a.text, a.row+"[#]", "row", 1), a.row)
		return name
	}
	if a.near != "" && !a.lanes {
		p.Line("if (%s) %s = load(&%s); else", a.near, name, a.first)
	}
	each := p.copyLane(a.t, name, a.lane(), true, a.lanes)
	p.Line("%s{ %s}", guard, each)
	return name
}

// copyLane copies lane q of type t. to and from tell whether these have lanes, or are one value.
func (p *lanePrinter) copyLane(t *ir.Type, dst, src string, to, from bool) string {
	switch t.Kind {
	case ir.KindStruct:
		var b strings.Builder
		for i, f := range t.Fields {
			part := "." + ir.FieldName(t, i)
			b.WriteString(p.copyLane(f.Type, dst+part, src+part, to, from))
		}
		return b.String()
	case ir.KindArray:
		i := p.next("k")
		part := ".v[" + i + "]"
		return fmt.Sprintf("for (int %s = 0; %[1]s < %d; %[1]s++) { %[3]s} ", i, t.Len,
			p.copyLane(t.Elem, dst+part, src+part, to, from))
	}
	if to { // where q is not known, as memory: as vectors, clang would read and write all for each lane
		elem := t.Name
		if t.Kind == ir.KindBool {
			elem = "MASK"
		}
		dst = fmt.Sprintf("((%s *)&%s)[q]", elem, dst)
	}
	if from {
		src += "[q]"
	}
	switch {
	case t.Kind != ir.KindBool || to && from:
	case to:
		src = "-(" + src + " != 0)"
	default:
		src = "(" + src + ") != 0"
	}
	return fmt.Sprintf("%s = %s; ", dst, src)
}

// store assigns to a place in memory.
func (p *lanePrinter) store(e *ir.Expr, v laneValue) {
	if v.shape == uniform && !isWord(v.c) {
		v = p.temp(v)
	}
	a := p.access(e)
	switch {
	case a.shape == uniform && v.shape == uniform:
		p.Line("%s = %s;", a.text, v.c)
	case a.run && e.Type.Scalar():
		p.storeRun(a, p.varied(v))
	default:
		p.scatter(a, v)
	}
}

// storeRun stores neighbours in memory: where some lanes are missing and nobody else sees them,
// these get what they had.
func (p *lanePrinter) storeRun(a access, c string) {
	if a.t.Kind == ir.KindBool {
		c = "of_mask(" + c + ")"
	}
	p.ahead(a)
	switch {
	case p.mask == "":
		p.Line("store(&%s, %s);", a.at(), c)
	case a.local:
		p.Line("store(&%s, sel(%s, %s, load(&%[1]s)));", a.at(), p.mask, c)
	default:
		p.Line("store(%s, &%s, %s);", p.mask, a.at(), c)
	}
}

// scatter stores lane by lane.
func (p *lanePrinter) scatter(a access, v laneValue) {
	if v.shape == linear {
		v.c, v.shape = p.varied(v), varying
	}
	v = p.temp(v)
	if a.near != "" && !a.lanes {
		near := a
		near.text = a.first
		p.Line("if (%s) { ", a.near)
		p.inner(func() { p.storeRun(near, p.varied(v)) })
		p.Line("} else")
	}
	each := p.copyLane(a.t, a.lane(), v.c, a.lanes, v.shape == varying)
	if p.mask != "" && !a.lanes { // lanes that clang knows are in registers, others in memory
		p.Line("if (!any(~%s)) LANES { %s} else", p.mask, each)
	}
	p.Line("%s{ %s}", p.guard(), each)
}
