package compiler

import "strings"

// A kernel whose slice is only read need not write it back to the host. What may be written is
// found by following slices and pointers from the parameters, through variables and functions.

// A writes follows the slices and pointers of a function: which of its parameters each variable may
// lead to, and which it writes through.
type writes struct {
	l       *lowerer
	roots   map[*variable]map[*variable]bool
	written map[*variable]bool // parameters
	changed bool
}

// writesOf is the parameters that fn, with what it calls, may write through.
func (l *lowerer) writesOf(fn *function, params []*variable) map[*variable]bool {
	if w := l.written[fn]; w != nil {
		return w
	}
	w := &writes{l: l, roots: map[*variable]map[*variable]bool{}, written: map[*variable]bool{}}
	for _, p := range params {
		w.roots[p] = map[*variable]bool{p: true}
	}
	for w.changed = true; w.changed; {
		w.changed = false
		walk(fn.body, w.stmt)
	}
	l.written[fn] = w.written
	return w.written
}

func (w *writes) stmt(s *stmt) {
	switch s.kind {
	case stmtDecl:
		w.lead(s.v, s.x)
	case stmtAssign:
		if shared(s.x) {
			w.write(s.x)
		}
		if v := rootVariable(s.x); v != nil {
			w.lead(v, s.y)
		} else if s.y.typ.hasReference() {
			w.write(s.y) // what is kept behind a pointer is no longer followed: it may be written there
		}
	case stmtCall:
		for _, v := range s.dst {
			w.lead(v, s.x)
		}
	}
	s.exprs(func(e *expr) {
		e.walk(func(e *expr) {
			switch {
			case e.op == opBuiltin && strings.HasPrefix(e.name, "Atomic"):
				w.write(e.args[0])
			case e.op == opCall:
				for i, p := range e.fn.params {
					if w.l.writesOf(e.fn, e.fn.params)[p] {
						w.write(e.args[i])
					}
				}
			}
		})
	})
}

// lead notes that v may lead to where the value e does.
func (w *writes) lead(v *variable, e *expr) {
	if v == nil || e == nil || !v.typ.hasReference() {
		return
	}
	if w.roots[v] == nil {
		w.roots[v] = map[*variable]bool{}
	}
	w.each(e, func(p *variable) {
		if !w.roots[v][p] {
			w.roots[v][p], w.changed = true, true
		}
	})
}

// write notes that what e leads to, or the memory that it is a place in, is written.
func (w *writes) write(e *expr) {
	w.each(e, func(p *variable) {
		if !w.written[p] {
			w.written[p], w.changed = true, true
		}
	})
}

// each calls f for the parameters that e may lead to: those of all variables in it, but for indices
// and numbers.
func (w *writes) each(e *expr, f func(p *variable)) {
	switch e.op {
	case opVar:
		for p := range w.roots[e.v] {
			f(p)
		}
	case opIndex, opSlice, opField, opDeref, opAddr:
		w.each(e.x, f)
	default:
		e.children(func(x *expr) {
			if x.typ.hasReference() {
				w.each(x, f)
			}
		})
	}
}
