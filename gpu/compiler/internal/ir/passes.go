package ir

// What happens to a kernel between Go's syntax and its texts, in order:
//
//	read      front/load.go, maps.go   the package, with kernels that are written for maps
//	find      front/kernel.go          the kernels, and the lists of types to compile each for
//	lower     front/lower*.go          each to this tree, once for each list of types
//	Prepare   below                    passes that all printers need
//	print     ctext                    the text for OpenCL and CUDA, of the tree as it is
//	          gotext                   Go for the cpu device, after CutBody (edge.go)
//	          lanes                    C for machine code, after passes of its own: lanes.prepare
//
// A pass notes what it finds out in the tree. Those of Prepare change nothing else there.

// Prepare runs the passes that all printers need on a kernel that was lowered.
func (p *Program) Prepare(k *Kernel) {
	before := len(p.Problems)
	p.FindVarying(k)  // uniform.go: what differs between work-items; refuses barriers that not all reach
	p.findReadOnly(k) // writes.go: slices and matrices whose elements nothing writes
	if len(p.Problems) == before {
		p.Split(k) // split.go: at barriers, into loops over the work-items of a group
	}
}
