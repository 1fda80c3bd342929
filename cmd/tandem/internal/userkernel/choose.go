package userkernel

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/files"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/gpu/compiler"
	"github.com/tandem-gpu/tandem/kernels"
)

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
func (j *Job) instance() (*compiler.Instance, error) {
	if _, err := os.Stat(j.file); err != nil {
		return nil, err
	}
	all, err := compiler.Instances(filepath.Dir(j.file))
	if err != nil {
		return nil, err
	}
	var names, misfits []string
	var best *compiler.Instance
	least := 0
	for i := range all {
		k := &all[i]
		name, distance := k.Kernel, j.distance
		if j.isMap {
			name, distance = k.Map, j.mapDistance
		} else if k.Map != "" {
			continue
		}
		if name == "" || filepath.Base(k.File) != filepath.Base(j.file) {
			continue
		}
		if names = append(names, name); name != j.kernel {
			continue
		}
		n, err := distance(k)
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
		return nil, fmt.Errorf("%s: the arguments do not fit\n%s", j.file, strings.Join(misfits, "\n"))
	}
	what := "kernel " + j.kernel
	if j.isMap {
		what = "function " + j.kernel + " under //tandem:map"
	}
	return nil, fmt.Errorf("%s has no %s; it has %s", j.file, what,
		cmp.Or(strings.Join(slices.Compact(names), ", "), "none"))
}

// distance is how many arguments are not of the very type that k has, but of one that it takes.
func (j *Job) distance(k *compiler.Instance) (n int, err error) {
	if len(k.Params) != len(j.args) {
		return 0, fmt.Errorf("%s takes %d arguments, and there are %d: one --arg for each parameter", k.Name,
			len(k.Params), len(j.args))
	}
	for i, p := range k.Params {
		a := &j.args[i]
		kind := a.kind
		if a.isArray() {
			kind = a.data.Type.NumPy()
		}
		fit := slices.Index(takes[kind], p.Elem)
		if a.isArray() != (p.Slice || p.Matrix) || fit < 0 {
			return 0, fmt.Errorf("%s: parameter %s is %s, which --arg %s is not", k.Name, p.Name, p.Type, a.text)
		}
		if r, ok := ranges[p.Elem]; ok {
			v := int64(a.scalar.Int32())
			if kind == "u32" {
				v = int64(a.scalar.Uint32())
			}
			if v < r[0] || v > r[1] {
				return 0, fmt.Errorf("%s: parameter %s is %s, from %d to %d, which --arg %s is not", k.Name, p.Name,
					p.Type, r[0], r[1], a.text)
			}
		}
		n += min(fit, 1)
	}
	return n, nil
}

// mapDistance is distance for files and the map k. Its kernel's parameters are the result and, for
// each of the map, a matrix and a number.
func (j *Job) mapDistance(k *compiler.Instance) (n int, err error) {
	if want := len(k.Params) / 2; want != len(j.args) {
		return 0, fmt.Errorf("%s has %d parameters, and there are %d files: one for each", k.Name, want, len(j.args))
	}
	if _, err := element.ParseType(k.Params[0].Elem); err != nil {
		return 0, fmt.Errorf("%s gives %s, which is no type of these files: convert it to float32, float64 or int32",
			k.Name, k.Params[0].Elem)
	}
	first := j.args[0].data
	for i, a := range j.args {
		if !slices.Equal(a.data.Shape, first.Shape) {
			return 0, fmt.Errorf("%s of %s and %s: the shapes differ, and nothing is broadcast", k.Name, first, a.data)
		}
		elem := k.Params[1+2*i].Elem
		fit := slices.Index(takes[a.data.Type.NumPy()], elem)
		if fit < 0 {
			return 0, fmt.Errorf("%s: parameter %d is %s, which %s is not", k.Name, i+1, elem, a.data)
		}
		n += min(fit, 1)
	}
	return n, nil
}

// spread makes the grid and the arguments of a map's kernel of the files.
func (j *Job) spread(info backend.Info, k *compiler.Instance) error {
	typ, err := element.ParseType(k.Params[0].Elem)
	if err != nil {
		return err
	}
	first := j.args[0].data
	rows, cols := first.Dims()
	j.grid = kernels.ElementwiseGrid(&info, int64(rows), int64(cols))
	c, err := files.Zeros(typ, first.Shape)
	args := []arg{{data: c, result: true}}
	for _, a := range j.args {
		number := arg{scalar: backend.Arg{Size: a.data.Type.Size()}} // in the place of a matrix, which there is
		args = append(args, a, number)
	}
	j.args = args
	return err
}
