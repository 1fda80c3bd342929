package compiler

import (
	"fmt"
	"go/constant"
	"go/token"
	"slices"
	"strings"
)

// An access is a place in memory or in a variable as C has it: "@" in its text stands for what the
// number of a lane adds, "#" for the number.
type access struct {
	text    string
	t       *typ
	lanes   bool   // a part of a variable that varies: each lane has its own
	shape   shape  // of the indices together
	run     bool   // neighbours in memory: one index is linear, the last
	inside  string // where some lanes are missing: the condition that a run is within bounds
	first   string // the text for the first lane, where a condition tells whether all are neighbours
	near    string // that condition
	guarded bool   // where some lanes are missing, theirs may be beyond
	local   bool   // nobody but this group sees it
}

// at is the text for the first lane.
func (a access) at() string { return strings.ReplaceAll(a.text, "@", "") }

// lane is the text for lane q.
func (a access) lane() string {
	return strings.NewReplacer("@", " + q", "#", "q").Replace(a.text)
}

// access prints the checks of a place.
func (p *lanePrinter) access(e *expr) access {
	switch e.op {
	case opVar:
		p.typ(e.typ)
		return access{
			text: p.name(e.v), t: e.typ, local: e.v.local,
			lanes: !e.v.local && e.v.table == nil && p.a.vars[e.v] == varying,
		}
	case opField:
		a := p.access(e.x)
		a.text += "." + fieldName(e.x.typ, e.n)
		a.t, a.run = e.typ, false
		return a
	case opIndex:
		if e.x.typ.kind == kindSlice {
			s := p.temp(p.expr(e.x))
			if s.shape == varying {
				return p.indexOfMany(s, e)
			}
			return p.index(access{text: s.c + ".p"}, e, s.c+".n")
		}
		a := p.access(e.x)
		a.text += ".v"
		return p.index(a, e, fmt.Sprint(e.x.typ.len))
	}
	v := p.temp(p.expr(e))
	return access{text: v.c, t: e.typ, lanes: v.shape == varying}
}

// index is element e of a.
func (p *lanePrinter) index(a access, e *expr, n string) access {
	i := p.expr(e.y)
	known := e.x.typ.kind == kindArray && inArray(e)
	place := p.place(e.pos)
	a.t = e.typ
	if i.shape == linear && (i.t.size < 8 && i.t.unsigned() || a.shape != uniform) {
		i.c, i.shape = p.varied(i), varying
	}
	switch i.shape {
	case uniform:
		if !known {
			i = p.temp(i)
			p.line("CHECK(%s, %s, %d)", i.c, n, place)
		}
		a.text += "[" + i.c + "]"
		a.run = false
	case linear:
		i = p.temp(i)
		a.run, a.shape = e.typ.scalar(), varying
		a.text += "[" + i.c + "@]"
		if p.mask == "" {
			p.line("CHECK_STRIP(%s, %s, %d)", i.c, n, place)
			return a
		}
		inside := p.next("in")
		a.guarded = true
		p.line("const int %s = INSIDE(%s, %s);", inside, i.c, n)
		p.line("if (!%s) check_strip(c, %s, %s, %s, %d);", inside, p.mask, i.c, n, place)
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
func (p *lanePrinter) lanesIndex(a *access, i laneValue, e *expr, n string, known bool) {
	known = known || !beyond(i.t, e.x.typ) || masked(e.y, e.x.typ)
	before, key := a.text, "["+i.c+"] of "+n+" in "+a.text
	old, again := p.seen[key]
	if again && old.version == p.version {
		*a = old.access
		return
	}
	if !known {
		check := fmt.Sprintf("check_lanes(c, %s, %s, %s, %d);", p.present(), i.c, n, p.place(e.pos))
		v := rootVariable(e.x) // nobody reads a table from end to end
		if i.t.size >= 4 && a.shape == uniform && e.typ.number() && (v == nil || v.table == nil) {
			a.first, a.near = fmt.Sprintf("%s[%s[0]]", before, i.c), p.next("near")
			p.line("const int %s = near(%s, %s);", a.near, i.c, n)
			check = fmt.Sprintf("if (!%s) %s", a.near, check)
		}
		p.line("%s", check)
		if p.mask != "" { // others may have any index
			safe := p.next("t")
			p.line("const %sv %s = sel(%s, %s, (%[1]sv)(0));", i.t.name, safe, p.mask, i.c)
			i.c = safe
		}
	}
	a.run, a.shape = false, varying
	a.text += "[" + i.c + "[#]]"
	p.seen[key] = seenAccess{*a, p.version}
}

// A seenAccess is a place that has been printed, and what had been assigned by then.
type seenAccess struct {
	access
	version int
}

// indexOfMany is element e of slices that differ between lanes.
func (p *lanePrinter) indexOfMany(s laneValue, e *expr) access {
	i := p.temp(laneValue{c: "CV(" + p.varied(p.expr(e.y)) + ", i64)", t: p.l.types.basic(kindInt64), shape: varying})
	p.line("check_many(c, %s, %s, %s.n, %d);", p.present(), i.c, s.c, p.place(e.pos))
	return access{
		text: fmt.Sprintf("((%s *)%s.p[#])[%s[#]]", p.typ(e.typ), s.c, i.c), t: e.typ, shape: varying,
		guarded: p.mask != "",
	}
}

// beyond tells whether an index of type i can be out of range of t.
func beyond(i, t *typ) bool {
	return !(t.kind == kindArray && i.unsigned() && i.size < 4 && t.len >= 1<<i.bits())
}

// masked tells whether index i is what some bits leave, which is within array t.
func masked(i *expr, t *typ) bool {
	if t.kind != kindArray || i.op != opBinary || i.tok != token.AND {
		return false
	}
	for _, x := range []*expr{i.x, i.y} {
		if x.op == opConst {
			n, exact := constant.Int64Val(constant.ToInt(x.value))
			return exact && 0 <= n && n < t.len
		}
	}
	return false
}

// register is a variable or a part of it, without lanes of its own.
func (p *lanePrinter) register(e *expr) laneValue {
	a := p.access(e)
	return laneValue{a.text, e.typ, p.a.vars[rootVariable(e)]}
}

// load is the value of a place.
func (p *lanePrinter) load(e *expr) laneValue {
	if e.op == opVar && !e.v.local && e.v.table == nil {
		p.typ(e.typ)
		if e.v.array && !p.inStrip {
			return p.ofGroup(e.v)
		}
		return laneValue{p.name(e.v), e.typ, p.a.vars[e.v]}
	}
	a := p.access(e)
	v := laneValue{t: e.typ, shape: uniform}
	switch {
	case a.shape == uniform:
		v.c = a.text
		if a.lanes {
			v.shape = varying
		}
		return v
	case a.run && e.typ.scalar() && !a.lanes:
		v.c, v.shape = p.loadRun(a), varying
	default:
		v.c, v.shape = p.gather(a), varying
	}
	return v
}

// ofGroup is the value of a variable of the strips that is the same for the whole group.
func (p *lanePrinter) ofGroup(v *variable) laneValue {
	if !slices.Contains(p.strips, v) {
		p.strips = append(p.strips, v)
	}
	x := laneValue{"strips->" + p.cPrinter.name(v), v.typ, p.a.vars[v]}
	if x.shape == varying {
		x.c, x.shape = p.first(x), uniform
	}
	return x
}

// loadRun loads neighbours in memory.
func (p *lanePrinter) loadRun(a access) string {
	name, elem := p.next("t"), a.t.name
	if a.inside == "" {
		p.line("const %sv %s = load(&%s);", elem, name, a.at())
	} else {
		p.line("%sv %s = 0;", elem, name)
		p.line("if (%s) %s = load(&%s);", a.inside, name, a.at())
		p.line("else { %s%s[q] = %s; }", p.guard(), name, a.lane())
	}
	if a.t.kind == kindBool {
		mask := p.next("t")
		p.line("const mask %s = as_mask(%s != 0);", mask, name)
		return mask
	}
	return name
}

// gather loads a place for each lane.
func (p *lanePrinter) gather(a access) string {
	key := a.t.key + " " + a.text
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
	p.line("%s %s%s;", p.lanesType(a.t), name, zero)
	if a.near != "" && !a.lanes {
		p.line("if (%s) %s = load(&%s); else", a.near, name, a.first)
	}
	p.line("%s{ %s}", guard, p.copyLane(a.t, name, a.lane(), true, a.lanes))
	return name
}

// copyLane copies lane q of type t. to and from tell whether these have lanes, or are one value.
func (p *lanePrinter) copyLane(t *typ, dst, src string, to, from bool) string {
	switch t.kind {
	case kindStruct:
		var b strings.Builder
		for i, f := range t.fields {
			part := "." + fieldName(t, i)
			b.WriteString(p.copyLane(f.typ, dst+part, src+part, to, from))
		}
		return b.String()
	case kindArray:
		i := p.next("k")
		part := ".v[" + i + "]"
		return fmt.Sprintf("for (int %s = 0; %[1]s < %d; %[1]s++) { %[3]s} ", i, t.len,
			p.copyLane(t.elem, dst+part, src+part, to, from))
	}
	if to {
		dst += "[q]"
	}
	if from {
		src += "[q]"
	}
	switch {
	case t.kind != kindBool || to && from:
	case to:
		src = "-(" + src + " != 0)"
	default:
		src = "(" + src + ") != 0"
	}
	return fmt.Sprintf("%s = %s; ", dst, src)
}

// store assigns to a place in memory.
func (p *lanePrinter) store(e *expr, v laneValue) {
	if v.shape == uniform && !isWord(v.c) {
		v = p.temp(v)
	}
	a := p.access(e)
	switch {
	case a.shape == uniform && v.shape == uniform:
		p.line("%s = %s;", a.text, v.c)
	case a.run && e.typ.scalar():
		p.storeRun(a, p.varied(v))
	default:
		p.scatter(a, v)
	}
}

// storeRun stores neighbours in memory: where some lanes are missing and nobody else sees them,
// these get what they had.
func (p *lanePrinter) storeRun(a access, c string) {
	if a.t.kind == kindBool {
		c = "of_mask(" + c + ")"
	}
	switch {
	case p.mask == "":
		p.line("store(&%s, %s);", a.at(), c)
	case a.local:
		p.line("store(&%s, sel(%s, %s, load(&%[1]s)));", a.at(), p.mask, c)
	default:
		p.line("store(%s, &%s, %s);", p.mask, a.at(), c)
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
		p.line("if (%s) { ", a.near)
		p.inner(func() { p.storeRun(near, p.varied(v)) })
		p.line("} else")
	}
	p.line("%s{ %s}", p.guard(), p.copyLane(a.t, a.lane(), v.c, a.lanes, v.shape == varying))
}
