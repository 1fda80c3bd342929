package main

import (
	"github.com/spf13/cobra"

	"github.com/tandem-gpu/tandem/cmd/tandem/internal/files"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/operation"
)

// newFactors are the commands of factorizations, and of equations.
func newFactors(a *app) []*cobra.Command {
	factor := func(use, short, long, example string, op operation.Operation, more ...files.Target) *cobra.Command {
		return a.matrixCommand(&cobra.Command{Use: use, Short: short, Long: long, Example: example},
			spec{inputs: 1, more: more, op: always(op)})
	}
	return []*cobra.Command{
		factor("lu A.npy -o LU.npy --pivots P.npy", "Factor a matrix as P*A = L*U",
			`Lu factors P*A = L*U with partial pivoting, where A is M x N. The output holds L
below the diagonal, without its own, which is 1, and U above. P.npy has the row,
counted from 0, that each row changed places with, the first at first: as the
pivots of LAPACK and of scipy.linalg.lu_factor, in int32. The bytes of both do not
depend on the device. A singular matrix is factored as well.`,
			`  tandem lu a.npy -o lu.npy --pivots p.npy`,
			operation.LU, files.Target{Flag: "--pivots", Holds: "the pivots"}),
		factor("cholesky A.npy -o L.npy", "Factor a symmetric positive definite matrix as A = L*L'",
			`Cholesky factors A = L*L', where A is symmetric and positive definite. Of A its
lower triangle is read. L is lower triangular, with zeros above. The bytes of L do
not depend on the device. A matrix that is not positive definite is an error, which
names the row.`,
			`  tandem cholesky a.npy -o l.npy`,
			operation.Cholesky),
		factor("qr A.npy -o Q.npy --r R.npy", "Factor a matrix as Q*R",
			`Qr factors A = Q*R by Householder's method, where A is M x N. With K the smaller of
M and N, Q is M x K, with orthogonal columns of length 1, and R is K x N, with zeros
below the diagonal. The bytes of both do not depend on the device.`,
			`  tandem qr a.npy -o q.npy --r r.npy`,
			operation.QR, files.Target{Flag: "--r", Holds: "R"}),
		factor("eigh A.npy -o W.npy --vectors V.npy", "Find the eigenvalues and eigenvectors of a symmetric matrix",
			`Eigh finds the eigenvalues of a symmetric matrix, of which the lower triangle is
read, in ascending order, and its eigenvectors, which are the columns of V. The bytes
of both, signs too, do not depend on the device.`,
			`  tandem eigh a.npy -o w.npy --vectors v.npy`,
			operation.EigSym, files.Target{Flag: "--vectors", Holds: "the eigenvectors"}),
		factor("svd A.npy -o S.npy --u U.npy --vt VT.npy", "Find the singular values and vectors of a matrix",
			`Svd factors A = U*diag(S)*VT, where A is M x N. With K the smaller of M and N, S is
the K singular values in descending order, U is M x K and VT is K x N. The bytes of
all, signs of vectors too, do not depend on the device.`,
			`  tandem svd a.npy -o s.npy --u u.npy --vt vt.npy`,
			operation.SVD, files.Target{Flag: "--u", Holds: "the left singular vectors, U"},
			files.Target{Flag: "--vt", Holds: "the right singular vectors, in rows, VT"}),
		a.matrixCommand(&cobra.Command{
			Use:   "solve A.npy B.npy -o X.npy",
			Short: "Solve A*X = B",
			Long: `Solve writes the solution X of A*X = B by the LU factorization, where A is N x N and
B is N x K. Both files hold one type. A file B of one dimension is a column, and so
is X then. The bytes of X do not depend on the device. A singular matrix is an
error, which names the pivot.`,
			Example: `  tandem solve a.npy b.npy -o x.npy`,
		}, spec{inputs: 2, op: always(operation.Solve)}),
	}
}
