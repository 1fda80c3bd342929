package compiler

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
)

func (f *frame) block(b *ast.BlockStmt) { f.stmts(b.List) }

// stmts lowers statements; after one that has a problem it goes on with the next.
func (f *frame) stmts(list []ast.Stmt) {
	for _, s := range list {
		nested, jumps := f.nested, len(f.jumps)
		if !recoverable(func() { f.stmt(s, "") }) {
			f.nested, f.jumps = nested, f.jumps[:jumps]
			f.bindFailed(s)
		}
	}
}

// bindFailed gives the variables that a statement with a problem would have declared a type, so
// that each problem is reported once.
func (f *frame) bindFailed(s ast.Stmt) {
	names := []ast.Expr{}
	switch s := s.(type) {
	case *ast.AssignStmt:
		names = s.Lhs
	case *ast.DeclStmt:
		if d, ok := s.Decl.(*ast.GenDecl); ok {
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					for _, n := range v.Names {
						names = append(names, n)
					}
				}
			}
		}
	}
	for _, n := range names {
		if id, ok := n.(*ast.Ident); ok {
			if o := f.pkg.info.Defs[id]; o != nil {
				if t, err := f.types.of(f.close(o.Type()), spaceGlobal); err == nil {
					f.bind[o] = binding{v: f.fn.newVar(id.Name, t)}
				} else {
					f.bind[o] = binding{v: f.fn.newVar(id.Name, f.types.basic(kindInt64))}
				}
			}
		}
	}
}

// inside lowers a part that may run several times, or not at all.
func (f *frame) inside(g func()) []*stmt {
	f.nested++
	defer func() { f.nested-- }()
	return f.collect(g)
}

func (f *frame) stmt(s ast.Stmt, label string) {
	switch s := s.(type) {
	case *ast.EmptyStmt:
	case *ast.ExprStmt:
		if c, ok := ast.Unparen(s.X).(*ast.CallExpr); ok {
			f.call(c)
			return
		}
		f.refuse(s.Pos(), "a value that nothing uses; leave it out")
	case *ast.AssignStmt:
		f.assign(s)
	case *ast.IncDecStmt:
		x := f.expr(s.X)
		tok := token.ADD
		if s.Tok == token.DEC {
			tok = token.SUB
		}
		f.update(s.Pos(), s.X, x, tok, f.constantOf(s.Pos(), constant.MakeInt64(1), x.typ))
	case *ast.DeclStmt:
		f.declStmt(s.Decl)
	case *ast.BlockStmt:
		f.labelled(s, label)
	case *ast.IfStmt:
		f.ifStmt(s)
	case *ast.ForStmt:
		f.forStmt(s, label)
	case *ast.RangeStmt:
		f.rangeStmt(s, label)
	case *ast.SwitchStmt:
		f.switchStmt(s, label)
	case *ast.LabeledStmt:
		f.labelledStmt(s)
	case *ast.BranchStmt:
		f.branch(s)
	case *ast.ReturnStmt:
		f.returnStmt(s)
	case *ast.GoStmt:
		f.refuse(s.Pos(), "a kernel has no goroutines; start more work-items")
	case *ast.DeferStmt:
		f.refuse(s.Pos(), "a kernel has no defer; call the function at the end")
	case *ast.SendStmt, *ast.SelectStmt:
		f.refuse(s.Pos(), "a kernel has no channels; work-items share local memory and meet at a barrier")
	case *ast.TypeSwitchStmt:
		f.refuse(s.Pos(), "a kernel has no interfaces; use a type parameter")
	default:
		f.refuse(s.Pos(), "a kernel has no statements of this kind; use if, for and switch")
	}
}

// labelled is a block in braces, which a labelled break may leave.
func (f *frame) labelled(s *ast.BlockStmt, label string) {
	b := &stmt{kind: stmtBlock, pos: s.Pos()}
	if label != "" {
		f.jumps = append(f.jumps, jump{label: label, exit: b})
		defer f.unjump()
	}
	b.body = f.collect(func() { f.block(s) })
	f.emit(b)
}

func (f *frame) unjump() { f.jumps = f.jumps[:len(f.jumps)-1] }

func (f *frame) labelledStmt(s *ast.LabeledStmt) {
	switch s.Stmt.(type) {
	case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.BlockStmt:
		f.stmt(s.Stmt, s.Label.Name)
	default:
		f.stmt(s.Stmt, "")
	}
}

func (f *frame) assign(s *ast.AssignStmt) {
	if s.Tok != token.ASSIGN && s.Tok != token.DEFINE {
		list := f.inOrder(s.Lhs[0], s.Rhs[0])
		f.update(s.Pos(), s.Lhs[0], list[0], assignOps[s.Tok], list[1])
		return
	}
	if len(s.Lhs) == 1 {
		f.assignOne(s.Pos(), s.Lhs[0], s.Rhs[0])
		return
	}
	places := f.places(s.Lhs)
	values := f.values(s, places)
	for i, l := range s.Lhs {
		if places[i] != nil {
			f.store(l.Pos(), places[i], values[i])
		} else if id := l.(*ast.Ident); id.Name != "_" {
			f.bindNew(id, values[i], f.pkg.info)
		}
	}
}

// places is what stands left in an assignment, with slices and indices evaluated: nil for the blank
// and for new variables.
func (f *frame) places(left []ast.Expr) []*expr {
	old := make([]ast.Expr, len(left))
	for i, l := range left {
		if id, ok := l.(*ast.Ident); !ok || id.Name != "_" && f.pkg.info.Defs[id] == nil {
			old[i] = l
		}
	}
	places := f.inOrder(old...)
	slices := false // assigned themselves
	for _, p := range places {
		slices = slices || p != nil && p.typ.hasReference()
	}
	for i, p := range places {
		if p != nil {
			places[i] = f.fixed(p, slices)
		}
	}
	return places
}

// values is the right sides of an assignment with several left ones. Where old variables are
// assigned, all are evaluated first.
func (f *frame) values(s *ast.AssignStmt, places []*expr) []*expr {
	if len(s.Rhs) != len(s.Lhs) {
		c, ok := ast.Unparen(s.Rhs[0]).(*ast.CallExpr)
		if !ok {
			f.refuse(s.Pos(), "a kernel has no assignments of this kind; it has no maps, channels and interfaces")
		}
		return f.call(c)
	}
	old := false
	for _, p := range places {
		old = old || p != nil
	}
	var values []*expr
	for i, r := range s.Rhs {
		var v *expr
		f.after(values, func() { v = f.value(r) })
		switch {
		case v == nil && places[i] != nil:
			f.refuse(r.Pos(), "a function as a value; declare a new variable for it with :=")
		case v == nil:
			f.bindFunc(s.Lhs[i].(*ast.Ident), r)
		case places[i] != nil:
			v = f.snapshot(f.assignable(r.Pos(), v, places[i].typ))
		case old:
			v = f.snapshot(v)
		}
		values = append(values, v)
	}
	return values
}

// value is an expression that a variable is to have: also a literal, in place. It is nil for a
// function.
func (f *frame) value(e ast.Expr) *expr {
	switch x := ast.Unparen(e).(type) {
	case *ast.CompositeLit:
		return f.composite(x)
	case *ast.FuncLit:
		return nil
	}
	return f.expr(e)
}

func (f *frame) bindFunc(id *ast.Ident, e ast.Expr) {
	o := f.pkg.info.Defs[id]
	if o == nil {
		if id.Name == "_" {
			return
		}
		f.refuse(e.Pos(), "a function as a value; declare a new variable for it with :=")
	}
	if f.assigned[o] {
		f.refuse(e.Pos(), "function %s is assigned again; use two functions", id.Name)
	}
	f.bind[o] = binding{lit: ast.Unparen(e).(*ast.FuncLit), f: f}
}

func (f *frame) assignOne(pos token.Pos, l, r ast.Expr) {
	id, isName := l.(*ast.Ident)
	if isName && (id.Name == "_" || f.pkg.info.Defs[id] != nil) {
		v := f.value(r)
		switch {
		case v == nil:
			f.bindFunc(id, r)
		case id.Name == "_":
			f.discard(v)
		default:
			f.bindNew(id, v, f.pkg.info)
		}
		return
	}
	x, v := []*expr{f.expr(l)}, (*expr)(nil)
	f.after(x, func() { v = f.value(r) })
	if v == nil {
		f.refuse(r.Pos(), "a function as a value; declare a new variable for it with :=")
	}
	f.store(pos, x[0], v)
}

// discard evaluates e for what it does.
func (f *frame) discard(e *expr) {
	if e.op != opConst {
		f.temp(e)
	}
}

// bindNew declares the variable that id names, with value x. A pointer that never changes is only
// another name for what it leads to, where that is fixed.
func (f *frame) bindNew(id *ast.Ident, x *expr, info *types.Info) {
	o := f.pkg.info.Defs[id]
	if o == nil || id.Name == "_" {
		f.discard(x)
		return
	}
	if x.typ.kind == kindItem {
		f.bind[o] = binding{e: x}
		return
	}
	if x.op == opConst { // the variable may have another type
		if t, err := f.types.of(f.close(o.Type()), spacePrivate); err == nil && t.scalar() {
			x = f.assignable(id.Pos(), x, t)
		}
	}
	if x.typ.kind == kindPointer {
		if f.assigned[o] {
			f.refuse(id.Pos(), "pointer %s is assigned again, or its address is taken; use two pointers", id.Name)
		}
		if x.op == opAddr && x.x.op == opVar {
			if v := x.x.v; v.local && v.table == nil && strings.HasPrefix(v.name, "shared") {
				v.name = f.fn.newVar(id.Name, v.typ).name
			}
			f.bind[o] = binding{e: x}
			return
		}
	}
	f.bind[o] = binding{v: f.declare(id.Pos(), id.Name, x.typ, x)}
}

// fixed is place x with its indices evaluated, and its slices where variables that hold some may
// change.
func (f *frame) fixed(x *expr, slices bool) *expr {
	c := *x
	switch {
	case x.op == opIndex && x.x.typ.kind == kindSlice:
		if slices || x.x.op != opVar {
			c.x = f.snapshot(x.x)
		}
		c.y = f.snapshot(x.y)
	case x.op == opIndex:
		c.x, c.y = f.fixed(x.x, slices), f.snapshot(x.y)
	case x.op == opField:
		c.x = f.fixed(x.x, slices)
	}
	return &c
}

// store is x = v.
func (f *frame) store(pos token.Pos, x, v *expr) {
	switch {
	case !x.place():
		f.refuse(pos, "an assignment to what is no variable; assign to one")
	case x.typ.kind == kindPointer:
		f.refuse(pos, "a pointer is assigned again; use two pointers")
	}
	v = f.assignable(pos, v, x.typ)
	if v.op == opMake || v.op == opZero {
		v = f.temp(v)
	}
	f.emit(&stmt{kind: stmtAssign, pos: pos, x: x, y: v})
}

var assignOps = map[token.Token]token.Token{
	token.ADD_ASSIGN: token.ADD, token.SUB_ASSIGN: token.SUB, token.MUL_ASSIGN: token.MUL, token.QUO_ASSIGN: token.QUO,
	token.REM_ASSIGN: token.REM, token.AND_ASSIGN: token.AND, token.OR_ASSIGN: token.OR, token.XOR_ASSIGN: token.XOR,
	token.SHL_ASSIGN: token.SHL, token.SHR_ASSIGN: token.SHR, token.AND_NOT_ASSIGN: token.AND_NOT,
}

// update is x tok= y.
func (f *frame) update(pos token.Pos, e ast.Expr, x *expr, tok token.Token, y *expr) {
	if !x.place() {
		f.refuse(e.Pos(), "an assignment to what is no variable; assign to one")
	}
	var v *expr
	if tok == token.SHL || tok == token.SHR {
		v = f.shift(pos, tok, x, y)
	} else {
		v = f.operate(pos, tok, x, f.assignable(pos, y, x.typ))
	}
	f.emit(&stmt{kind: stmtAssign, pos: pos, x: x, y: v})
}

func (f *frame) declStmt(d ast.Decl) {
	g := d.(*ast.GenDecl)
	if g.Tok != token.VAR {
		return // constants and types are found where they are used
	}
	for _, s := range g.Specs {
		s := s.(*ast.ValueSpec)
		if len(s.Values) > 0 && len(s.Values) != len(s.Names) {
			lhs := make([]ast.Expr, len(s.Names))
			for i, n := range s.Names {
				lhs[i] = n
			}
			f.assign(&ast.AssignStmt{Lhs: lhs, TokPos: s.Pos(), Tok: token.DEFINE, Rhs: s.Values})
			continue
		}
		var values []*expr
		for i, e := range s.Values {
			v := f.value(e)
			if v == nil {
				f.bindFunc(s.Names[i], e)
			} else if len(s.Values) > 1 {
				v = f.snapshot(v)
			}
			values = append(values, v)
		}
		for i, n := range s.Names {
			switch {
			case values == nil:
				f.declareZero(n)
			case values[i] != nil:
				f.bindNew(n, values[i], f.pkg.info)
			}
		}
	}
}

// declareZero is var x T.
func (f *frame) declareZero(id *ast.Ident) {
	o := f.pkg.info.Defs[id]
	if o == nil {
		return
	}
	t := f.irType(id.Pos(), o.Type(), spaceGlobal)
	if t.kind == kindPointer || t.kind == kindSlice {
		f.refuse(id.Pos(), "%s, without a value, leads nowhere; declare it where it has one", id.Name)
	}
	f.bind[o] = binding{v: f.declare(id.Pos(), id.Name, t, nil)}
}

func (f *frame) ifStmt(s *ast.IfStmt) {
	if s.Init != nil {
		b := &stmt{kind: stmtBlock, pos: s.Pos()}
		b.body = f.collect(func() {
			f.stmt(s.Init, "")
			f.ifElse(s)
		})
		f.emit(b)
		return
	}
	f.ifElse(s)
}

func (f *frame) ifElse(s *ast.IfStmt) {
	r := &stmt{kind: stmtIf, pos: s.Pos(), x: f.expr(s.Cond)}
	r.body = f.inside(func() { f.block(s.Body) })
	if s.Else != nil {
		r.els = f.inside(func() {
			if b, ok := s.Else.(*ast.BlockStmt); ok {
				f.block(b)
			} else {
				f.stmt(s.Else, "")
			}
		})
	}
	f.emit(r)
}

// forStmt lowers a loop; its variables are in a block around it.
func (f *frame) forStmt(s *ast.ForStmt, label string) {
	if s.Init == nil {
		f.loop(s, label)
		return
	}
	b := &stmt{kind: stmtBlock, pos: s.Pos()}
	b.body = f.collect(func() {
		f.stmt(s.Init, "")
		f.loop(s, label)
	})
	f.emit(b)
}

func (f *frame) loop(s *ast.ForStmt, label string) {
	r := &stmt{kind: stmtLoop, pos: s.Pos()}
	var before []*stmt
	if s.Cond != nil {
		before = f.inside(func() { r.x = f.expr(s.Cond) })
	}
	if len(before) > 0 {
		exit := &stmt{kind: stmtBreak, pos: s.Cond.Pos(), target: r}
		before = append(before, &stmt{kind: stmtIf, pos: s.Cond.Pos(), x: not(r.x), body: []*stmt{exit}})
		r.x = nil
	}
	var post []*stmt
	if s.Post != nil {
		post = f.inside(func() { f.stmt(s.Post, "") })
	}
	f.loopBody(r, label, before, post, func() { f.block(s.Body) })
	f.emit(r)
}

func not(x *expr) *expr {
	if x.op == opUnary && x.tok == token.NOT {
		return x.x
	}
	return &expr{op: opUnary, typ: x.typ, pos: x.pos, tok: token.NOT, x: x}
}

// loopBody fills in the body of loop r. A post that is not one simple assignment comes behind a
// block around the body, which continue leaves.
func (f *frame) loopBody(r *stmt, label string, before, post []*stmt, body func()) {
	j := jump{label: label, exit: r, again: r}
	simple := len(post) == 0 || len(post) == 1 && post[0].kind == stmtAssign
	var inner *stmt
	if !simple {
		inner = &stmt{kind: stmtBlock, pos: r.pos}
		j.again, j.againExits = inner, true
	}
	f.jumps = append(f.jumps, j)
	list := f.inside(body)
	f.unjump()
	if simple {
		r.body, r.post = append(before, list...), post
		return
	}
	inner.body = list
	r.body = append(append(before, inner), post...)
}

func (f *frame) switchStmt(s *ast.SwitchStmt, label string) {
	b := &stmt{kind: stmtBlock, pos: s.Pos()}
	f.jumps = append(f.jumps, jump{label: label, exit: b})
	b.body = f.collect(func() {
		if s.Init != nil {
			f.stmt(s.Init, "")
		}
		var tag *expr
		if s.Tag != nil {
			tag = f.snapshot(f.expr(s.Tag))
		}
		f.cases(s.Body.List, tag)
	})
	f.unjump()
	f.emit(b)
}

// cases lowers the clauses of a switch to a chain of conditions. The conditions of a clause are
// evaluated only if those before are false.
func (f *frame) cases(clauses []ast.Stmt, tag *expr) {
	def := -1
	var chain func(i int)
	chain = func(i int) {
		for i < len(clauses) && clauses[i].(*ast.CaseClause).List == nil {
			def = i
			i++
		}
		if i == len(clauses) {
			if def >= 0 {
				f.clause(clauses, def)
			}
			return
		}
		c := clauses[i].(*ast.CaseClause)
		r := &stmt{kind: stmtIf, pos: c.Pos(), x: f.caseCond(c, tag)}
		r.body = f.inside(func() { f.clause(clauses, i) })
		r.els = f.inside(func() { chain(i + 1) })
		f.emit(r)
	}
	chain(0)
}

// caseCond is whether one of a clause's values is the tag.
func (f *frame) caseCond(c *ast.CaseClause, tag *expr) *expr {
	var cond *expr
	for _, e := range c.List {
		var one *expr
		extra := f.collect(func() {
			one = f.expr(e)
			if tag != nil {
				x, y := tag, one
				if y.op == opConst && y.typ != x.typ {
					y = f.constantOf(y.pos, y.value, x.typ)
				} else if x.op == opConst && y.typ != x.typ {
					x = f.constantOf(x.pos, x.value, y.typ)
				}
				one = f.equal(e.Pos(), token.EQL, x, y)
			}
		})
		switch {
		case cond == nil:
			*f.out = append(*f.out, extra...)
			cond = one
		case len(extra) == 0:
			cond = f.shallow(&expr{op: opBinary, typ: one.typ, pos: e.Pos(), tok: token.LOR, x: cond, y: one})
		default:
			t := varExpr(f.declare(e.Pos(), "", one.typ, cond), e.Pos())
			extra = append(extra, &stmt{kind: stmtAssign, pos: e.Pos(), x: t, y: one})
			f.emit(&stmt{kind: stmtIf, pos: e.Pos(), x: not(t), body: extra})
			cond = t
		}
	}
	return cond
}

// clause lowers the body of clause i, and of the next where it falls through.
func (f *frame) clause(clauses []ast.Stmt, i int) {
	list := clauses[i].(*ast.CaseClause).Body
	n := len(list)
	if n > 0 {
		if b, ok := list[n-1].(*ast.BranchStmt); ok && b.Tok == token.FALLTHROUGH {
			f.emit(&stmt{kind: stmtBlock, pos: b.Pos(), body: f.collect(func() { f.stmts(list[:n-1]) })})
			f.clause(clauses, i+1)
			return
		}
	}
	f.stmts(list)
}

func (f *frame) branch(s *ast.BranchStmt) {
	if s.Tok == token.GOTO {
		f.refuse(s.Pos(), "a kernel has no goto; use a loop, and break or continue with a label")
	}
	for i := len(f.jumps) - 1; i >= 0; i-- {
		j := f.jumps[i]
		if s.Label != nil && s.Label.Name != j.label {
			continue
		}
		switch {
		case s.Tok == token.CONTINUE && j.again != nil:
			kind := stmtContinue
			if j.againExits {
				kind = stmtBreak
			}
			f.emit(&stmt{kind: kind, pos: s.Pos(), target: j.again})
			return
		case s.Tok == token.BREAK && (s.Label != nil || j.again != nil || j.label == "" || j.exit.kind == stmtBlock):
			f.emit(&stmt{kind: stmtBreak, pos: s.Pos(), target: j.exit})
			return
		}
	}
	f.refuse(s.Pos(), "a jump to nowhere; go vet says why")
}

func (f *frame) returnStmt(s *ast.ReturnStmt) {
	var values []*expr
	want := f.fn.results
	if f.inline != nil {
		want = nil
		for _, r := range f.inline.results {
			want = append(want, r.typ)
		}
	}
	switch {
	case len(s.Results) == 0:
		for _, v := range f.results {
			values = append(values, varExpr(v, s.Pos()))
		}
	case len(s.Results) == 1 && len(want) > 1:
		values = f.call(ast.Unparen(s.Results[0]).(*ast.CallExpr))
	default:
		values = f.inOrder(s.Results...)
	}
	for i := range values {
		values[i] = f.assignable(s.Pos(), values[i], want[i])
	}
	if f.inline == nil {
		f.emit(&stmt{kind: stmtReturn, pos: s.Pos(), args: values})
		return
	}
	if len(values) > 1 {
		for i := range values {
			values[i] = f.snapshot(values[i])
		}
	}
	for i, v := range values {
		x := varExpr(f.inline.results[i], s.Pos())
		if v.op != opVar || v.v != x.v {
			f.emit(&stmt{kind: stmtAssign, pos: s.Pos(), x: x, y: v})
		}
	}
	f.emit(&stmt{kind: stmtBreak, pos: s.Pos(), target: f.inline.block})
}

// rangeStmt lowers range over an integer, an array or a slice.
func (f *frame) rangeStmt(s *ast.RangeStmt, label string) {
	b := &stmt{kind: stmtBlock, pos: s.Pos()}
	b.body = f.collect(func() {
		x := f.expr(s.X)
		if x.typ.kind == kindPointer {
			x = deref(x)
		}
		switch {
		case x.typ.integer():
			t := x.typ
			if id, ok := s.Key.(*ast.Ident); ok && x.op == opConst && s.Key != nil {
				if o := f.pkg.info.Defs[id]; o != nil {
					t = f.irType(s.Key.Pos(), o.Type(), spacePrivate)
				} else if id.Name != "_" {
					t = f.expr(id).typ
				}
				x = f.constantOf(x.pos, x.value, t)
			}
			f.rangeLoop(s, label, t, f.snapshot(x), nil)
		case x.typ.kind == kindArray:
			if s.Value != nil && x.place() && f.mayChange(s, x) {
				x = f.snapshot(x) // the values are those of before the loop
			}
			f.rangeLoop(s, label, f.types.basic(kindInt64), f.intConst(s.Pos(), x.typ.len), f.fixed(x, true))
		case x.typ.kind == kindSlice:
			x = f.snapshot(x)
			length := f.snapshot(&expr{op: opLen, typ: f.types.basic(kindInt64), pos: s.Pos(), x: x})
			f.rangeLoop(s, label, length.typ, length, x)
		default:
			f.refuse(s.X.Pos(), "a range over %s; range over an integer, an array or a slice", f.typeOf(s.X))
		}
	})
	f.emit(b)
}

// rangeLoop counts from 0 to n; elements, where it is not nil, gives the values.
func (f *frame) rangeLoop(s *ast.RangeStmt, label string, t *typ, n, elements *expr) {
	key, _ := s.Key.(*ast.Ident)
	plain := s.Tok == token.DEFINE && key != nil && key.Name != "_" && !f.assigned[f.pkg.info.Defs[key]]
	name := ""
	if plain {
		name = key.Name
	}
	i := varExpr(f.declare(s.Pos(), name, t, f.constantOf(s.Pos(), constant.MakeInt64(0), t)), s.Pos())
	r := &stmt{kind: stmtLoop, pos: s.Pos()}
	r.x = &expr{op: opBinary, typ: f.types.basic(kindBool), pos: s.Pos(), tok: token.LSS, x: i, y: n}
	one := f.constantOf(s.Pos(), constant.MakeInt64(1), t)
	next := &expr{op: opBinary, typ: t, pos: s.Pos(), tok: token.ADD, x: i, y: one}
	post := []*stmt{{kind: stmtAssign, pos: s.Pos(), x: i, y: next}}
	f.loopBody(r, label, nil, post, func() {
		if plain {
			f.bind[f.pkg.info.Defs[key]] = binding{v: i.v}
		}
		f.rangeVars(s, plain, i, elements)
		f.block(s.Body)
	})
	f.emit(r)
}

// rangeVars gives the variables of a range their values: not the key where it is the loop's own.
func (f *frame) rangeVars(s *ast.RangeStmt, plain bool, i, elements *expr) {
	var left []ast.Expr
	var values []*expr
	add := func(e ast.Expr, x func() *expr) {
		if id, ok := e.(*ast.Ident); e != nil && (!ok || id.Name != "_") {
			left, values = append(left, e), append(values, x())
		}
	}
	if !plain {
		add(s.Key, func() *expr { return f.snapshot(i) })
	}
	add(s.Value, func() *expr { return f.indexed(s.Pos(), elements, i) })
	if s.Tok == token.DEFINE {
		for k, e := range left {
			f.bindNew(e.(*ast.Ident), values[k], f.pkg.info)
		}
		return
	}
	for k, p := range f.places(left) {
		f.store(s.Pos(), p, values[k])
	}
}

// mayChange tells whether array x, over which s ranges, may change in its body: not if that writes
// nothing but other variables. A range over a pointer has no copy.
func (f *frame) mayChange(s *ast.RangeStmt, x *expr) bool {
	info := f.pkg.info
	if _, pointer := f.typeOf(s.X).Underlying().(*types.Pointer); pointer {
		return false
	}
	root := rootObject(info, s.X)
	if x.space() == spacePrivate && root != nil && !f.assigned[root] {
		return false
	}
	found := s.Tok == token.ASSIGN
	ast.Inspect(s.Body, func(n ast.Node) bool {
		for _, e := range written(info, n) {
			o := rootObject(info, e)
			id, ok := ast.Unparen(e).(*ast.Ident)
			declares := ok && (id.Name == "_" || info.Defs[id] != nil)
			found = found || e != nil && !declares && (root == nil || o == nil || o == root)
		}
		if c, ok := n.(*ast.CallExpr); ok && !info.Types[c.Fun].IsType() && !info.Types[c.Fun].IsBuiltin() {
			found = true
		}
		return !found
	})
	return found
}
