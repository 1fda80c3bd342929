package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/cluster"
	"github.com/tandem-gpu/tandem/examples/internal/exampletest"
	"github.com/tandem-gpu/tandem/internal/mpitest"
)

// envRank makes the test program one rank of an MPI job, whose arguments are names of changes.
const envRank = "TANDEM_GPT_RANK"

func TestMain(m *testing.M) {
	if os.Getenv(envRank) == "" {
		os.Exit(m.Run())
	}
	o := four()
	ctx := context.Context(&atRank1{context.Background(), o, ""})
	for _, change := range os.Args[1:] {
		switch change {
		case "usual":
			*o = *usual()
			o.backend, o.steps, o.length = "cpu", 50, 20
		case "seed":
			o.seed = 2
		case "text":
			o.text = "main.go"
		case "opencl":
			o.backend = "opencl"
		default: // an end, of rank 1
			ctx.(*atRank1).end = change
			o.save = os.Getenv(envRank)
		}
	}
	if err := onRanks(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "gpt:", err)
		cluster.Exit(1)
	}
	cluster.Exit(0)
}

// four is a small model that four share.
func four() *options {
	o := small()
	o.backend, o.batch, o.steps = "cpu", 4, 20
	return o
}

// atRank1 ends, but on rank 1 alone, after four steps: with the context, or with the process.
type atRank1 struct {
	context.Context
	o   *options
	end string
}

func (c *atRank1) Err() error {
	if c.o.rank != 1 || c.end == "" {
		return nil
	}
	if c.end = strings.TrimPrefix(c.end, "."); c.end == "stopped" {
		return context.Canceled
	} else if c.end == "killed" {
		p, _ := os.FindProcess(os.Getpid())
		p.Kill()
		select {}
	}
	return nil
}

// The ranks of a job that share each batch print what one process does, with any number of ranks,
// and where their devices differ.
func TestRanks(t *testing.T) {
	var alone strings.Builder
	check(run(t.Context(), &alone, four()))
	mpitest.Run(t, func(t *testing.T, l mpitest.Launcher) {
		t.Setenv(envRank, "1")
		check := func(want string, ranks int, program ...string) {
			t.Helper()
			exampletest.Check(t, func(w io.Writer, _ string) error {
				out, errs, err := l.Start(t, ranks, append([]string{os.Args[0]}, program...)...)
				fmt.Fprint(w, strings.ReplaceAll(out, "\r\n", "\n"))
				if err != nil {
					return fmt.Errorf("%d ranks: %w\n%s", ranks, err, errs)
				}
				return nil
			}, "cpu", want)
		}
		for ranks := 1; ranks <= 3; ranks++ {
			check(alone.String(), ranks)
		}
		check(usualText, 3, "usual")
		_, err := backend.Open("opencl")
		backendtest.Require(t, "opencl", err)
		check(alone.String(), 2, ":", "-n", "1", os.Args[0], "opencl")
	})
}

// What is wrong with one rank is said once, and ends the job.
func TestRanksFail(t *testing.T) {
	mpitest.Run(t, func(t *testing.T, l mpitest.Launcher) {
		file := filepath.Join(t.TempDir(), "four.safetensors")
		t.Setenv(envRank, file)
		for _, c := range []struct {
			ranks   int
			program []string
			want    string
		}{
			{5, nil, "5 devices cannot share batches of 4"},
			{1, []string{":", "-n", "1", os.Args[0], "seed"}, "rank 1: it has other flags, or another file"},
			{1, []string{":", "-n", "1", os.Args[0], "text"}, "rank 1: it has other flags, or another file"},
			{2, []string{"....stopped"}, "interrupted at step 4, and saved in " + file},
		} {
			out, errs, err := l.Start(t, c.ranks, append([]string{os.Args[0]}, c.program...)...)
			if err == nil || strings.Count(errs, c.want) != 1 || strings.Count(errs, "gpt: ") != 1 {
				t.Errorf("%q is not said once: %v\n%s%s", c.want, err, out, errs)
			}
		}
		if _, err := os.Stat(file); err != nil {
			t.Errorf("after an end: %v", err)
		}
		out, errs, err := l.Start(t, 3, os.Args[0], "....killed")
		if err == nil || strings.Contains(out, "digest") {
			t.Errorf("a rank is killed: %v\n%s%s", err, out, errs)
		}
		if said := out + errs; l.Name == "openmpi" && !strings.Contains(said, "rank 1 ") {
			t.Errorf("a rank is killed, and its launcher does not name it: %s", said)
		}
	})
}
