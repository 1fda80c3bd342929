// Package lanes prints kernels as C with vectors, for machine code of the cpu device: a strip of
// work-items that are neighbours in x runs as the lanes of vectors (SPMD on SIMD; Pharr and Mark,
// ispc, 2012).
//
// lanes.go lists the passes that a kernel has here, and decides how it is printed; inline.go,
// shape.go and rows.go are passes, the others print.
package lanes

import (
	_ "embed"
	"fmt"

	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ctext"
	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ir"
)

//go:embed lanes.h
var Header string

// noLanes is why a kernel has no native form.
type noLanes struct{ why string }

// Error is why.
func (n noLanes) Error() string { return n.why }

func refuseLanes(format string, args ...any) { panic(noLanes{fmt.Sprintf(format, args...)}) }

// Text is kernel k as C, behind native.h. The error says why there is none. Go for the cpu
// device must have been printed before.
func Text(k *ir.Kernel, program *ir.Program) (text string, err error) {
	defer func() {
		if v := recover(); v != nil {
			if no, ok := v.(noLanes); ok {
				err = no
				return
			}
			panic(v)
		}
	}()
	p := &lanePrinter{
		Printer: ctext.NewPrinter(k, program), gone: map[ir.Escape]string{}, ends: map[ir.Escape]string{},
		aimed: map[string]bool{}, seen: map[string]seenAccess{},
	}
	body, edges := p.prepare(k)
	p.kernel(body, edges)
	return fmt.Sprintf("#define W %d\n#define MASK %s\n%s%s%s", p.width, p.maskType, Header, p.Decls, p.Out), nil
}

// prepare is the passes for machine code, in order: on a copy of kernel k, whose work-items run
// body within edges.
func (p *lanePrinter) prepare(k *ir.Kernel) (body []*ir.Stmt, edges *ir.Edges) {
	p.k = inlined(k, p.Program.Types) // inline.go: functions in place of their calls
	own := *p.Program
	own.Problems = nil
	own.FindVarying(p.k) // ir, once more: what functions do is a part of the kernel now
	own.Split(p.k)
	if len(own.Problems) > 0 {
		refuseLanes("%s", own.Problems[0].Text)
	}
	body, edges = p.k.CutBody() // ir/edge.go: conditions and loops that strips have for work-items
	p.a = shapesOf(body)        // shape.go: what is uniform, linear or varying over a strip
	p.choose(body)              // here: whether strips pay, how long they are, how they are printed
	return body, edges          // rows.go: what depends on the row, when a loop over strips is printed
}

// maxLaneMemory is how many bytes of local memory machine code is given at most: each thread keeps
// them.
const maxLaneMemory = 1 << 20

// largeKernel is how many operations make a kernel so large that it is printed once, not for whole
// strips, edges and loops apart: a third of the code, at 0.9 to 1 of the speed. Groups that have
// barriers are left out: their work-items loop over elements, which masks make half as fast.
const largeKernel = 450

// smallKernel is how many operations a kernel has at most that may run as Go for one of its loops.
const smallKernel = 160

// choose decides how body is printed, or that Go is faster.
func (p *lanePrinter) choose(body []*ir.Stmt) {
	if size := ir.LocalSize(p.k); size > maxLaneMemory {
		refuseLanes("%d bytes of local memory", size)
	}
	operations := 0
	ir.WalkExprs(body, func(*ir.Expr) { operations++ })
	if !p.k.Barriers && operations < smallKernel && p.walks(body) {
		refuseLanes("a loop over elements of each work-item's own")
	}
	p.large = !p.k.Barriers && operations > largeKernel
	p.width, p.maskType = p.lanes(body)
	if p.k.Group[1] > 1 { // the next tiles are beside this one
		p.beyond = fmt.Sprint(2 * p.k.Group[0])
	}
}

// walks tells whether body has a loop whose turns each work-item counts for itself, and which only
// loads from two places or more in each, such as a row of a sparse matrix, or loads from three and
// stores to one, such as a row of a table of its own. Lane by lane these take longer than one
// work-item after the other: Go needs two thirds of the time, and a third where they store.
func (p *lanePrinter) walks(body []*ir.Stmt) (found bool) {
	ir.Walk(body, func(s *ir.Stmt) {
		if s.Kind == ir.StmtLoop && s.X != nil && p.a.shape(s.X) == varying && len(s.Post) == 1 {
			loads, stores := p.apart(s.Body)
			found = found || loads > 2 && stores > 0 || loads > 1 && countsAlone(s)
		}
	})
	return found
}

// apart is how many elements of slices list loads and stores at places that lie apart in a strip.
func (p *lanePrinter) apart(list []*ir.Stmt) (loads, stores int) {
	apart := func(e *ir.Expr) bool {
		return e.Op == ir.OpIndex && e.X.Type.Kind == ir.KindSlice && p.a.shape(e.Y) == varying
	}
	ir.Walk(list, func(s *ir.Stmt) {
		if s.Kind == ir.StmtAssign && apart(s.X) {
			stores++
			loads-- // which the walk of its place counts
		}
		s.WalkExprs(func(e *ir.Expr) {
			if apart(e) {
				loads++
			}
		})
	})
	return loads, stores
}

// countsAlone tells whether a loop counts to a number, and does nothing else to what it counts, nor
// anything under a condition.
func countsAlone(s *ir.Stmt) bool {
	post := s.Post[0]
	i := ir.Assigned(post)
	counts := i != nil && post.Y.Op == ir.OpBinary && post.Y.X.Op == ir.OpVar && post.Y.X.Var == i &&
		post.Y.Y.Op == ir.OpConst && s.X.Op == ir.OpBinary && s.X.X.Op == ir.OpVar && s.X.X.Var == i
	ir.Walk(s.Body, func(s *ir.Stmt) {
		v := ir.Assigned(s)
		counts = counts && (s.Kind == ir.StmtBlock || v != nil && v != i)
	})
	return counts
}

// lanes is how many work-items make a strip, and the integer of masks: vectors of 16 float32 are
// two or four registers, which hides latencies; a strip does not reach beyond a group. Functions of
// float32 that compute in float64 have as many lanes: most of their conditions are on float32.
func (p *lanePrinter) lanes(body []*ir.Stmt) (n int, mask string) {
	var size [9]int // how many variables have values of so many bytes
	single := false
	for v, s := range p.a.vars {
		if s == varying && v.Type.Number() && (v.Type.Float() || v.Type.Size < 8) {
			size[v.Type.Size]++
			single = single || v.Type.Kind == ir.KindFloat32
		}
	}
	n, mask = 16, "i32"
	if size[8] > 0 && !single {
		n = 8
		if size[4] < size[8] {
			mask = "i64"
		}
	}
	if p.streams(body) {
		n *= 4
	}
	x := p.k.Group[0]
	if x == 0 {
		return n, mask
	}
	if x < 4 {
		refuseLanes("groups of %d work-items in x", x)
	}
	for n > x {
		n /= 2
	}
	for m := n; m >= 4; m /= 2 {
		if x%m == 0 {
			return m, mask
		}
	}
	return n, mask
}

// streams tells whether the kernel's groups are wide, and their work is a loop in steps of the grid
// that adds up what it loads: then more lanes at a time make up for the latency of the sum.
func (p *lanePrinter) streams(body []*ir.Stmt) bool {
	wide := p.k.Group[0] >= 64
	for _, v := range ir.LocalsOf(body) {
		wide = wide || v.Type.Kind == ir.KindArray && v.Type.Len >= 64
	}
	found, simple := false, true
	ir.Walk(body, func(s *ir.Stmt) {
		if s.Kind != ir.StmtLoop || s.X == nil || len(s.Post) != 1 || p.a.shape(s.X) == uniform {
			return
		}
		found = found || ir.UsesItem(s.Post, "GlobalSize", 0)
		ir.Walk(s.Body, func(s *ir.Stmt) {
			simple = simple && (s.Kind == ir.StmtDecl || s.Kind == ir.StmtAssign || s.Kind == ir.StmtBlock)
			s.WalkExprs(func(e *ir.Expr) {
				index := e.Op == ir.OpIndex && p.a.shape(e.Y) == varying
				simple = simple && !index && !e.Atomic()
			})
		})
	})
	return wide && found && simple
}
