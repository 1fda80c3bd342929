package compiler

import (
	"fmt"
	"go/types"
	"strconv"

	"github.com/tandem-gpu/tandem/gpu/compiler/internal/front"
	"github.com/tandem-gpu/tandem/gpu/compiler/internal/gotext"
	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ir"
)

// mapSources prints what the cpu device runs of an instance of a map without machine code: loops
// around its function, as it was compiled, and around the function itself.
func (e *emitter) mapSources(g *gotext.Printer, k *front.KernelDecl, n *ir.Kernel) (compiled, plain string) {
	inputs := k.Mapped.Type.Params.NumFields()
	form := func(f string) string { return fmt.Sprintf("support.Map%d(%s)", inputs, f) }
	return form(g.Function(n.Calls[0])), form(k.Name() + e.instanceArgs(n))
}

// launchMap prints the function that launches a map.
func (e *emitter) launchMap(k *front.KernelDecl) {
	l := newLauncher(e, k)
	l.params = []string{l.session + " *linalg.Session"}
	source := l.kernelOf()
	sig := k.Fn.Type().(*types.Signature)
	l.mapParam("z", sig.Params().At(1).Type(), "KernelArg", "Result")
	for i, x := range front.MapInputs(k.Mapped) {
		if x.Name == "" || x.Name == "_" {
			x.Name = "x" + strconv.Itoa(i+1)
		}
		l.mapParam(x.Name, sig.Params().At(2+2*i).Type(), "MapArg", "Input")
	}
	l.function(fmt.Sprintf("NewMap(%s, %s, %q)", l.session, source, l.pkg.Types.Name()+"."+k.Name()),
		"makes z [%s] of the inputs, element by element, as launch.Map has it.")
}

// mapParam adds a matrix of a map, of gpu.Matrix type t.
func (l *launcher) mapParam(name string, t types.Type, constraint, step string) {
	name = l.unique(name)
	elem := l.memory(name, strconv.Itoa(len(l.params)), constraint, l.Types.Close(matrixElem(t), l.env))
	l.steps = append(l.steps, fmt.Sprintf("launch.%s[%s](&%s, %s)", step, elem, l.call, name))
}
