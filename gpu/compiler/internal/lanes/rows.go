package lanes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ctext"
	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ir"
)

// A strip of a row loads what the strips of the rows beside it load too, where the place does not
// depend on y, as in a product: so several rows are taken at once, statement by statement, with one
// load for all. What depends on y has a variable for each row.

// A rowShaper finds what depends on the row.
type rowShaper struct {
	a       *laneShaper
	vars    map[*ir.Variable]bool
	depths  map[*ir.Variable]int // how many of the ifs that depend on the row a declaration is in
	changed bool
}

// rowsOf is the variables of list, and of the declarations before it, that depend on the row; nil
// if rows are not to be taken at once, since they go different ways or share no loads.
func rowsOf(before, list []*ir.Stmt, kept []*ir.Variable, a *laneShaper) map[*ir.Variable]bool {
	r := &rowShaper{a: a, vars: map[*ir.Variable]bool{}, depths: map[*ir.Variable]int{}}
	for _, v := range kept {
		r.vars[v] = true
	}
	for r.changed = true; r.changed; {
		r.changed = false
		r.list(before, 0)
		r.list(list, 0)
	}
	if !r.together(list) || !r.shares(list, false) {
		return nil
	}
	return r.vars
}

// list finds what list sets, in so many ifs that depend on the row. Rows that go in there have the
// same in a variable that is declared there, but others keep what they had in one from outside.
func (r *rowShaper) list(list []*ir.Stmt, depth int) {
	for _, s := range list {
		switch s.Kind {
		case ir.StmtDecl:
			r.depths[s.Var] = depth
			r.set(s.Var, s.Var.Array || s.X != nil && r.depends(s.X))
		case ir.StmtAssign:
			if v := ir.RootVariable(s.X); v != nil && !v.Local {
				r.set(v, depth > r.depths[v] || r.depends(s.Y) || r.depends(s.X))
			}
		}
		inner := depth
		if s.X != nil && s.Kind == ir.StmtIf && r.depends(s.X) {
			inner++
		}
		r.list(s.Body, inner)
		r.list(s.Else, inner)
		r.list(s.Post, inner)
	}
}

func (r *rowShaper) set(v *ir.Variable, depends bool) {
	if depends && !r.vars[v] {
		r.vars[v], r.changed = true, true
	}
}

// depends tells whether e may differ between rows.
func (r *rowShaper) depends(e *ir.Expr) bool {
	return e.Any(func(e *ir.Expr) bool {
		switch e.Op {
		case ir.OpVar:
			return r.vars[e.Var] || e.Var.Array
		case ir.OpItem:
			return e.N == 1 && (e.Name == "Global" || e.Name == "Local")
		}
		return e.Atomic()
	})
}

// together tells whether rows run the same loops, and no jumps but those of all lanes.
func (r *rowShaper) together(list []*ir.Stmt) bool {
	return !ir.Any(list, func(s *ir.Stmt) bool {
		switch s.Kind {
		case ir.StmtLoop:
			return s.X != nil && (r.a.shape(s.X) != uniform || r.depends(s.X))
		case ir.StmtBreak, ir.StmtContinue, ir.StmtReturn, ir.StmtBarrier:
			return true
		}
		return false
	})
}

// shares tells whether a loop in list loads a vector from a place that is the same for all rows.
func (r *rowShaper) shares(list []*ir.Stmt, loop bool) bool {
	shared := func(e *ir.Expr) bool {
		return e.Op == ir.OpIndex && ctext.Common(e) && r.a.shape(e) == varying && !r.depends(e)
	}
	return slices.ContainsFunc(list, func(s *ir.Stmt) bool {
		found := false
		s.Exprs(func(e *ir.Expr) { found = found || loop && e.Any(shared) })
		inner := loop || s.Kind == ir.StmtLoop
		return found || r.shares(s.Body, inner) || r.shares(s.Else, inner)
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
func (p *lanePrinter) together(s *ir.Stmt) {
	one := func() { p.stmt(s) }
	switch s.Kind {
	case ir.StmtDecl:
		p.forRows(p.dependent[s.Var], one)
	case ir.StmtAssign:
		v := ir.RootVariable(s.X)
		p.forRows(v == nil || v.Local || p.dependent[v], one)
	case ir.StmtIf:
		p.ifTogether(s)
	case ir.StmtBlock:
		p.block(s)
	case ir.StmtLoop:
		p.uniformLoop(s, func() { p.stmts(s.Body) }, func() { p.stmts(s.Post) })
	default:
		p.eachRow(one)
	}
}

// ifTogether prints an if: for all rows at once where all lanes of all run it.
func (p *lanePrinter) ifTogether(s *ir.Stmt) {
	r := rowShaper{a: p.a, vars: p.dependent}
	each := func() { p.eachRow(func() { p.stmt(s) }) }
	switch {
	case p.a.shape(s.X) == uniform && !r.depends(s.X):
		p.ifStmt(s)
		return
	case p.mask != "" || !p.a.edge(s.X):
		each()
		return
	}
	var all []string
	p.eachRow(func() { all = append(all, "("+p.whole(s.X)+")") })
	p.Line("if (%s) {", strings.Join(all, " && "))
	p.copies++
	p.inner(func() { p.stmts(s.Body) })
	p.copies--
	p.Line("} else {")
	p.inner(each)
	p.Line("}")
}
