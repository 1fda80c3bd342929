package compiler

import (
	"fmt"
	"go/types"
	"strconv"
	"strings"

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
	l := &launcher{emitter: e, k: k, env: ir.Env{}, taken: map[string]bool{}}
	sig := k.Fn.Type().(*types.Signature)
	session := l.unique("s")
	l.call = l.unique("call")
	l.params = []string{session + " *linalg.Session"}
	source := l.kernelOf()
	l.mapParam("z", sig.Params().At(1).Type(), "KernelArg", "Result")
	for i, x := range front.MapInputs(k.Mapped) {
		if x.Name == "" || x.Name == "_" {
			x.Name = "x" + strconv.Itoa(i+1)
		}
		l.mapParam(x.Name, sig.Params().At(2+2*i).Type(), "MapArg", "Input")
	}
	name := front.LaunchName(k.Name())
	e.line("// %s makes z [%s] of the inputs, element by element, as launch.Map has it.", name, k.Name())
	e.line("func %s%s(%s) error {", name, bracketed(l.typeParams), strings.Join(l.params, ", "))
	e.line("%s := launch.NewMap(%s, %s, %q)\n%s\nreturn %[1]s.Launch()\n}\n", l.call, session, source,
		l.pkg.Types.Name()+"."+k.Name(), strings.Join(l.steps, "\n"))
	e.instances(k)
}

// mapParam adds a matrix of a map, of gpu.Matrix type t.
func (l *launcher) mapParam(name string, t types.Type, constraint, step string) {
	name = l.unique(name)
	elem := l.typeName(l.Types.Close(types.Unalias(t).(*types.Named).TypeArgs().At(0), l.env))
	arg := l.unique("Arg" + strconv.Itoa(len(l.params)))
	l.typeParams = append(l.typeParams, arg+" launch."+constraint+"["+elem+"]")
	l.params = append(l.params, name+" "+arg)
	l.steps = append(l.steps, fmt.Sprintf("launch.%s[%s](&%s, %s)", step, elem, l.call, name))
}
