// Package cluster multiplies, transposes, adds, scales and reduces matrices that the processes of
// an MPI job hold together, with the bits of one process.
//
// # Starting
//
// [Run] loads the machine's MPI library (Open MPI, MPICH and its descendants, or one with MPI 5's
// standard binary interface; the environment variable TANDEM_MPI names another) and calls a
// function on every process, which MPI calls a rank:
//
//	err := cluster.Run(ctx, func(ctx context.Context, c *cluster.Comm) error {
//		s, err := c.Open("") // the rank's device
//		...
//		g, err := c.Grid(ctx, 0, 0)
//		a, err := cluster.ReadNPY[float64](ctx, g, "a.npy")
//		b, err := cluster.ReadNPY[float64](ctx, g, "b.npy")
//		p, err := cluster.MatMul(ctx, s, a, b)
//		return p.WriteNPY(ctx, "p.npy", cluster.Layout{})
//	})
//
// The program is built without cgo and without MPI's headers; mpirun or srun starts it. Without
// them it is a job of one rank.
//
// # Matrices
//
// A [Grid] puts the ranks into rows and columns. A [Matrix] is cut into square blocks, which are
// dealt out to the ranks in turn, by rows of the grid and by columns ("2-D block-cyclic", as in
// ScaLAPACK), so that each has about the same part of every region. Functions on matrices are
// collective: every rank calls them, in the same order, with the same arguments. So is [AllGather],
// for what is no matrix.
//
// # The numerics contract
//
// It is that of package linalg. An element of a product is one chain, which stays on the rank that
// holds the element, and k ascends: products are computed by SUMMA (van de Geijn and Watts, 1997),
// in which a panel of A's columns and a panel of B's rows at a time are sent along the rows and the
// columns of the grid. So a result does not depend on the number of ranks, the shape of the grid or
// the size of the blocks. A reduction's exact sums are integers, which meet in any order, and are
// rounded once. MPI's own reductions are never used.
//
// # Errors
//
// An error of one rank is an error on all, which ends the job: an [Error] says whose it was.
// Nothing waits for a rank that has failed. An output file is there whole or not at all.
package cluster
