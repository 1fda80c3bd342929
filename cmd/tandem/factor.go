package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/npy"
	"github.com/tandem-gpu/tandem/linalg"
)

// A factorCommand is a command of factorizations: what it says of itself, how many files it reads,
// what it writes beside -o, and what it does.
type factorCommand struct {
	use, short, long, example string
	files                     int
	more                      []moreOutput
	choose                    func(factorizations) factorization
}

// A moreOutput is a file beside that of -o: its flag, what errors call its contents, and help.
type moreOutput struct{ flag, what, help string }

var factorCommands = []factorCommand{
	{
		use:   "lu A.npy -o LU.npy --pivots P.npy",
		short: "Factor a matrix as P*A = L*U",
		long: `Lu factors P*A = L*U with partial pivoting, where A is M x N. The output holds L
below the diagonal, without its own, which is 1, and U above. P.npy has the row,
counted from 0, that each row changed places with, the first at first: as the
pivots of LAPACK and of scipy.linalg.lu_factor, in int32. The bytes of both do not
depend on the device. A singular matrix is factored as well.`,
		example: `  tandem lu a.npy -o lu.npy --pivots p.npy`,
		files:   1,
		more:    []moreOutput{{"pivots", "the pivots", "the pivots"}},
		choose:  func(f factorizations) factorization { return f.lu },
	},
	{
		use:   "cholesky A.npy -o L.npy",
		short: "Factor a symmetric positive definite matrix as A = L*L'",
		long: `Cholesky factors A = L*L', where A is symmetric and positive definite. Of A its
lower triangle is read. L is lower triangular, with zeros above. The bytes of L do
not depend on the device. A matrix that is not positive definite is an error, which
names the row.`,
		example: `  tandem cholesky a.npy -o l.npy`,
		files:   1,
		choose:  func(f factorizations) factorization { return f.cholesky },
	},
	{
		use:   "qr A.npy -o Q.npy --r R.npy",
		short: "Factor a matrix as Q*R",
		long: `Qr factors A = Q*R by Householder's method, where A is M x N. With K the smaller of
M and N, Q is M x K, with orthogonal columns of length 1, and R is K x N, with zeros
below the diagonal. The bytes of both do not depend on the device.`,
		example: `  tandem qr a.npy -o q.npy --r r.npy`,
		files:   1,
		more:    []moreOutput{{"r", "R", "R"}},
		choose:  func(f factorizations) factorization { return f.qr },
	},
	{
		use:   "eigh A.npy -o W.npy --vectors V.npy",
		short: "Find the eigenvalues and eigenvectors of a symmetric matrix",
		long: `Eigh finds the eigenvalues of a symmetric matrix, of which the lower triangle is
read, in ascending order, and its eigenvectors, which are the columns of V. The bytes
of both, signs too, do not depend on the device.`,
		example: `  tandem eigh a.npy -o w.npy --vectors v.npy`,
		files:   1,
		more:    []moreOutput{{"vectors", "the eigenvectors", "the eigenvectors"}},
		choose:  func(f factorizations) factorization { return f.eigh },
	},
	{
		use:   "svd A.npy -o S.npy --u U.npy --vt VT.npy",
		short: "Find the singular values and vectors of a matrix",
		long: `Svd factors A = U*diag(S)*VT, where A is M x N. With K the smaller of M and N, S is
the K singular values in descending order, U is M x K and VT is K x N. The bytes of
all, signs of vectors too, do not depend on the device.`,
		example: `  tandem svd a.npy -o s.npy --u u.npy --vt vt.npy`,
		files:   1,
		more: []moreOutput{
			{"u", "U", "the left singular vectors"}, {"vt", "VT", "the right singular vectors, in rows"},
		},
		choose: func(f factorizations) factorization { return f.svd },
	},
	{
		use:   "solve A.npy B.npy -o X.npy",
		short: "Solve A*X = B",
		long: `Solve writes the solution X of A*X = B by the LU factorization, where A is N x N and
B is N x K. Both files hold one type. A file B of one dimension is a column, and so
is X then. The bytes of X do not depend on the device. A singular matrix is an
error, which names the pivot.`,
		example: `  tandem solve a.npy b.npy -o x.npy`,
		files:   2,
		choose:  func(f factorizations) factorization { return f.solve },
	},
}

func newFactor(a *app, c factorCommand) *cobra.Command {
	var out []string
	more := make([]string, len(c.more))
	cmd := &cobra.Command{
		Use:               c.use,
		Short:             c.short,
		Long:              c.long,
		Example:           c.example,
		Args:              needs(c.files),
		ValidArgsFunction: files(c.files, "npy"),
	}
	cmd.RunE = a.runE(func(ctx context.Context, args []string) error {
		return a.factor(ctx, cmd.Name(), c, args, out, more)
	})
	for i, m := range c.more {
		cmd.Flags().StringVar(&more[i], m.flag, "", "file for "+m.help+" (required)")
		cmd.MarkFlagFilename(m.flag, "npy")
	}
	a.outputFlag(cmd, &out)
	return cmd
}

// factorizations are the commands of a floating-point type; nil for others.
type factorizations struct{ lu, cholesky, qr, eigh, svd, solve factorization }

// A factorization computes results of files, each of which is a matrix to be written, and says how
// many operations that takes.
type factorization func(ctx context.Context, s *linalg.Session, in []operand) ([]resultWriter, float64, error)

type resultWriter func(ctx context.Context, out *output, bar *progress, rec *record) error

func factorizationsOf[T linalg.Float]() factorizations {
	return factorizations{
		lu: factorLU[T], cholesky: factorCholesky[T], qr: factorQR[T], eigh: factorEigSym[T], svd: factorSVD[T],
		solve: solveLU[T],
	}
}

// resultOf writes m as an array of a shape.
func resultOf[T linalg.Element](m linalg.Matrix[T], shape ...int) resultWriter {
	return func(ctx context.Context, out *output, bar *progress, rec *record) error {
		return writeMatrix(ctx, out, shape, m, bar, rec)
	}
}

func factorLU[T linalg.Float](ctx context.Context, s *linalg.Session, in []operand) ([]resultWriter, float64, error) {
	lu, err := linalg.FactorLU(matrix[T](in[0]), linalg.On(s), linalg.WithContext(ctx))
	if err != nil {
		return nil, 0, err
	}
	packed, pivots := lu.Packed(), linalg.NewMatrix[int32](1, len(lu.Pivots()), nil)
	for i, p := range lu.Pivots() {
		pivots.Data[i] = int32(p)
	}
	return []resultWriter{resultOf(packed, packed.Rows, packed.Cols), resultOf(pivots, pivots.Cols)},
		luFlops(packed.Rows, packed.Cols), nil
}

// luFlops is the operations of an LU factorization.
func luFlops(rows, cols int) float64 {
	m, n, k := float64(rows), float64(cols), float64(min(rows, cols))
	return 2 * k * (m*n - (m+n)*k/2 + k*k/3)
}

func factorCholesky[T linalg.Float](
	ctx context.Context, s *linalg.Session, in []operand,
) ([]resultWriter, float64, error) {
	c, err := linalg.FactorCholesky(matrix[T](in[0]), linalg.On(s), linalg.WithContext(ctx))
	if err != nil {
		return nil, 0, err
	}
	n := float64(c.L().Rows)
	return []resultWriter{resultOf(c.L(), c.L().Rows, c.L().Cols)}, n * n * n / 3, nil
}

func factorQR[T linalg.Float](ctx context.Context, s *linalg.Session, in []operand) ([]resultWriter, float64, error) {
	qr, err := linalg.FactorQR(matrix[T](in[0]), linalg.On(s), linalg.WithContext(ctx))
	if err != nil {
		return nil, 0, err
	}
	q, err := qr.Q(linalg.WithContext(ctx))
	if err != nil {
		return nil, 0, err
	}
	r, m, k := qr.R(), float64(q.Rows), float64(q.Cols)
	return []resultWriter{resultOf(q, q.Rows, q.Cols), resultOf(r, r.Rows, r.Cols)},
		2*luFlops(q.Rows, r.Cols) + 2*k*k*(m-k/3), nil
}

func factorEigSym[T linalg.Float](
	ctx context.Context, s *linalg.Session, in []operand,
) ([]resultWriter, float64, error) {
	f, err := linalg.FactorEigSym(matrix[T](in[0]), linalg.On(s), linalg.WithContext(ctx))
	if err != nil {
		return nil, 0, err
	}
	n := len(f.Values())
	size := float64(n)
	return []resultWriter{resultOf(linalg.NewMatrix(1, n, f.Values()), n), resultOf(f.Vectors(), n, n)},
		size * size * size * 14 / 3, nil
}

func factorSVD[T linalg.Float](ctx context.Context, s *linalg.Session, in []operand) ([]resultWriter, float64, error) {
	f, err := linalg.FactorSVD(matrix[T](in[0]), linalg.On(s), linalg.WithContext(ctx))
	if err != nil {
		return nil, 0, err
	}
	u, vt, k := f.U(), f.VT(), len(f.Values())
	small, large := float64(k), float64(max(u.Rows, vt.Cols))
	return []resultWriter{
		resultOf(linalg.NewMatrix(1, k, f.Values()), k), resultOf(u, u.Rows, k), resultOf(vt, k, vt.Cols),
	}, 12 * small * small * large, nil
}

func solveLU[T linalg.Float](ctx context.Context, s *linalg.Session, in []operand) ([]resultWriter, float64, error) {
	b := matrix[T](in[1])
	if len(in[1].Shape) == 1 {
		b = linalg.Matrix[T]{Rows: b.Cols, Cols: 1, Stride: 1, Data: b.Data}
	}
	a := matrix[T](in[0])
	if a.Rows != a.Cols || a.Rows != b.Rows {
		return nil, 0, fmt.Errorf("%s and %s: the first is to be square, with the rows of the second", in[0], in[1])
	}
	lu, err := linalg.FactorLU(a, linalg.On(s), linalg.WithContext(ctx))
	if err != nil {
		return nil, 0, err
	}
	x, err := lu.Solve(b, linalg.WithContext(ctx))
	if err != nil {
		return nil, 0, err
	}
	n := float64(x.Rows)
	return []resultWriter{resultOf(x, in[1].Shape...)}, luFlops(x.Rows, x.Rows) + 2*n*n*float64(x.Cols), nil
}

// factor is what the commands of factorizations do: read, compute, write, report. more is the files
// of c.more.
func (a *app) factor(ctx context.Context, name string, c factorCommand, paths, out, more []string) error {
	start := time.Now()
	if err := checkInputs(paths); err != nil {
		return err
	}
	if err := checkOutputs(out, 1); err != nil {
		return err
	}
	for i, m := range c.more {
		switch more[i] {
		case "":
			return usagef("no file for %s: give --%s FILE.npy", m.what, m.flag)
		case "-":
			return usagef("--%s -: only -o may be standard output: give --%[1]s FILE.npy", m.flag)
		}
	}
	outs, err := a.createOutputs(ctx, out)
	if err != nil {
		return err
	}
	taken := map[string]string{fileOf(out[0]): "-o"}
	for i, m := range c.more {
		flag, path := "--"+m.flag, more[i]
		if other := taken[fileOf(path)]; other != "" {
			outs.abort()
			return usagef("%s %s is the file of %s", flag, path, other)
		}
		taken[fileOf(path)] = flag
		o, err := createOutput(ctx, flag, path)
		if err != nil {
			outs.abort()
			return err
		}
		outs = append(outs, o)
	}
	rec := &record{Command: name}
	return a.deliver(start, outs, rec, func(bar *progress) error {
		in, err := a.loadAll(ctx, paths, bar, npy.ReadHeader)
		if err != nil {
			return err
		}
		rec.Inputs = fileRecords(in)
		results, err := a.factorOn(ctx, in, c.choose(factorizationsIn(in[0].Type)), bar, rec)
		if err != nil {
			return err
		}
		for i, write := range results {
			if err := write(ctx, outs[i], bar, rec); err != nil {
				return err
			}
		}
		return nil
	})
}

// factorOn opens the device and computes.
func (a *app) factorOn(ctx context.Context, in []operand, f factorization, bar *progress, rec *record,
) ([]resultWriter, error) {
	if f == nil {
		return nil, fmt.Errorf("%s: %w: factorizations are of float32 and float64; convert it with numpy, as in "+
			"x.astype('f8')", in[0], backend.ErrUnsupported)
	}
	if len(in[0].Shape) != 2 {
		return nil, fmt.Errorf("%s is no matrix", in[0])
	}
	return onDevice(ctx, a, bar, func(s *linalg.Session) ([]resultWriter, error) {
		bar.begin("computing on " + s.Info().Name)
		start := time.Now()
		results, flops, err := f(linalg.WithProgress(ctx, bar.at), s, in)
		rec.setTime(start, flops, 0)
		rec.setDevices(s)
		return results, err
	})
}
