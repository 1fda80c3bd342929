package cluster

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/mpitest"
	"github.com/tandem-gpu/tandem/linalg"
)

// envRank makes the test program one rank of a job of a real MPI library: its value names what the
// rank does.
const envRank = "TANDEM_CLUSTER_RANK"

// rankMain is the test program as a rank.
func rankMain(what string) {
	err := Run(context.Background(), rankWork[what])
	var e *Error
	if err != nil && (!errors.As(err, &e) || e.Here == 0) {
		fmt.Fprintln(os.Stderr, err)
	}
	if err == nil { // after an error goroutines may be left
		if err = goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	if err != nil {
		Exit(1)
	}
	Exit(0)
}

var rankWork = map[string]func(ctx context.Context, c *Comm) error{
	"digest": printDigest,
	"start":  func(context.Context, *Comm) error { return panics() },
	"killed": killed,
}

// printDigest computes on all grids of the ranks, compares with linalg, and prints one digest.
func printDigest(ctx context.Context, c *Comm) error {
	s, err := c.Open("cpu")
	if err != nil {
		return err
	}
	defer s.Close()
	if err := panics(); err != nil {
		return err
	}
	sum := sha256.New()
	for rows := 1; rows <= c.Size(); rows++ {
		if c.Size()%rows != 0 {
			continue
		}
		g, err := c.Grid(ctx, rows, 16)
		if err != nil {
			return err
		}
		sum.Reset()
		for i, x := range [][3]int{{100, 90, 110}, {5, 3, 40}, {0, 4, 2}} {
			p, err := digestProduct(ctx, g, s, x, uint64(i))
			if err != nil {
				return err
			}
			sum.Write(backend.Bytes(p.Data))
		}
		if err := reduceAll(ctx, g, s); err != nil {
			return err
		}
	}
	if c.Rank() == 0 {
		fmt.Println(c.Library(), "digest", hex.EncodeToString(sum.Sum(nil)))
	}
	return nil
}

// reduceAll compares sums and indices with those of one process.
func reduceAll(ctx context.Context, g *Grid, s *linalg.Session) error {
	a := random[float32](60, 70, 5)
	da, err := Scatter(ctx, g, 0, only(g.Comm(), a))
	for over := array.OverAll; over <= array.OverColumns && err == nil; over++ {
		err = cmp.Or(compareReduced[float32](ctx, s, array.ReductionOf("sum"), over, a, da),
			compareReduced[int32](ctx, s, array.ReductionOf("argmax"), over, a, da))
	}
	return err
}

// digestProduct is (A*B)', whose bits it compares with those of one process.
func digestProduct(
	ctx context.Context, g *Grid, s *linalg.Session, x [3]int, seed uint64,
) (linalg.Matrix[float32], error) {
	var none linalg.Matrix[float32]
	a, b := random[float32](x[0], x[2], seed), random[float32](x[2], x[1], seed+50)
	da, err := Scatter(ctx, g, 0, only(g.Comm(), a))
	if err != nil {
		return none, err
	}
	db, err := Scatter(ctx, g, 0, only(g.Comm(), b))
	if err != nil {
		return none, err
	}
	p, err := MatMul(ctx, s, da, db)
	if err != nil {
		return none, err
	}
	p, err = Transpose(ctx, p)
	if err != nil {
		return none, err
	}
	got, err := p.Gather(ctx, 0)
	if err != nil || g.Comm().Rank() > 0 {
		return got, err
	}
	want, err := linalg.MatMul(a, b, linalg.On(s), linalg.WithContext(ctx))
	if err == nil {
		want, err = linalg.Transpose(want, linalg.On(s), linalg.WithContext(ctx))
	}
	if err == nil && !bytes.Equal(backend.Bytes(got.Data), backend.Bytes(want.Data)) {
		err = fmt.Errorf("the bits of %v differ", x)
	}
	return got, err
}

// The same digest on 1, 2, 3, 4 and 6 ranks of both libraries, on all their grids, and by linalg.
func TestLibraries(t *testing.T) {
	digests := map[string][]string{}
	mpitest.Run(t, func(t *testing.T, l mpitest.Launcher) {
		t.Setenv(envRank, "digest")
		for _, ranks := range []int{1, 2, 3, 4, 6} {
			out, errs, err := l.Start(t, ranks, os.Args[0])
			if err != nil {
				t.Fatalf("%d ranks: %v\n%s%s", ranks, err, out, errs)
			}
			library, digest, _ := strings.Cut(strings.TrimSpace(out), " digest ")
			t.Logf("%d ranks, %s: %.16s", ranks, library, digest)
			digests[digest] = append(digests[digest], fmt.Sprintf("%d ranks of %s", ranks, library))
		}
	})
	if len(digests) > 1 {
		t.Errorf("digests differ: %v", digests)
	}
}

// panics is an error unless a nil pointer panics in a program that has started MPI, whose libraries
// have handlers of their own for that signal.
func panics() (err error) {
	defer func() {
		if recover() == nil {
			err = errors.New("a nil pointer did not panic")
		}
	}()
	var nothing *Comm
	return fmt.Errorf("read %d", nothing.rank)
}

var starts = flag.Int("starts", 0, "how often TestStarts starts each library")

// Starting and ending MPI does not fail now and then.
func TestStarts(t *testing.T) {
	if *starts == 0 {
		t.Skip("for minutes; -starts 200 runs it")
	}
	mpitest.Run(t, func(t *testing.T, l mpitest.Launcher) {
		t.Setenv(envRank, "start")
		for i := range *starts {
			if out, errs, err := l.Start(t, 2, os.Args[0]); err != nil || out != "" {
				t.Errorf("start %d: %v\n%s%s", i, err, out, errs)
			}
		}
	})
}

// killed is the middle of a product whose second rank is killed.
func killed(ctx context.Context, c *Comm) error {
	g, err := c.Grid(ctx, 0, 4)
	if err != nil {
		return err
	}
	m, err := New[float32](g, 100, 100)
	if err != nil {
		return err
	}
	if c.Rank() == 1 {
		p, _ := os.FindProcess(os.Getpid())
		p.Kill()
		select {}
	}
	return m.WriteNPY(ctx, os.Getenv(envFile), Layout{})
}

// envFile names the file that a rank writes.
const envFile = "TANDEM_CLUSTER_FILE"

// A rank that is killed ends the job, which leaves no output.
func TestKilled(t *testing.T) {
	mpitest.Run(t, func(t *testing.T, l mpitest.Launcher) {
		file := filepath.Join(t.TempDir(), "c.npy")
		t.Setenv(envRank, "killed")
		t.Setenv(envFile, file)
		if out, errs, err := l.Start(t, 3, os.Args[0]); err == nil {
			t.Errorf("no error\n%s%s", out, errs)
		}
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("there is an output: %v", err)
		}
	})
}
