package backendtest

import (
	"context"
	"strings"

	"github.com/tandem-gpu/tandem/conformance"
)

var conformanceCases = []testCase{
	{
		"Conformance/Quick", valid, conformsQuickly,
		"Every built-in kernel gives the bits of the plain reference, in every type that the device supports.",
	},
	{"Conformance/Parameters", valid, conformsWithParameters, "Parameters can never change bits."},
}

func conformsQuickly(e *env) {
	o := conformance.Options{Quick: true}
	if e.dev.Info().Platform == oclgrind {
		o.Match = tiny
	}
	e.conforms(o)
}

// conformsWithParameters runs all sets of parameters but on a processor's OpenCL, whose compiler
// takes seconds for one kernel: there it is the sets that it may be given. The shapes for GPUs run
// on the simulated one, those for other processors on the cpu device.
func conformsWithParameters(e *env) {
	info := e.dev.Info()
	if info.Platform == oclgrind {
		e.skipf("minutes of simulation; the tests of package kernels run there with several sets")
	}
	e.conforms(conformance.Options{Every: info.GPU || info.Driver != "opencl", Match: offTile})
}

// oclgrind is the platform of a simulator that takes thousands of times longer.
const oclgrind = "Oclgrind"

// tiny is cases of a few hundred elements or products. Values change no access.
func tiny(c *conformance.Case) bool {
	return c.M*c.N*max(c.K, 1) <= 1000 && strings.Contains(c.Name(), "/uniform/")
}

// offTile is products and transposes that cross the edge of every tile, with gaps between rows.
func offTile(c *conformance.Case) bool {
	return (c.Kernel == "matmul" || c.Kernel == "transpose") && c.M == 33 && c.N == 31 &&
		strings.Contains(c.Name(), "/uniform/") &&
		!strings.Contains(c.Name(), "/packed/")
}

// conforms runs cases of package conformance on the device of e.
func (e *env) conforms(o conformance.Options) {
	r, err := conformance.Run(context.Background(), e.dev, o)
	e.must("Run", err)
	if r.Variants == 0 {
		e.errorf("no case was run")
	}
	for _, f := range r.Failures {
		e.errorf("%s %s: %s, want %s %s", f.Case, f.Params, f.Digest, f.Golden, f.Error)
	}
	if !r.Passed() {
		e.errorf("the digest of %d cases is %s, want %s", r.Cases, r.Digest, r.Golden)
	}
}
