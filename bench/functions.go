package bench

import (
	"math"
	"math/rand/v2"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
	"github.com/tandem-gpu/tandem/linalg/gonumblas"
)

// FunctionGroups is what Options.Functions may name: the levels of BLAS and the solvers, as gonum's
// users call them with package gonumblas, and package array's functions on arrays of the device.
func FunctionGroups() []string { return []string{"blas", "lapack", "arrays"} }

// A function is to be measured beside the same of other libraries.
type function struct {
	row   Row
	place string // of Tandem's operands and results

	reset func()         // makes the result's memory wrong, or what the function computes in place
	fetch func() error   // brings the result to host memory; nil where it is there
	check func() Check   // of the result in host memory
	fast  func() error   // Tandem's, enqueued
	wait  func() error   // until it is done
	peers []functionPeer // other libraries' functions
	numPy string         // a statement that computes c, of the operands; "": none
	named []namedArray   // the operands
	bytes []byte         // of the result in host memory, for NumPy's c
	free  []func()
}

// A build makes a function ready. The function has its title after an error, too.
type build func() (*function, error)

// A functionPeer is another library's function, which computes the same to the same host memory.
type functionPeer struct {
	name  string
	run   func(runs int) error
	check func() Check // nil: the function's
}

// A namedArray is what a statement of NumPy calls it.
type namedArray struct {
	name       string
	typ        element.Type
	rows, cols int
	data       []byte
}

// functions measures the groups that the options name.
func (r *runner) functions() error {
	gonumblas.Use(r.s)
	defer gonumblas.Restore()
	var list []build
	for _, t := range r.o.Types {
		if !isFloat(t) || !kernels.Supports(ptr(r.s.Info()), t) {
			continue
		}
		for _, group := range r.o.Functions {
			list = append(list, functionsIn(t)(r, group)...)
		}
	}
	r.steps = len(list)
	for _, f := range list {
		if err := r.function(f); err != nil {
			return err
		}
	}
	r.step("done")
	return nil
}

// functionsOf is a group's functions in one type, each to be made ready when its turn comes.
func functionsOf[T linalg.Float](r *runner, group string) []build {
	switch group {
	case "blas":
		return blasFunctions[T](r)
	case "lapack":
		return lapackFunctions[T](r)
	}
	return arrayFunctions[T](r)
}

func (r *runner) function(ready build) error {
	f, err := ready()
	defer func() {
		for _, free := range f.free {
			free()
		}
	}()
	if !r.step(f.row.Title()) {
		return nil
	}
	if err != nil {
		return r.setupFailed(&r.report.Functions, f.row, err)
	}
	list := []*contender{f.own()}
	for _, p := range f.peers {
		list = append(list, f.peer(p))
	}
	if p := r.python(); p != nil && f.numPy != "" {
		list = append(list, f.inNumPy(p))
	}
	if err := r.measure(r.ctx, &f.row, list); err != nil {
		return err
	}
	r.noteSpread(&f.row)
	r.report.Functions = append(r.report.Functions, f.row)
	return nil
}

// python is the process with NumPy, and openBLAS the table of its functions; nil without one.
func (r *runner) python() *numpyProcess {
	return ofLibraries(r, func(l *library) *numpyProcess { return l.python })
}

func (r *runner) openBLAS() *openBLASTable {
	return ofLibraries(r, func(l *library) *openBLASTable { return l.blas })
}

// ofLibraries is what one of the libraries has; nil where none has it.
func ofLibraries[P any](r *runner, of func(*library) *P) *P {
	for _, l := range r.libs {
		if p := of(l); p != nil {
			return p
		}
	}
	return nil
}

func (f *function) own() *contender {
	run := queued(f.fast, f.wait)
	return &contender{name: nameFast, place: f.place, run: run, check: func() (Check, error) {
		f.reset()
		if err := run(1); err != nil {
			return Check{}, err
		}
		if f.fetch != nil {
			if err := f.fetch(); err != nil {
				return Check{}, err
			}
		}
		return f.check(), nil
	}}
}

func (f *function) peer(p functionPeer) *contender {
	check := f.check
	if p.check != nil {
		check = p.check
	}
	return &contender{name: p.name, peer: true, place: "host", run: p.run, check: func() (Check, error) {
		f.reset()
		err := p.run(1)
		return check(), err
	}}
}

func (f *function) inNumPy(p *numpyProcess) *contender {
	return &contender{
		name: "NumPy", peer: true, place: "host",
		run: func(runs int) error { return p.exec(runs, f.numPy) },
		check: func() (Check, error) {
			for _, a := range f.named {
				if err := p.let(a); err != nil {
					return Check{}, err
				}
			}
			f.reset()
			if err := p.exec(1, f.numPy); err != nil {
				return Check{}, err
			}
			if err := p.get(f.bytes); err != nil {
				return Check{}, err
			}
			return f.check(), nil
		},
	}
}

// newFunction begins one that works on host memory: rows and columns are for its title.
func newFunction[T linalg.Float](name string, m, n int, work float64, unit string) *function {
	row := Row{Experiment: name, Type: element.TypeOf[T]().String(), M: m, N: n, Work: work, Unit: unit}
	return &function{row: row, place: "host", wait: func() error { return nil }}
}

// operandOf is a named array of rows by cols, which NumPy gets as well. Its numbers lie between 0
// and 1: no sum of them or of their products cancels.
func operandOf[T linalg.Float](f *function, name string, rows, cols int) []T {
	x := make([]T, rows*cols)
	rng := rand.New(rand.NewPCG(uint64(rows)<<32|uint64(cols), uint64(len(f.named))))
	for i := range x {
		x[i] = T(rng.Float64())
	}
	f.named = append(f.named, namedArray{name, element.TypeOf[T](), rows, cols, backend.Bytes(x)})
	return x
}

// compare counts the numbers of got that are not those of want, rounded to T, and those that are no
// numbers or further from them than loss times the largest: rounding in any order is below it, a
// wrong algorithm above.
func compare[T, W linalg.Element](got []T, want []W, loss float64) Check {
	c := Check{Elements: len(want)}
	largest := 0.0
	for _, w := range want {
		largest = max(largest, math.Abs(float64(w)))
	}
	for i, w := range want {
		off := math.Abs(float64(got[i]) - float64(T(w)))
		if off != 0 {
			c.Differ++
		}
		if !(off <= loss*largest) {
			c.Wrong++
		}
	}
	return c
}

// looseness is how far the results of a function of n terms may lie apart, as a part of the
// largest.
func looseness[T any](n int) float64 {
	epsilon := 0x1p-53
	if l := letterOf[T](); l == "s" || l == "c" {
		epsilon = 0x1p-24
	}
	return 8 * math.Sqrt(float64(n)+64) * epsilon
}
