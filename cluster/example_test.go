package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/tandem-gpu/tandem/cluster"
	"github.com/tandem-gpu/tandem/linalg"
)

// Each rank has a part of the matrices; the product has the bits of linalg.MatMul, whatever the
// number of ranks. It needs MPI, and MPI starts once in a process, so that this example is not run.
func Example() {
	err := cluster.Run(context.Background(), func(ctx context.Context, c *cluster.Comm) error {
		s, err := c.Open("") // the rank's device
		if err != nil {
			return err
		}
		defer s.Close()
		g, err := c.Grid(ctx, 0, 0)
		if err != nil {
			return err
		}
		// all of A is on rank 0 at first
		whole := linalg.NewMatrix(2, 2, []float32{1, 2, 3, 4})
		a, err := cluster.Scatter(ctx, g, 0, whole)
		if err != nil {
			return err
		}
		p, err := cluster.MatMul(ctx, s, a, a)
		if err != nil {
			return err
		}
		all, err := p.Gather(ctx, 0)
		if err == nil && c.Rank() == 0 {
			fmt.Println(all.Row(0), all.Row(1)) // [7 10] [15 22]
		}
		return err
	})
	if err != nil {
		log.Print(err)
		cluster.Exit(1)
	}
	cluster.Exit(0)
}

// An error of one rank is an error on all; each knows whose it was.
func ExampleError() {
	err := fmt.Errorf("job 7: %w", &cluster.Error{Rank: 2, Err: os.ErrNotExist})
	var e *cluster.Error
	if errors.As(err, &e) {
		fmt.Println(e.Rank, errors.Is(err, os.ErrNotExist))
	}
	// Output: 2 true
}
