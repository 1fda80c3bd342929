package ir

// A kernel whose slice is only read need not write it back to the host. What may be written is
// found by following slices and pointers from the parameters, through variables and functions.

// A writes follows the slices and pointers of a function: which of its parameters each variable may
// lead to, and which it writes through.
type writes struct {
	p       *Program
	roots   map[*Variable]map[*Variable]bool
	written map[*Variable]bool // parameters
	changed bool
}

// findReadOnly marks the parameters of k whose elements nothing writes.
func (p *Program) findReadOnly(k *Kernel) {
	written := p.writesOf(k.Function)
	for _, v := range k.Params {
		v.ReadOnly = v.Type.HasReference() && !written[v]
	}
}

// writesOf is the parameters that fn, with what it calls, may write through.
func (p *Program) writesOf(fn *Function) map[*Variable]bool {
	if w := p.written[fn]; w != nil {
		return w
	}
	w := &writes{p: p, roots: map[*Variable]map[*Variable]bool{}, written: map[*Variable]bool{}}
	for _, v := range fn.Params {
		w.roots[v] = map[*Variable]bool{v: true}
	}
	for w.changed = true; w.changed; {
		w.changed = false
		Walk(fn.Body, w.stmt)
	}
	if p.written == nil {
		p.written = map[*Function]map[*Variable]bool{}
	}
	p.written[fn] = w.written
	return w.written
}

func (w *writes) stmt(s *Stmt) {
	switch s.Kind {
	case StmtDecl:
		w.lead(s.Var, s.X)
	case StmtAssign:
		if Shared(s.X) {
			w.write(s.X)
		}
		if v := RootVariable(s.X); v != nil {
			w.lead(v, s.Y)
		} else if s.Y.Type.HasReference() {
			w.write(s.Y) // what is kept behind a pointer is no longer followed: it may be written there
		}
	case StmtCall:
		for _, v := range s.Dst {
			w.lead(v, s.X)
		}
	}
	s.WalkExprs(func(e *Expr) {
		switch {
		case e.Atomic():
			w.write(e.Args[0])
		case e.Op == OpCall:
			written := w.p.writesOf(e.Fn)
			for i, p := range e.Fn.Params {
				if written[p] {
					w.write(e.Args[i])
				}
			}
		}
	})
}

// lead notes that v may lead to where the value e does.
func (w *writes) lead(v *Variable, e *Expr) {
	if v == nil || e == nil || !v.Type.HasReference() {
		return
	}
	if w.roots[v] == nil {
		w.roots[v] = map[*Variable]bool{}
	}
	w.each(e, func(p *Variable) {
		if !w.roots[v][p] {
			w.roots[v][p], w.changed = true, true
		}
	})
}

// write notes that what e leads to, or the memory that it is a place in, is written.
func (w *writes) write(e *Expr) {
	w.each(e, func(p *Variable) {
		if !w.written[p] {
			w.written[p], w.changed = true, true
		}
	})
}

// each calls f for the parameters that e may lead to: those of all variables in it, but for indices
// and numbers.
func (w *writes) each(e *Expr, f func(p *Variable)) {
	switch e.Op {
	case OpVar:
		for p := range w.roots[e.Var] {
			f(p)
		}
	case OpIndex, OpSlice, OpField, OpDeref, OpAddr:
		w.each(e.X, f)
	default:
		e.Children(func(x *Expr) {
			if x.Type.HasReference() {
				w.each(x, f)
			}
		})
	}
}
