package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tandem-gpu/tandem/gpu/compiler"
)

// isGo tells whether the kernel is written in Go.
func (job *kernelJob) isGo() bool { return filepath.Ext(job.file) == ".go" }

// takes lists the elements of a Go kernel's parameters that each kind of argument can be, first the
// one that it is.
var takes = map[string][]string{
	"i32": {"int32", "uint32", "int16", "uint16", "int8", "uint8", "bool"},
	"u32": {"uint32", "int32", "uint16", "int16", "uint8", "int8", "bool"},
	"i64": {"int64", "uint64"}, "u64": {"uint64", "int64"}, "f32": {"float32"}, "f64": {"float64"},
	"f4": {"float32"}, "f8": {"float64"}, "i4": {"int32", "uint32"},
}

// ranges are of the elements that do not have all numbers of 32 bits.
var ranges = map[string][2]int64{
	"int16": {math.MinInt16, math.MaxInt16}, "int8": {math.MinInt8, math.MaxInt8},
	"uint16": {0, math.MaxUint16}, "uint8": {0, math.MaxUint8}, "bool": {0, 1},
}

// instance compiles the package of the job's file, and chooses the instance of the kernel or the
// map that the types of the arguments fit best.
func (job *kernelJob) instance(loaded []operand) (*compiler.Instance, error) {
	if _, err := os.Stat(job.file); err != nil {
		return nil, err
	}
	all, err := compiler.Instances(filepath.Dir(job.file))
	if err != nil {
		return nil, err
	}
	var names, misfits []string
	var best *compiler.Instance
	least := 0
	for i := range all {
		k := &all[i]
		name, distance := k.Kernel, job.distance
		if job.isMap {
			name, distance = k.Map, job.mapDistance
		} else if k.Map != "" {
			continue
		}
		if name == "" || filepath.Base(k.File) != filepath.Base(job.file) {
			continue
		}
		if names = append(names, name); name != job.kernel {
			continue
		}
		n, err := distance(k, loaded)
		switch {
		case err != nil:
			misfits = append(misfits, err.Error())
		case best == nil || n < least:
			best, least = k, n
		}
	}
	switch {
	case best != nil:
		return best, nil
	case len(misfits) > 0:
		return nil, fmt.Errorf("%s: the arguments do not fit\n%s", job.file, strings.Join(misfits, "\n"))
	}
	what := "kernel " + job.kernel
	if job.isMap {
		what = "function " + job.kernel + " under //tandem:map"
	}
	return nil, fmt.Errorf("%s has no %s; it has %s", job.file, what,
		cmp.Or(strings.Join(slices.Compact(names), ", "), "none"))
}

// distance is how many arguments are not of the very type that k has, but of one that it takes.
func (job *kernelJob) distance(k *compiler.Instance, loaded []operand) (n int, err error) {
	if len(k.Params) != len(job.args) {
		return 0, fmt.Errorf("%s takes %d arguments, and there are %d: one --arg for each parameter", k.Name,
			len(k.Params), len(job.args))
	}
	for i, p := range k.Params {
		arg := job.args[i]
		kind, array := arg.kind, arg.scalar.Size == 0
		switch {
		case arg.path != "":
			kind = loaded[i].Type.NumPy()
		case array:
			kind = arg.typ.NumPy()
		}
		fit := slices.Index(takes[kind], p.Elem)
		if array != (p.Slice || p.Matrix) || fit < 0 {
			return 0, fmt.Errorf("%s: parameter %s is %s, which --arg %s is not", k.Name, p.Name, p.Type, arg.text)
		}
		if r, ok := ranges[p.Elem]; ok {
			v := int64(arg.scalar.Int32())
			if kind == "u32" {
				v = int64(arg.scalar.Uint32())
			}
			if v < r[0] || v > r[1] {
				return 0, fmt.Errorf("%s: parameter %s is %s, from %d to %d, which --arg %s is not", k.Name, p.Name,
					p.Type, r[0], r[1], arg.text)
			}
		}
		n += min(fit, 1)
	}
	return n, nil
}
