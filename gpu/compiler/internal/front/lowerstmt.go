package front

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"

	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ir"
)

func (f *frame) block(b *ast.BlockStmt) { f.stmts(b.List) }

// stmts lowers statements; after one that has a problem it goes on with the next.
func (f *frame) stmts(list []ast.Stmt) {
	for i, s := range list {
		nested, jumps := f.nested, len(f.jumps)
		if !f.recoverable(func() { f.stmt(s, "") }) {
			f.nested, f.jumps = nested, f.jumps[:jumps]
			f.bindFailed(s)
		}
		if leaves(*f.out) && i+1 < len(list) {
			f.dead(func() { f.stmts(list[i+1:]) })
			return
		}
	}
}

// bindFailed gives the variables that a statement with a problem would have declared a type, so
// that each problem is reported once.
func (f *frame) bindFailed(s ast.Stmt) {
	ast.Inspect(s, func(n ast.Node) bool {
		id, _ := n.(*ast.Ident)
		if o, ok := f.pkg.Info.Defs[id].(*types.Var); ok {
			t, err := f.Types.Of(f.close(o.Type()), ir.SpaceGlobal)
			if err != nil {
				t = f.Types.Basic(ir.KindInt64)
			}
			f.bind[o] = binding{v: f.fn.NewVar(id.Name, t)}
		}
		return true
	})
}

// inside lowers a part that may run several times, or not at all.
func (f *frame) inside(g func()) []*ir.Stmt {
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
		f.update(s.Pos(), s.X, x, tok, f.constantOf(s.Pos(), constant.MakeInt64(1), x.Type))
	case *ast.DeclStmt:
		f.declStmt(s.Decl)
	case *ast.BlockStmt:
		f.labelled(s, label)
	case *ast.IfStmt:
		f.behind(s, s.Init, func() { f.ifElse(s) })
	case *ast.ForStmt:
		f.behind(s, s.Init, func() { f.loop(s, label) })
	case *ast.RangeStmt:
		f.rangeStmt(s, label)
	case *ast.SwitchStmt:
		f.switchStmt(s, label)
	case *ast.LabeledStmt:
		f.stmt(s.Stmt, s.Label.Name)
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
	b := &ir.Stmt{Kind: ir.StmtBlock, Pos: s.Pos()}
	if label != "" {
		f.jumps = append(f.jumps, jump{label: label, exit: b})
		defer f.unjump()
	}
	b.Body = f.collect(func() { f.block(s) })
	f.emit(b)
}

func (f *frame) unjump() { f.jumps = f.jumps[:len(f.jumps)-1] }

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
	var results []*ir.Variable // that a call has just set
	if n := len(*f.out); n > 0 && len(s.Rhs) == 1 {
		results = (*f.out)[n-1].Dst
	}
	for i, l := range s.Lhs {
		id, _ := l.(*ast.Ident)
		switch {
		case places[i] != nil:
			f.store(l.Pos(), places[i], values[i])
		case id.Name == "_":
		case i < len(results) && results[i] == values[i].Var:
			results[i].Name = f.fn.NewVar(id.Name, results[i].Type).Name
			f.bind[f.pkg.Info.Defs[id]] = binding{v: results[i]}
		default:
			f.bindNew(id, values[i])
		}
	}
}

// places is what stands left in an assignment, with slices and indices evaluated: nil for the blank
// and for new variables.
func (f *frame) places(left []ast.Expr) []*ir.Expr {
	old := make([]ast.Expr, len(left))
	for i, l := range left {
		if id, ok := l.(*ast.Ident); !ok || id.Name != "_" && f.pkg.Info.Defs[id] == nil {
			old[i] = l
		}
	}
	places := f.inOrder(old...)
	slices := false // assigned themselves
	for _, p := range places {
		slices = slices || p != nil && p.Type.HasReference()
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
func (f *frame) values(s *ast.AssignStmt, places []*ir.Expr) []*ir.Expr {
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
	var values []*ir.Expr
	for i, r := range s.Rhs {
		var v *ir.Expr
		f.after(values, func() { v = f.value(r) })
		switch {
		case v == nil && places[i] != nil:
			f.refuse(r.Pos(), "a function as a value; declare a new variable for it with :=")
		case v == nil:
			f.bindFunc(s.Lhs[i].(*ast.Ident), r)
		case places[i] != nil:
			v = f.snapshot(f.assignable(r.Pos(), v, places[i].Type))
		case old:
			v = f.snapshot(v)
		}
		values = append(values, v)
	}
	return values
}

// value is an expression that a variable is to have: also a literal, in place. It is nil for a
// function.
func (f *frame) value(e ast.Expr) *ir.Expr {
	switch x := ast.Unparen(e).(type) {
	case *ast.CompositeLit:
		return f.composite(x)
	case *ast.FuncLit:
		return nil
	}
	return f.expr(e)
}

func (f *frame) bindFunc(id *ast.Ident, e ast.Expr) {
	o := f.pkg.Info.Defs[id]
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
	if isName && (id.Name == "_" || f.pkg.Info.Defs[id] != nil) {
		v := f.value(r)
		switch {
		case v == nil:
			f.bindFunc(id, r)
		case id.Name == "_":
			f.discard(v)
		default:
			f.bindNew(id, v)
		}
		return
	}
	x, v := []*ir.Expr{f.expr(l)}, (*ir.Expr)(nil)
	f.after(x, func() { v = f.value(r) })
	if v == nil {
		f.refuse(r.Pos(), "a function as a value; declare a new variable for it with :=")
	}
	f.store(pos, x[0], v)
}

// discard evaluates e for what it does.
func (f *frame) discard(e *ir.Expr) {
	if e.Op != ir.OpConst && e.Type.Kind != ir.KindItem {
		f.temp(e)
	}
}

// bindNew declares the variable that id names, with value x. A pointer that never changes is only
// another name for what it leads to, where that is fixed.
func (f *frame) bindNew(id *ast.Ident, x *ir.Expr) {
	o := f.pkg.Info.Defs[id]
	if o == nil || id.Name == "_" {
		f.discard(x)
		return
	}
	if x.Type.Kind == ir.KindItem {
		f.bind[o] = binding{e: x}
		return
	}
	if x.Op == ir.OpConst { // the variable may have another type
		if t, err := f.Types.Of(f.close(o.Type()), ir.SpacePrivate); err == nil && t.Scalar() {
			x = f.assignable(id.Pos(), x, t)
		}
	}
	if x.Type.Kind == ir.KindPointer {
		if f.assigned[o] {
			f.refuse(id.Pos(), "pointer %s is assigned again, or its address is taken; use two pointers", id.Name)
		}
		if x.Op == ir.OpAddr && x.X.Op == ir.OpVar {
			if v := x.X.Var; v.Local && v.Table == nil && strings.HasPrefix(v.Name, "shared") {
				v.Name = f.fn.NewVar(id.Name, v.Type).Name
			}
			f.bind[o] = binding{e: x}
			return
		}
	}
	f.bind[o] = binding{v: f.declare(id.Pos(), id.Name, x.Type, x)}
}

// fixed is place x with its indices evaluated, and its slices where variables that hold some may
// change.
func (f *frame) fixed(x *ir.Expr, slices bool) *ir.Expr {
	c := *x
	switch {
	case x.Op == ir.OpIndex && x.X.Type.Kind == ir.KindSlice:
		if slices || x.X.Op != ir.OpVar {
			c.X = f.snapshot(x.X)
		}
		c.Y = f.snapshot(x.Y)
	case x.Op == ir.OpIndex:
		c.X, c.Y = f.fixed(x.X, slices), f.snapshot(x.Y)
	case x.Op == ir.OpField:
		c.X = f.fixed(x.X, slices)
	}
	return &c
}

// store is x = v.
func (f *frame) store(pos token.Pos, x, v *ir.Expr) {
	switch {
	case x.Type.Kind == ir.KindItem:
		f.refuse(pos, "an item is assigned again; a kernel has one")
	case !x.Place():
		f.refuse(pos, "an assignment to what is no variable; assign to one")
	case x.Type.Kind == ir.KindPointer:
		f.refuse(pos, "a pointer is assigned again; use two pointers")
	}
	v = f.assignable(pos, v, x.Type)
	if v.Op == ir.OpMake || v.Op == ir.OpZero {
		v = f.temp(v)
	}
	f.emit(&ir.Stmt{Kind: ir.StmtAssign, Pos: pos, X: x, Y: v})
}

var assignOps = map[token.Token]token.Token{
	token.ADD_ASSIGN: token.ADD, token.SUB_ASSIGN: token.SUB, token.MUL_ASSIGN: token.MUL, token.QUO_ASSIGN: token.QUO,
	token.REM_ASSIGN: token.REM, token.AND_ASSIGN: token.AND, token.OR_ASSIGN: token.OR, token.XOR_ASSIGN: token.XOR,
	token.SHL_ASSIGN: token.SHL, token.SHR_ASSIGN: token.SHR, token.AND_NOT_ASSIGN: token.AND_NOT,
}

// update is x tok= y.
func (f *frame) update(pos token.Pos, e ast.Expr, x *ir.Expr, tok token.Token, y *ir.Expr) {
	if !x.Place() {
		f.refuse(e.Pos(), "an assignment to what is no variable; assign to one")
	}
	var v *ir.Expr
	if tok == token.SHL || tok == token.SHR {
		v = f.shift(pos, tok, x, y)
	} else {
		v = f.operate(pos, tok, x, f.assignable(pos, y, x.Type))
	}
	f.emit(&ir.Stmt{Kind: ir.StmtAssign, Pos: pos, X: x, Y: v})
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
		var values []*ir.Expr
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
				f.bindNew(n, values[i])
			}
		}
	}
}

// declareZero is var x T.
func (f *frame) declareZero(id *ast.Ident) {
	o := f.pkg.Info.Defs[id]
	if o == nil {
		return
	}
	t := f.irType(id.Pos(), o.Type(), ir.SpaceGlobal)
	if t.Kind == ir.KindPointer || t.Kind == ir.KindSlice {
		f.refuse(id.Pos(), "%s, without a value, leads nowhere; declare it where it has one", id.Name)
	}
	f.bind[o] = binding{v: f.declare(id.Pos(), id.Name, t, nil)}
}

// behind lowers s by g, behind the statement that it begins with, if it has one: then a block
// around both has what that declares.
func (f *frame) behind(s, init ast.Stmt, g func()) {
	if init == nil {
		g()
		return
	}
	b := &ir.Stmt{Kind: ir.StmtBlock, Pos: s.Pos()}
	b.Body = f.collect(func() {
		f.stmt(init, "")
		g()
	})
	f.emit(b)
}

func (f *frame) ifElse(s *ast.IfStmt) {
	f.choose(s.Pos(), f.expr(s.Cond), func() { f.block(s.Body) }, func() {
		if b, ok := s.Else.(*ast.BlockStmt); ok {
			f.block(b)
		} else if s.Else != nil {
			f.stmt(s.Else, "")
		}
	})
}

func (f *frame) loop(s *ast.ForStmt, label string) {
	r := &ir.Stmt{Kind: ir.StmtLoop, Pos: s.Pos()}
	var before []*ir.Stmt
	if s.Cond != nil {
		var x *ir.Expr
		before = f.inside(func() { x = f.expr(s.Cond) })
		before = r.Until(x, before)
	}
	var post []*ir.Stmt
	if s.Post != nil {
		post = f.inside(func() { f.stmt(s.Post, "") })
	}
	f.loopBody(r, label, before, post, func() { f.block(s.Body) })
	f.emit(r)
}

// loopBody fills in the body of loop r. A post that is not one simple assignment comes behind a
// block around the body, which continue leaves.
func (f *frame) loopBody(r *ir.Stmt, label string, before, post []*ir.Stmt, body func()) {
	j := jump{label: label, exit: r, again: r}
	simple := len(post) == 0 || len(post) == 1 && post[0].Kind == ir.StmtAssign
	var inner *ir.Stmt
	if !simple {
		inner = &ir.Stmt{Kind: ir.StmtBlock, Pos: r.Pos}
		j.again, j.againExits = inner, true
	}
	f.jumps = append(f.jumps, j)
	list := f.inside(body)
	f.unjump()
	if simple {
		r.Body, r.Post = append(before, list...), post
		return
	}
	inner.Body = list
	r.Body = append(append(before, inner), post...)
}

func (f *frame) switchStmt(s *ast.SwitchStmt, label string) {
	b := &ir.Stmt{Kind: ir.StmtBlock, Pos: s.Pos()}
	f.jumps = append(f.jumps, jump{label: label, exit: b})
	b.Body = f.collect(func() {
		if s.Init != nil {
			f.stmt(s.Init, "")
		}
		var tag *ir.Expr
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
func (f *frame) cases(clauses []ast.Stmt, tag *ir.Expr) {
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
		f.choose(c.Pos(), f.caseCond(c, tag), func() { f.clause(clauses, i) }, func() { chain(i + 1) })
	}
	chain(0)
}

// caseCond is whether one of a clause's values is the tag.
func (f *frame) caseCond(c *ast.CaseClause, tag *ir.Expr) *ir.Expr {
	var cond *ir.Expr
	for _, e := range c.List {
		var one *ir.Expr
		extra := f.collect(func() {
			one = f.expr(e)
			if tag != nil {
				x, y := tag, one
				if y.Op == ir.OpConst && y.Type != x.Type {
					y = f.constantOf(y.Pos, y.Value, x.Type)
				} else if x.Op == ir.OpConst && y.Type != x.Type {
					x = f.constantOf(x.Pos, x.Value, y.Type)
				}
				one = f.equal(e.Pos(), token.EQL, x, y)
			}
		})
		switch {
		case cond == nil:
			*f.out = append(*f.out, extra...)
			cond = one
		case len(extra) == 0:
			cond = f.shallow(&ir.Expr{Op: ir.OpBinary, Type: one.Type, Pos: e.Pos(), Token: token.LOR, X: cond, Y: one})
		default:
			cond = ir.VarExpr(f.declare(e.Pos(), "", one.Type, cond), e.Pos())
			f.emit(ir.Decide(token.LOR, cond, one, extra))
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
			f.emit(&ir.Stmt{Kind: ir.StmtBlock, Pos: b.Pos(), Body: f.collect(func() { f.stmts(list[:n-1]) })})
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
			kind := ir.StmtContinue
			if j.againExits {
				kind = ir.StmtBreak
			}
			f.emit(&ir.Stmt{Kind: kind, Pos: s.Pos(), Target: j.again})
			return
		case s.Tok == token.BREAK && (s.Label != nil || j.again != nil || j.label == "" || j.exit.Kind == ir.StmtBlock):
			f.emit(&ir.Stmt{Kind: ir.StmtBreak, Pos: s.Pos(), Target: j.exit})
			return
		}
	}
	f.refuse(s.Pos(), "a jump to nowhere; go vet says why")
}

func (f *frame) returnStmt(s *ast.ReturnStmt) {
	var values []*ir.Expr
	want := f.fn.Results
	if f.inline != nil {
		want = nil
		for _, r := range f.inline.results {
			want = append(want, r.Type)
		}
	}
	switch {
	case len(s.Results) == 0:
		for _, v := range f.results {
			values = append(values, ir.VarExpr(v, s.Pos()))
		}
	case len(s.Results) == 1 && len(want) > 1:
		values = f.call(ast.Unparen(s.Results[0]).(*ast.CallExpr))
	default:
		values = f.inOrder(s.Results...)
	}
	for i := range values {
		if t := values[i].Type; t != nil && t != want[i] && t.HasReference() {
			f.refuse(s.Pos(), "a result that leads to memory of the function's own; let the call pass an array or "+
				"slice for it")
		}
		values[i] = f.assignable(s.Pos(), values[i], want[i])
	}
	if f.inline == nil {
		f.emit(&ir.Stmt{Kind: ir.StmtReturn, Pos: s.Pos(), Args: values})
		return
	}
	if len(values) > 1 {
		for i := range values {
			values[i] = f.snapshot(values[i])
		}
	}
	for i, v := range values {
		x := ir.VarExpr(f.inline.results[i], s.Pos())
		if v.Op != ir.OpVar || v.Var != x.Var {
			f.emit(&ir.Stmt{Kind: ir.StmtAssign, Pos: s.Pos(), X: x, Y: v})
		}
	}
	f.emit(&ir.Stmt{Kind: ir.StmtBreak, Pos: s.Pos(), Target: f.inline.block})
}

// rangeStmt lowers range over an integer, an array or a slice.
func (f *frame) rangeStmt(s *ast.RangeStmt, label string) {
	if t, ok := f.typeOf(s.X).Underlying().(*types.Signature); ok {
		f.refuse(s.X.Pos(), "a range over %s; range over an integer, an array or a slice", t)
	}
	b := &ir.Stmt{Kind: ir.StmtBlock, Pos: s.Pos()}
	b.Body = f.collect(func() {
		x := f.expr(s.X)
		if x.Type.Kind == ir.KindPointer {
			x = deref(x)
		}
		switch {
		case x.Type.Integer():
			t := x.Type
			if id, ok := s.Key.(*ast.Ident); ok && x.Op == ir.OpConst && s.Key != nil {
				if o := f.pkg.Info.Defs[id]; o != nil {
					t = f.irType(s.Key.Pos(), o.Type(), ir.SpacePrivate)
				} else if id.Name != "_" {
					t = f.expr(id).Type
				}
				x = f.constantOf(x.Pos, x.Value, t)
			}
			f.rangeLoop(s, label, t, f.snapshot(x), nil)
		case x.Type.Kind == ir.KindArray:
			if s.Value != nil && x.Place() && f.mayChange(s, x) {
				x = f.snapshot(x) // the values are those of before the loop
			}
			f.rangeLoop(s, label, f.Types.Basic(ir.KindInt64), f.intConst(s.Pos(), x.Type.Len), f.fixed(x, true))
		case x.Type.Kind == ir.KindSlice:
			x = f.snapshot(x)
			length := f.snapshot(&ir.Expr{Op: ir.OpLen, Type: f.Types.Basic(ir.KindInt64), Pos: s.Pos(), X: x})
			f.rangeLoop(s, label, length.Type, length, x)
		default:
			f.refuse(s.X.Pos(), "a range over %s; range over an integer, an array or a slice", f.typeOf(s.X))
		}
	})
	f.emit(b)
}

// rangeLoop counts from 0 to n; elements, where it is not nil, gives the values.
func (f *frame) rangeLoop(s *ast.RangeStmt, label string, t *ir.Type, n, elements *ir.Expr) {
	key, _ := s.Key.(*ast.Ident)
	plain := s.Tok == token.DEFINE && key != nil && key.Name != "_" && !f.assigned[f.pkg.Info.Defs[key]]
	name := ""
	if plain {
		name = key.Name
	}
	i := ir.VarExpr(f.declare(s.Pos(), name, t, f.constantOf(s.Pos(), constant.MakeInt64(0), t)), s.Pos())
	r := &ir.Stmt{Kind: ir.StmtLoop, Pos: s.Pos()}
	r.X = &ir.Expr{Op: ir.OpBinary, Type: f.Types.Basic(ir.KindBool), Pos: s.Pos(), Token: token.LSS, X: i, Y: n}
	one := f.constantOf(s.Pos(), constant.MakeInt64(1), t)
	next := &ir.Expr{Op: ir.OpBinary, Type: t, Pos: s.Pos(), Token: token.ADD, X: i, Y: one}
	post := []*ir.Stmt{{Kind: ir.StmtAssign, Pos: s.Pos(), X: i, Y: next}}
	f.loopBody(r, label, nil, post, func() {
		if plain {
			f.bind[f.pkg.Info.Defs[key]] = binding{v: i.Var}
		}
		f.rangeVars(s, plain, i, elements)
		f.block(s.Body)
	})
	f.emit(r)
}

// rangeVars gives the variables of a range their values: not the key where it is the loop's own.
func (f *frame) rangeVars(s *ast.RangeStmt, plain bool, i, elements *ir.Expr) {
	var left []ast.Expr
	var values []*ir.Expr
	add := func(e ast.Expr, x func() *ir.Expr) {
		if id, ok := e.(*ast.Ident); e != nil && (!ok || id.Name != "_") {
			left, values = append(left, e), append(values, x())
		}
	}
	if !plain {
		add(s.Key, func() *ir.Expr { return f.snapshot(i) })
	}
	add(s.Value, func() *ir.Expr { return f.indexed(s.Pos(), elements, i) })
	if s.Tok == token.DEFINE {
		for k, e := range left {
			f.bindNew(e.(*ast.Ident), values[k])
		}
		return
	}
	for k, p := range f.places(left) {
		f.store(s.Pos(), p, values[k])
	}
}

// mayChange tells whether array x, over which s ranges, may change in its body: not if that writes
// nothing but other variables. A range over a pointer has no copy.
func (f *frame) mayChange(s *ast.RangeStmt, x *ir.Expr) bool {
	info := f.pkg.Info
	if _, pointer := f.typeOf(s.X).Underlying().(*types.Pointer); pointer {
		return false
	}
	root := rootObject(info, s.X)
	if x.Space() == ir.SpacePrivate && root != nil && !f.assigned[root] {
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
