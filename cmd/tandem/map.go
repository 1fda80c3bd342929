package main

import (
	"context"
	"fmt"
	"go/token"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/gpu/compiler"
	"github.com/tandem-gpu/tandem/kernels"
)

// newMap has the commands of package array's functions, and is itself that of the user's own.
func newMap(a *app) *cobra.Command {
	var function string
	var out []string
	cmd := &cobra.Command{
		Use:   "map FUNCTION|FILE.go A.npy... -o C.npy",
		Short: "Compute a function of each element",
		Long: `Computes a function of each element of .npy files. Elementary functions have the
same bits on every device.

FUNCTION is one of those below. A function of your own is one of FILE.go, which
--func names and a line //tandem:map marks (docs/kernels.md); there is a file for
each of its parameters, of its type, and all have one shape: nothing is broadcast.
The files' types choose among those that a generic function lists. It is compiled
each time. FILE.go is part of a Go package whose module requires Tandem's, and
this needs the go command.`,
		Example: `  tandem map exp a.npy -o b.npy
  tandem map gelu.go --func gelu a.npy -o b.npy`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && filepath.Ext(args[0]) == ".go" {
				return nil
			}
			return cobra.NoArgs(cmd, args)
		},
		ValidArgsFunction: files(1+maxMapFiles, "go", "npy"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return a.runE(func(ctx context.Context, args []string) error {
				job, err := parseMap(args[0], function, args[1:], out)
				if err != nil {
					return err
				}
				return a.runKernel(ctx, job)
			})(cmd, args)
		},
	}
	cmd.Flags().StringVar(&function, "func", "", "the function of FILE.go (required)")
	cmd.RegisterFlagCompletionFunc("func", cobra.NoFileCompletions)
	a.outputFlag(cmd, &out)
	for _, op := range array.Operations() {
		if !slices.Contains(kernels.Elementwises(), op) {
			cmd.AddCommand(newElementwise(a, "map ", op))
		}
	}
	return cmd
}

// maxMapFiles is how many parameters a map has at most.
const maxMapFiles = 4

// parseMap checks what the user gives, without looking at files.
func parseMap(file, function string, paths, out []string) (*kernelJob, error) {
	switch {
	case function == "":
		return nil, usagef("no function: give --func NAME, one of %s under //tandem:map", file)
	case !token.IsIdentifier(function):
		return nil, usagef("--func %s: not the name of a function", function)
	case len(paths) == 0:
		return nil, usagef("no file: give one for each parameter of %s", function)
	}
	job := &kernelJob{command: "map " + function, file: file, kernel: function, isMap: true, out: out}
	for _, path := range paths {
		job.args = append(job.args, kernelArg{path: path})
	}
	if err := checkInputs(paths); err != nil {
		return nil, err
	}
	return job, checkOutputs(out, 1)
}

// mapDistance is how many files are not of the very type that the map k has, but of one that it
// takes. The kernel's parameters are the result and, for each of the map, a matrix and a number.
func (job *kernelJob) mapDistance(k *compiler.Instance, loaded []operand) (n int, err error) {
	if want := len(k.Params) / 2; want != len(loaded) {
		return 0, fmt.Errorf("%s has %d parameters, and there are %d files: one for each", k.Name, want, len(loaded))
	}
	if _, err := element.ParseType(k.Params[0].Elem); err != nil {
		return 0, fmt.Errorf("%s gives %s, which is no type of these files: convert it to float32, float64 or int32",
			k.Name, k.Params[0].Elem)
	}
	for i, o := range loaded {
		if !slices.Equal(o.Shape, loaded[0].Shape) {
			return 0, fmt.Errorf("%s of %s and %s: the shapes differ, and nothing is broadcast", k.Name, loaded[0], o)
		}
		elem := k.Params[1+2*i].Elem
		fit := slices.Index(takes[o.Type.NumPy()], elem)
		if fit < 0 {
			return 0, fmt.Errorf("%s: parameter %d is %s, which %s is not", k.Name, i+1, elem, o)
		}
		n += min(fit, 1)
	}
	return n, nil
}

// spread makes the grid and the arguments of a map's kernel of the files, and gives the files that
// go with them.
func (job *kernelJob) spread(info backend.Info, k *compiler.Instance, loaded []operand) []operand {
	typ, _ := element.ParseType(k.Params[0].Elem)
	rows, cols := loaded[0].Dims()
	job.grid = kernels.ElementwiseGrid(&info, int64(rows), int64(cols))
	args := []kernelArg{{typ: typ, shape: loaded[0].Shape, result: true}}
	files := []operand{{}}
	for i, o := range loaded {
		number := kernelArg{scalar: backend.Arg{Size: o.Type.Size()}} // in the place of a matrix, which there is
		args, files = append(args, job.args[i], number), append(files, o, operand{})
	}
	job.args = args
	return files
}
