package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tandem-gpu/tandem/cluster"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/files"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/operation"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/screen"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/usage"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/wait"
	"github.com/tandem-gpu/tandem/conformance"
	"github.com/tandem-gpu/tandem/internal/clock"
	"github.com/tandem-gpu/tandem/internal/npy"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
)

// errSaidElsewhere: another rank prints what went wrong.
var errSaidElsewhere = errors.New("the first rank says what went wrong")

// ranks is what a report says of an MPI job.
type ranks struct {
	Library string `json:"library"`
	Ranks   int    `json:"ranks"`
	Grid    [2]int `json:"grid"` // rows and columns of ranks
}

func ranksOf(g *cluster.Grid) *ranks {
	rows, cols := g.Dims()
	return &ranks{g.Comm().Library(), g.Comm().Size(), [2]int{rows, cols}}
}

func (r *ranks) String() string {
	return fmt.Sprintf("%d in a grid of %dx%d, %s", r.Ranks, r.Grid[0], r.Grid[1], r.Library)
}

// matMulMPI is matmul --mpi: the same product by all ranks of a job. The first rank alone reports.
func (a *app) matMulMPI(ctx context.Context, paths, out []string) error {
	return a.onRanks(ctx, fmt.Sprint("matmul ", a.fortran), func(
		ctx context.Context, c *cluster.Comm, bar *screen.Progress,
	) error {
		start := time.Now()
		if err := c.Agree(ctx, checkMPI(paths, out)); err != nil {
			return err
		}
		in, shape, err := inspect(ctx, c, paths)
		if err != nil {
			return err
		}
		s, err := a.openOnRanks(ctx, c, bar)
		if err != nil {
			return err
		}
		defer s.Close()
		if err := c.Agree(ctx, fitsRanks(c, in, shape)); err != nil {
			return err
		}
		g, err := c.Grid(ctx, 0, 0)
		if err != nil {
			return err
		}
		rec := &record{Command: "matmul", Device: s.Info(), Inputs: fileRecords(in), MPI: ranksOf(g)}
		l := cluster.Layout{Shape: shape, Fortran: a.fortran}
		multiply := files.InType(in[0].Type, multiplyMPI[float32], multiplyMPI[float64], multiplyMPI[int32])
		if err := multiply(ctx, s, g, in, out[0], l, bar, rec); err != nil || c.Rank() > 0 {
			return err
		}
		bar.Close()
		rec.TotalSeconds = time.Since(start).Seconds()
		return a.report(rec, false)
	})
}

// onRanks calls f on every rank; the first has a bar. call is what was asked for, which must be the
// same on all; package cluster compares the files.
func (a *app) onRanks(ctx context.Context, call string,
	f func(context.Context, *cluster.Comm, *screen.Progress) error,
) error {
	err := cluster.Run(ctx, func(ctx context.Context, c *cluster.Comm) error {
		if err := c.Same(ctx, "another command or other flags", []byte(call)); err != nil {
			return err
		}
		var bar *screen.Progress
		if c.Rank() == 0 {
			bar = screen.NewProgress(a.stderr)
			defer bar.Close()
		}
		return f(ctx, c, bar)
	})
	var e *cluster.Error
	switch {
	case errors.As(err, &e) && e.Here > 0:
		return errSaidElsewhere
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted; no output was written")
	}
	return err
}

// openOnRanks opens a device on every rank, or on none.
func (a *app) openOnRanks(ctx context.Context, c *cluster.Comm, bar *screen.Progress) (*linalg.Session, error) {
	bar.Begin("opening the device")
	s, err := c.Open(a.backend)
	if err = c.Agree(ctx, err); err != nil && s != nil {
		s.Close()
	}
	return s, err
}

// checkMPI checks the names of files, which every rank must be able to open.
func checkMPI(paths, out []string) error {
	if err := files.CheckTargets(files.TargetsOf(out), 1); err != nil {
		return err
	}
	for _, p := range append(paths[:len(paths):len(paths)], out...) {
		if p == "-" {
			return usage.Errorf("-: with --mpi every rank opens the files itself; name files")
		}
	}
	return nil
}

// inspect looks at the operands, and gives the shape of their product.
func inspect(ctx context.Context, c *cluster.Comm, paths []string) (in []files.Operand, shape []int, err error) {
	for _, p := range paths {
		f, err := cluster.Stat(ctx, c, p)
		if err != nil {
			return nil, nil, err
		}
		in = append(in, files.Operand{Path: p, Header: &npy.Header{Type: f.Type, Shape: f.Shape}})
	}
	if err = files.SameType(in[0], in[1]); err == nil {
		shape, err = operation.ProductShape(in[0], in[1])
	}
	return in, shape, c.Agree(ctx, err)
}

// fitsRanks refuses what the ranks of this machine cannot hold.
func fitsRanks(c *cluster.Comm, in []files.Operand, shape []int) error {
	all := (&npy.Header{Type: in[0].Type, Shape: shape}).Size()
	for _, o := range in {
		all += o.Size()
	}
	_, here := c.Local()
	return files.FitsHost(float64(all) * float64(here) / float64(c.Size()))
}

// multiplyMPI computes the product of files on the ranks of a grid, and writes it.
func multiplyMPI[T linalg.Element](ctx context.Context, s *linalg.Session, g *cluster.Grid, in []files.Operand,
	out string, l cluster.Layout, bar *screen.Progress, rec *record,
) error {
	bar.Begin("reading " + in[0].Path)
	x, err := cluster.ReadNPY[T](ctx, g, in[0].Path)
	if err != nil {
		return err
	}
	bar.Begin("reading " + in[1].Path)
	read := cluster.ReadNPY[T]
	if len(in[1].Shape) == 1 {
		read = cluster.ReadNPYColumn[T]
	}
	y, err := read(ctx, g, in[1].Path)
	if err != nil {
		return err
	}
	bar.Begin("computing")
	start := clock.Now()
	p, err := wait.For(ctx, wait.Grace, func() (*cluster.Matrix[T], error) {
		return cluster.MatMul(linalg.WithProgress(ctx, bar.At), s, x, y)
	})
	if err != nil {
		return err
	}
	m, k := in[0].Dims()
	n := 1
	if len(in[1].Shape) == 2 {
		n = in[1].Shape[1]
	}
	rec.setTime(start, 2*float64(m)*float64(n)*float64(k), 0)
	bar.Begin("writing " + out)
	if err := p.WriteNPY(ctx, out, l); err != nil {
		return err
	}
	rec.Outputs = []fileRecord{{Path: out, Type: in[0].Type.String(), Shape: l.Shape}}
	return nil
}

// conformanceBlock cuts the matrices of the cases, which are small, into blocks for many ranks.
const conformanceBlock = 16

// conformanceMPI is conformance --mpi: the cases of products, each by all ranks of a job.
func (a *app) conformanceMPI(ctx context.Context, quick bool) error {
	return a.onRanks(ctx, fmt.Sprint("conformance ", quick), func(
		ctx context.Context, c *cluster.Comm, bar *screen.Progress,
	) error {
		start := time.Now()
		s, err := a.openOnRanks(ctx, c, bar)
		if err != nil {
			return err
		}
		defer s.Close()
		g, err := c.Grid(ctx, 0, conformanceBlock)
		if err != nil {
			return err
		}
		bar.Begin("computing")
		digests, info, cases := map[string]string{}, s.Info(), conformance.Cases()
		for i, x := range cases {
			if x.Kernel != "matmul" || quick && !x.Quick || !kernels.Supports(&info, x.Type) {
				continue
			}
			digest := files.InType(x.Type, caseMPI[float32], caseMPI[float64], caseMPI[int32])
			if digests[x.Name()], err = digest(ctx, s, g, x); err != nil {
				return fmt.Errorf("%s: %w", x.Name(), err)
			}
			bar.At(float64(i) / float64(len(cases)))
		}
		if c.Rank() > 0 {
			return nil
		}
		bar.Close()
		j := conformance.Judge(info, digests)
		j.Quick = quick
		r := &conformanceReport{*j, j.Passed(), time.Since(start).Seconds(), ranksOf(g)}
		if a.json {
			err = a.printJSON([]*conformanceReport{r})
		} else {
			err = a.printConformance(r)
		}
		if err == nil && !r.Pass {
			err = errDiffer
		}
		return err
	})
}

// caseMPI is the digest of a product on the ranks of a grid, on the first of them.
func caseMPI[T linalg.Element](ctx context.Context, s *linalg.Session, g *cluster.Grid, x *conformance.Case,
) (string, error) {
	alpha, a, b, beta, c := conformance.Operands[T](x)
	var d [3]*cluster.Matrix[T]
	for i, m := range []linalg.Matrix[T]{
		linalg.NewMatrix(x.M, x.K, a), linalg.NewMatrix(x.K, x.N, b), linalg.NewMatrix(x.M, x.N, c),
	} {
		if g.Comm().Rank() > 0 {
			m.Data = nil
		}
		var err error
		if d[i], err = cluster.Scatter(ctx, g, 0, m); err != nil {
			return "", err
		}
	}
	if err := cluster.Gemm(ctx, s, alpha, 'N', d[0], 'N', d[1], beta, d[2]); err != nil {
		return "", err
	}
	got, err := d[2].Gather(ctx, 0)
	if err != nil || g.Comm().Rank() > 0 {
		return "", err
	}
	return conformance.Digest(got.Data), nil
}
