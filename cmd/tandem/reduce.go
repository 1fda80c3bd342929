package main

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/npy"
	"github.com/tandem-gpu/tandem/linalg"
	npyfiles "github.com/tandem-gpu/tandem/linalg/files"
)

// overs are the values of --over, and axes those of --axis, which is NumPy's.
var (
	overs = map[string]array.Over{"all": array.OverAll, "rows": array.OverRows, "columns": array.OverColumns}
	axes  = map[string]array.Over{"0": array.OverRows, "1": array.OverColumns}
)

// newReduction is the command of a reduction of package array.
func newReduction(a *app, op *array.Reduction) *cobra.Command {
	var out []string
	var over, axis string
	result := "The result has the type of A."
	if op.Index {
		result = "Indices are int32: of a row or a column, or, over all, counted by rows."
	}
	cmd := &cobra.Command{
		Use:   op.Name + " A.npy [-o B.npy] [--axis 0|1]",
		Short: "Compute " + op.Formula,
		Long: "Computes " + op.Formula + ".\n" +
			"Of M x N elements the result is 1 x 1; with --axis 0, or --over rows, 1 x N; with --axis 1,\n" +
			"or --over columns, M x 1. " + result + "\n" +
			"Without -o it is printed: a number, or, of more than 1000 elements, the first and last.\n" +
			"A file of one dimension is a row. Sums are exact, and rounded once, so that they do\n" +
			"not depend on the order; int32 wraps. NaN is the smallest and the largest element.",
		Example: "  tandem " + op.Name + " a.npy\n" +
			"  tandem " + op.Name + " a.npy -o b.npy --axis 0",
		Args:              needs(1),
		ValidArgsFunction: files(1, "npy"),
		RunE: a.runE(func(ctx context.Context, args []string) error {
			o, ok := overs[over]
			if !ok {
				return usagef("--over %q: give all, rows or columns", over)
			}
			if axis != "" {
				if o, ok = axes[axis]; !ok {
					return usagef("--axis %q: give 0, over the rows, or 1, over the columns", axis)
				}
			}
			choose := func(in operations) executor { return in.reduction(op, o) }
			if len(out) == 0 && !a.json {
				return a.print(ctx, op.Name, args, choose)
			}
			return a.compute(ctx, op.Name, args, out, choose)
		}),
	}
	cmd.Flags().StringVar(&over, "over", "all", "what to go over: all, rows or columns")
	cmd.RegisterFlagCompletionFunc("over", cobra.FixedCompletions([]string{"all", "rows", "columns"},
		cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().StringVar(&axis, "axis", "", "NumPy's axis: 0 over the rows, 1 over the columns")
	cmd.RegisterFlagCompletionFunc("axis", cobra.FixedCompletions([]string{"0", "1"},
		cobra.ShellCompDirectiveNoFileComp))
	cmd.MarkFlagsMutuallyExclusive("over", "axis")
	a.outputFlag(cmd, &out)
	cmd.Flags().Lookup("output").Usage = "file for the result; without it the result is printed"
	return cmd
}

// A reducer is a reduction of a file of elements T to elements D.
type reducer[D, T linalg.Element] struct {
	op   *array.Reduction
	over array.Over
}

// newReducer is the executor of a reduction of elements T.
func newReducer[T linalg.Element](op *array.Reduction, over array.Over) executor {
	if op.Index {
		return reducer[int32, T]{op, over}
	}
	return reducer[T, T]{op, over}
}

// shape is that of the result.
func (r reducer[D, T]) shape(in operand) []int {
	rows, cols := r.over.Dims(in.Dims())
	return []int{rows, cols}
}

func (r reducer[D, T]) execute(ctx context.Context, a *app, in []operand, out *output, bar *progress,
	rec *record,
) error {
	shape := r.shape(in[0])
	m, err := onDevice(ctx, a, bar, func(s *linalg.Session) (linalg.Matrix[D], error) {
		bar.begin("computing on " + s.Info().Name)
		c := linalg.NewMatrix[D](shape[0], shape[1], nil)
		start := time.Now()
		err := array.ReduceContext(linalg.WithProgress(ctx, bar.at), s, r.op, c, matrix[T](in[0]))
		rec.setTime(start, 0, float64(in[0].Size()))
		rec.setDevices(s)
		return c, err
	})
	if err != nil {
		return err
	}
	return writeMatrix(ctx, out, shape, m, bar, rec)
}

func (r reducer[D, T]) executeFiles(ctx context.Context, a *app, in []operand, limit int64, out *output, bar *progress,
	rec *record,
) (done bool, err error) {
	h := npy.Header{Type: element.TypeOf[D](), Shape: r.shape(in[0])}
	if float64(in[0].Size())+float64(h.Size()) <= float64(limit)/4 {
		return false, nil
	}
	return true, a.fromFiles(ctx, h, limit, out, bar, rec, 0, float64(in[0].Size()),
		func(ctx context.Context, s *linalg.Session, w io.WriterAt, o npyfiles.Options) error {
			return array.ReduceNPY[T](ctx, s, r.op, r.over, w, in[0].file, o)
		})
}
