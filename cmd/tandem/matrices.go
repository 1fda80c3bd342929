package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/files"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/operation"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/usage"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/userkernel"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/npy"
	"github.com/tandem-gpu/tandem/kernels"
)

// A spec is a command that computes files of files.
type spec struct {
	prefix string // of its name in a report
	inputs int    // files, which its arguments name
	half   bool   // it takes float16
	prints bool   // without -o it prints the elements
	more   []files.Target
	op     func(args []string) (operation.Operation, error)
}

// always is the op of a command without flags of its own.
func always(op operation.Operation) func([]string) (operation.Operation, error) {
	return func([]string) (operation.Operation, error) { return op, nil }
}

// matrixCommand makes cmd the command of a spec.
func (a *app) matrixCommand(cmd *cobra.Command, s spec) *cobra.Command {
	var out []string
	cmd.Args, cmd.ValidArgsFunction = needs(max(s.inputs, 1)), completeFiles(s.inputs, "npy")
	cmd.RunE = a.runE(func(ctx context.Context, args []string) error {
		op, err := s.op(args)
		if err != nil {
			return err
		}
		if s.prints && a.json && len(out) == 0 {
			return usage.Errorf("--json reports what was done, not the result: give -o FILE.npy, or leave --json out")
		}
		j := job{
			command: s.prefix + cmd.Name(), in: args[:s.inputs], header: npy.ReadHeader,
			out: append(files.TargetsOf(out), s.more...), prints: s.prints, op: op,
		}
		if s.half {
			j.header = npy.ReadSingleHeader
		}
		return a.compute(ctx, j)
	})
	for i, t := range s.more {
		name := strings.TrimPrefix(t.Flag, "--")
		cmd.Flags().StringVar(&s.more[i].Path, name, "", "file for "+t.Holds+" (required)")
		cmd.MarkFlagFilename(name, "npy")
	}
	a.outputFlag(cmd, &out)
	return cmd
}

func (a *app) outputFlag(cmd *cobra.Command, out *[]string) {
	cmd.Flags().StringArrayVarP(out, "output", "o", nil, "file for the result (required)")
	cmd.MarkFlagFilename("output", "npy")
	cmd.Flags().BoolVar(&a.fortran, "fortran", false, "write results column by column, in Fortran order")
}

func newMatMul(a *app) *cobra.Command {
	cmd := a.matrixCommand(&cobra.Command{
		Use:        "matmul A.npy B.npy -o C.npy",
		Short:      "Multiply two matrices",
		SuggestFor: []string{"multiply", "mul", "gemm", "product", "dot"},
		Long: `Matmul writes C = A*B, where A is M x K and B is K x N. Both files hold one type;
float16 is read as float32, of which the result is.
Every element of C is one chain of correctly rounded fused multiply-adds for
k = 0, 1, ... K-1 in the element type, so the bytes of C do not depend on the
device; int32 wraps. K = 0 gives zeros.

Files of one dimension are vectors, as in NumPy's matmul: A is a row, B a
column, and that dimension is missing in the result. The product of two vectors
is a number, a 0-dimensional array.

Several devices, as in --backend gpus+cpu, share a product.

--mpi shares the product out to the processes that mpirun or srun started, each
of which reads and writes its own part of the files, on a device of its own. The
bytes of C are the same. It does not take float16.`,
		Example: `  tandem matmul a.npy b.npy -o c.npy
  tandem matmul a.npy b.npy -o c.npy --backend opencl --json
  mpirun -n 4 tandem matmul a.npy b.npy -o c.npy --mpi`,
	}, spec{inputs: 2, half: true, op: always(operation.MatMul)})
	mpi := cmd.Flags().Bool("mpi", false, "share the work with the other processes of an MPI job")
	alone := cmd.RunE
	shared := a.runE(func(ctx context.Context, args []string) error {
		out, err := cmd.Flags().GetStringArray("output")
		if err != nil {
			return err
		}
		return a.matMulMPI(ctx, args, out)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *mpi {
			return shared(cmd, args)
		}
		return alone(cmd, args)
	}
	return cmd
}

func newTranspose(a *app) *cobra.Command {
	return a.matrixCommand(&cobra.Command{
		Use:   "transpose A.npy -o B.npy",
		Short: "Transpose a matrix",
		Long: `Transpose writes B = A', where A is M x N and B is N x M. A file of one dimension
stays as it is, as in NumPy.`,
		Example: `  tandem transpose a.npy -o b.npy`,
	}, spec{inputs: 1, op: always(operation.Transpose)})
}

func newSort(a *app) *cobra.Command {
	return a.matrixCommand(&cobra.Command{
		Use:   "sort A.npy -o B.npy",
		Short: "Sort each row of a matrix",
		Long: `Sort writes B, whose rows are those of A, each sorted: -0 is before +0, and NaN is
last. It takes memory of the device for A and for 16 bytes an element.`,
		Example: `  tandem sort a.npy -o b.npy`,
	}, spec{inputs: 1, op: always(operation.Sort)})
}

// newElementwise is the command of an operation on each element, which stands behind prefix.
func newElementwise(a *app, prefix string, op *kernels.Elementwise) *cobra.Command {
	inputs := strings.Join([]string{"A.npy", "B.npy"}[:op.Inputs], " ")
	example := "tandem " + prefix + op.Name + " " + strings.ToLower(inputs)
	factor := ""
	if op.Alpha {
		inputs, example = inputs+" --by FACTOR", example+" --by 2"
		factor = " FACTOR is rounded to the\n" +
			"file's type once; for an int32 file it must be a whole number of that type."
	}
	types := "int32 wraps."
	if op.Source(element.Int32) == nil {
		types = "They are floats."
	}
	var by string
	cmd := a.matrixCommand(&cobra.Command{
		Use:   op.Name + " " + inputs + " -o C.npy",
		Short: "Compute " + op.Formula + ", element by element",
		Long: "Computes C = " + op.Formula + ", element by element. All files hold one type and have one\n" +
			"shape: nothing is broadcast. " + types + factor,
		Example: "  " + example + " -o c.npy",
	}, spec{prefix: prefix, inputs: op.Inputs, op: func([]string) (operation.Operation, error) {
		if op.Alpha && by == "" {
			return nil, usage.Errorf("no factor: give --by NUMBER")
		}
		return operation.Elementwise(op, by), nil
	}})
	if op.Alpha {
		cmd.Flags().StringVar(&by, "by", "", "the factor (required)")
	}
	return cmd
}

// axes are the values of --axis, which are NumPy's; "" is none of them.
var axes = map[string]array.Over{"": array.OverAll, "0": array.OverRows, "1": array.OverColumns}

// newReduction is the command of a reduction of package array.
func newReduction(a *app, op *array.Reduction) *cobra.Command {
	result := "The result has the type of A."
	if op.Index {
		result = "Indices are int32: of a row or a column, or, over all, counted by rows."
	}
	types := "int32 wraps."
	if op.Floats {
		types = "A is of floats."
	}
	rule := "The sum is exact, and rounded once, so\n" +
		"that it does not depend on the order. " + types
	if strings.HasSuffix(op.Name, "min") || strings.HasSuffix(op.Name, "max") {
		rule = "NaN is the smallest and the largest element."
	}
	var axis string
	cmd := a.matrixCommand(&cobra.Command{
		Use:   op.Name + " A.npy [-o B.npy] [--axis 0|1]",
		Short: "Compute " + op.Formula,
		Long: "Computes " + op.Formula + ".\n" +
			"Of M x N elements the result is 1 x 1; with --axis 0, over the rows, 1 x N; with --axis 1,\n" +
			"over the columns, M x 1. " + result + "\n" +
			"Without -o it is printed: a number, or, of more than 1000 elements, the first and last.\n" +
			"A file of one dimension is a row. " + rule,
		Example: "  tandem " + op.Name + " a.npy\n" +
			"  tandem " + op.Name + " a.npy -o b.npy --axis 0",
	}, spec{inputs: 1, prints: true, op: func([]string) (operation.Operation, error) {
		over, ok := axes[axis]
		if !ok {
			return nil, usage.Errorf("--axis %q: give 0, over the rows, or 1, over the columns", axis)
		}
		return operation.Reduce(op, over), nil
	}})
	cmd.Flags().StringVar(&axis, "axis", "", "NumPy's axis: 0 over the rows, 1 over the columns (default: over all)")
	cmd.RegisterFlagCompletionFunc("axis", cobra.FixedCompletions([]string{"0", "1"},
		cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().Lookup("output").Usage = "file for the result; without it the result is printed"
	return cmd
}

// newRandom has the commands of random numbers.
func newRandom(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "random DISTRIBUTION",
		Short: "Make random numbers",
		Long: "Writes a .npy file of random numbers. A number depends on the seed and its place\n" +
			"alone, and has the same bits on every device.",
		Example: "  tandem random normal 1000x7 --seed 5 --type f4 -o r.npy",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		// so that a distribution that there is not is named, in place of a flag that those have
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
	}
	cmd.AddCommand(
		newDistribution(a, "uniform", "of the interval from 0 to 1, without 1", false),
		newDistribution(a, "normal", "of the normal distribution with mean 0 and variance 1", true),
	)
	return cmd
}

func newDistribution(a *app, name, of string, normal bool) *cobra.Command {
	var seed uint64
	var typ string
	cmd := a.matrixCommand(&cobra.Command{
		Use:   name + " ROWSxCOLUMNS -o R.npy",
		Short: "Make random numbers " + of,
		Long: "Writes a .npy file of random numbers " + of + ":\n" +
			"those of Philox4x32-10 with the seed as its key, stream 0, as package array's Stream has\n" +
			"them.",
		Example: "  tandem random " + name + " 1000x7 --seed 5 --type f4 -o r.npy",
	}, spec{prefix: "random ", op: func(args []string) (operation.Operation, error) {
		dims, err := userkernel.ParseDims(args[0], 2, 0)
		if err != nil {
			return nil, usage.Errorf("%w", err)
		}
		if len(dims) != 2 {
			return nil, usage.Errorf("%q: give rows and columns, as in 1000x7", args[0])
		}
		t, err := element.ParseType(typ)
		if err != nil || t.Integer() {
			return nil, usage.Errorf("--type %s: give f4 or f8", typ)
		}
		return operation.Random(t, normal, seed, dims[0], dims[1]), nil
	}})
	cmd.Flags().Uint64Var(&seed, "seed", 0, "seed, a number from 0 to 2^64-1")
	cmd.Flags().StringVar(&typ, "type", "f8", "type of the numbers: f4 or f8")
	return cmd
}
