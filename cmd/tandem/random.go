package main

import (
	"context"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/linalg"
)

// A random says what random numbers a file is to have.
type random struct {
	normal     bool
	rows, cols int
	stream     array.Stream
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
	var out []string
	var typ string
	r := random{normal: normal}
	cmd := &cobra.Command{
		Use:   name + " ROWSxCOLUMNS -o R.npy",
		Short: "Make random numbers " + of,
		Long: "Writes a .npy file of random numbers " + of + ":\n" +
			"those of Philox4x32-10 with the seed as its key, stream 0, as package array's Stream has\n" +
			"them.",
		Example: "  tandem random " + name + " 1000x7 --seed 5 --type f4 -o r.npy",
		Args:    needs(1),
		RunE: a.runE(func(ctx context.Context, args []string) error {
			dims, err := parseDims(args[0], 2, 0)
			if err != nil || len(dims) != 2 {
				return usagef("%q: give rows and columns, as in 1000x7", args[0])
			}
			r.rows, r.cols = dims[0], dims[1]
			t, err := element.ParseType(typ)
			if err != nil || t.Integer() {
				return usagef("--type %s: give f4 or f8", typ)
			}
			return a.produce(ctx, "random "+name, out, func(out *output, bar *progress, rec *record) error {
				if t == element.Float32 {
					return writeRandom[float32](ctx, a, r, out, bar, rec)
				}
				return writeRandom[float64](ctx, a, r, out, bar, rec)
			})
		}),
	}
	cmd.Flags().Uint64Var(&r.stream.Seed, "seed", 0, "seed, a number from 0 to 2^64-1")
	cmd.Flags().StringVar(&typ, "type", "f8", "type of the numbers: f4 or f8")
	a.outputFlag(cmd, &out)
	return cmd
}

// writeRandom makes random numbers, and writes them.
func writeRandom[T array.Float](ctx context.Context, a *app, r random, out *output, bar *progress, rec *record) error {
	m, err := onDevice(ctx, a, bar, func(s *linalg.Session) (m linalg.Matrix[T], err error) {
		bytes := float64(r.rows) * float64(r.cols) * float64(elementSize[T]())
		if err := fitsHost(int64(min(bytes, math.MaxInt64/2))); err != nil {
			return m, err
		}
		bar.begin("computing on " + s.Info().Name)
		start := time.Now()
		c, err := linalg.NewArray[T](s, r.rows, r.cols)
		if err != nil {
			return m, err
		}
		fill := array.Uniform[T]
		if r.normal {
			fill = array.Normal
		}
		if err := fill(&r.stream, c); err != nil {
			return m, err
		}
		m, err = c.Download()
		rec.setTime(start, 0, bytes)
		rec.Device = s.Info()
		return m, err
	})
	if err != nil {
		return err
	}
	return writeMatrix(ctx, out, []int{r.rows, r.cols}, m, bar, rec)
}
