package compiler

import (
	"fmt"
	"slices"
	"strings"
)

// A strip of a row loads what the strips of the rows beside it load too, where the place does not
// depend on y, as in a product: so several rows are taken at once, statement by statement, with one
// load for all. What depends on y has a variable for each row.

// laneRows is how many rows are taken at once.
const laneRows = 4

// A rowShaper finds what depends on the row.
type rowShaper struct {
	a       *laneShaper
	vars    map[*variable]bool
	changed bool
}

// rowsOf is the variables of list, and of the declarations before it, that depend on the row; nil
// if rows are not to be taken at once, since they go different ways or share no loads.
func rowsOf(before, list []*stmt, kept []*variable, a *laneShaper) map[*variable]bool {
	r := &rowShaper{a: a, vars: map[*variable]bool{}}
	for _, v := range kept {
		r.vars[v] = true
	}
	for r.changed = true; r.changed; {
		r.changed = false
		r.list(before, false)
		r.list(list, false)
	}
	if !r.together(list) || !r.shares(list, false) {
		return nil
	}
	return r.vars
}

func (r *rowShaper) list(list []*stmt, dependent bool) {
	for _, s := range list {
		switch s.kind {
		case stmtDecl:
			r.set(s.v, dependent || s.v.array || s.x != nil && r.depends(s.x))
		case stmtAssign:
			if v := rootVariable(s.x); v != nil && !v.local {
				r.set(v, dependent || r.depends(s.y) || r.depends(s.x))
			}
		}
		inner := dependent || s.x != nil && s.kind == stmtIf && r.depends(s.x)
		r.list(s.body, inner)
		r.list(s.els, inner)
		r.list(s.post, inner)
	}
}

func (r *rowShaper) set(v *variable, depends bool) {
	if depends && !r.vars[v] {
		r.vars[v], r.changed = true, true
	}
}

// depends tells whether e may differ between rows.
func (r *rowShaper) depends(e *expr) bool {
	found := false
	e.walk(func(e *expr) {
		switch e.op {
		case opVar:
			found = found || r.vars[e.v] || e.v.array
		case opItem:
			found = found || e.n == 1 && (e.name == "Global" || e.name == "Local")
		case opBuiltin:
			found = found || e.name[0] == 'A'
		}
	})
	return found
}

// together tells whether rows run the same loops, and no jumps but those of all lanes.
func (r *rowShaper) together(list []*stmt) bool {
	ok := true
	walk(list, func(s *stmt) {
		switch s.kind {
		case stmtLoop:
			ok = ok && (s.x == nil || r.a.shape(s.x) == uniform && !r.depends(s.x))
		case stmtBreak, stmtContinue, stmtReturn, stmtBarrier:
			ok = false
		}
	})
	return ok
}

// shares tells whether a loop in list loads a vector from a place that is the same for all rows.
func (r *rowShaper) shares(list []*stmt, loop bool) bool {
	return slices.ContainsFunc(list, func(s *stmt) bool {
		found := false
		s.exprs(func(e *expr) {
			e.walk(func(e *expr) {
				found = found || loop && e.op == opIndex && common(e) && r.a.shape(e) == varying && !r.depends(e)
			})
		})
		inner := loop || s.kind == stmtLoop
		return found || r.shares(s.body, inner) || r.shares(s.els, inner)
	})
}

// eachRow runs f for each of the present rows, or once where there is one.
func (p *lanePrinter) eachRow(f func()) {
	if p.rows == nil {
		f()
		return
	}
	rows, row, y := p.rows, p.row, p.y
	for _, r := range rows {
		p.rows, p.row, p.y = []int{r}, r, fmt.Sprintf("(%s + %d)", p.loops[1], r)
		f()
	}
	p.rows, p.row, p.y = rows, row, y
}

// forRows runs f for each of the present rows, or once for what is the same for all.
func (p *lanePrinter) forRows(dependent bool, f func()) {
	if dependent {
		p.eachRow(f)
		return
	}
	rows := p.rows
	p.rows = nil
	f()
	p.rows = rows
}

// together prints statement s for several rows.
func (p *lanePrinter) together(s *stmt) {
	one := func() { p.stmt(s) }
	switch s.kind {
	case stmtDecl:
		p.forRows(p.dependent[s.v], one)
	case stmtAssign:
		v := rootVariable(s.x)
		p.forRows(v == nil || v.local || p.dependent[v], one)
	case stmtIf:
		p.ifTogether(s)
	case stmtBlock:
		p.block(s)
	case stmtLoop:
		p.uniformLoop(s, func() { p.stmts(s.body) }, func() { p.stmts(s.post) })
	default:
		p.eachRow(one)
	}
}

// ifTogether prints an if: for all rows at once where all lanes of all run it.
func (p *lanePrinter) ifTogether(s *stmt) {
	r := rowShaper{a: p.a, vars: p.dependent}
	each := func() { p.eachRow(func() { p.stmt(s) }) }
	switch {
	case p.a.shape(s.x) == uniform && !r.depends(s.x):
		p.ifStmt(s)
		return
	case p.mask != "" || !p.a.edge(s.x):
		each()
		return
	}
	var all []string
	p.eachRow(func() { all = append(all, "("+p.whole(s.x)+")") })
	p.line("if (%s) {", strings.Join(all, " && "))
	p.copies++
	p.inner(func() { p.stmts(s.body) })
	p.copies--
	p.line("} else {")
	p.inner(each)
	p.line("}")
}
