package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/internal/mpitest"
	"github.com/tandem-gpu/tandem/linalg"
)

// mpirun -n 4 tandem matmul --mpi: the file of one process, and one report.
func TestMatMulMPI(t *testing.T) {
	exe := program(t)
	t.Setenv("TANDEM_BACKEND", "cpu")
	mpitest.Run(t, func(t *testing.T, l mpitest.Launcher) {
		at := in(t.TempDir())
		want, got := at("want.npy"), at("got.npy")
		must(t, "matmul", samples+"/a.npy", samples+"/b.npy", "-o", want)
		out, errs, err := l.Start(t, 4, exe, "matmul", samples+"/a.npy", samples+"/b.npy", "-o", got, "--mpi")
		if err != nil {
			t.Fatalf("%v\n%s%s", err, out, errs)
		}
		if read(t, got) != read(t, want) {
			t.Error("the file is not that of one process")
		}
		if n := strings.Count(out, "4 in a grid of 2x2, "); n != 1 || strings.Count(out, "output") != 1 {
			t.Errorf("%d reports:\n%s", n, out)
		}
	})
}

// conformance --mpi prints one report, whose digest is golden.
func TestConformanceMPI(t *testing.T) {
	exe := program(t)
	t.Setenv("TANDEM_BACKEND", "cpu")
	t.Setenv("NO_COLOR", "1") // Open MPI's mpirun makes a terminal of the output
	mpitest.Run(t, func(t *testing.T, l mpitest.Launcher) {
		out, errs, err := l.Start(t, 3, exe, "conformance", "--quick", "--mpi")
		if err != nil || strings.Count(out, "golden\n") != 1 || strings.Contains(out, "not golden") {
			t.Errorf("%v\n%s%s", err, out, errs)
		}
		if strings.Count(out, "digest ") != 1 || !strings.Contains(out, "3 in a grid of 1x3, ") {
			t.Errorf("not one report of three ranks:\n%s", out)
		}
	})
}

// What goes wrong is said once, whoever finds it; the exit code is 1, and there is no output.
func TestMatMulMPIFails(t *testing.T) {
	exe := program(t)
	t.Setenv("TANDEM_BACKEND", "cpu")
	at := in(t.TempDir())
	another := write(t, at("another"), []byte(read(t, exe)+" ")) // which is a file of other bytes
	if err := os.Chmod(another, 0o700); err != nil {
		t.Fatal(err)
	}
	a, b, wide := samples+"/a.npy", samples+"/b.npy", save(t, at("wide.npy"), linalg.NewMatrix[float32](3, 5, nil))
	matmul := func(exe, a, b string) []string { return []string{exe, "matmul", a, b, "-o", at("c.npy"), "--mpi"} }
	conformance := []string{exe, "conformance", "--mpi"}
	and := func(first, last []string) []string { return slices.Concat(first, []string{":", "-n", "1"}, last) }
	mpitest.Run(t, func(t *testing.T, l mpitest.Launcher) {
		cases := []struct {
			program []string
			want    string
		}{
			{matmul(exe, a, at("none.npy")), "tandem: open " + at("none.npy")},
			{matmul(exe, a, wide), "the columns of the first (48)"},
			{and(matmul(exe, a, b), matmul(another, a, b)), "another build of the program"},
			{and(matmul(exe, a, b), matmul(exe, a, wide)), "rank 2: it has another file"},
			{and(matmul(exe, a, b), append(matmul(exe, a, b), "--fortran")), "rank 2: it has another command"},
			{and(matmul(exe, a, b), conformance), "rank 2: it has another command or other flags than rank 0"},
			{and(append(conformance, "--quick"), conformance), "rank 2: it has another command"},
		}
		if l.Name == "openmpi" { // whose jobs take four times as long to end; what is said is the ranks'
			cases = cases[2:4]
		}
		for _, c := range cases {
			os.Remove(at("c.npy")) // if there is one, that was said already
			out, errs, err := l.Start(t, 2, c.program...)
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != exitError {
				t.Errorf("%q: %v", c.want, err)
			}
			once := strings.Count(errs, c.want) == 1 && strings.Count(errs, "tandem: ") == 1
			if !once || strings.Contains(out, "output") {
				t.Errorf("%q is not said once:\n%s%s", c.want, out, errs)
			}
			if _, err := os.Stat(at("c.npy")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%q: there is an output: %v", c.want, err)
			}
		}
	})
}

// One process alone works without a launcher; a missing library is an error with a remedy, and so
// is one that the launcher does not know.
func TestMPIAlone(t *testing.T) {
	exe := program(t)
	at := in(t.TempDir())
	for _, test := range []struct {
		env  string
		want []string
	}{
		{"TANDEM_MPI=/nowhere/libmpi.so", []string{"/nowhere/libmpi.so", "TANDEM_MPI names it"}},
		{"OMPI_COMM_WORLD_SIZE=4", []string{"one of 4 processes", "TANDEM_MPI"}},
		{"", nil},
	} {
		cmd := exec.Command(exe, "matmul", samples+"/a.npy", samples+"/b.npy", "-o", at("c.npy"), "--mpi")
		cmd.Env = append(os.Environ(), "TANDEM_BACKEND=cpu", test.env)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		if strings.Contains(stderr.String(), "no MPI library") && !strings.HasPrefix(test.env, "TANDEM_MPI") {
			t.Skip(stderr.String())
		}
		for _, want := range test.want {
			if code := cmd.ProcessState.ExitCode(); code != exitError || !strings.Contains(stderr.String(), want) {
				t.Errorf("%s: exit code %d, %s, want %q", test.env, code, &stderr, want)
			}
		}
		if test.want == nil && (err != nil || !strings.Contains(stdout.String(), "1 in a grid of 1x1")) {
			t.Errorf("%v\n%s%s", err, &stdout, &stderr)
		}
	}
}

// Ctrl-C ends a rank that waits in MPI_Init for one that never comes.
func TestMPIInterruptedInInit(t *testing.T) {
	exe := program(t)
	mpitest.Run(t, func(t *testing.T, l mpitest.Launcher) {
		start := time.Now()
		out, errs, err := l.Start(t, 1, "sh", "-c", `(sleep 3; kill -INT $$) & exec "$@"`, "sh", exe, "matmul",
			samples+"/a.npy", samples+"/b.npy", "-o", in(t.TempDir())("c.npy"), "--mpi", ":", "-n", "1", "sleep", "30")
		if took := time.Since(start); took > 20*time.Second || !strings.Contains(errs, "tandem: interrupted") {
			t.Errorf("after %v: %v\n%s%s", took, err, out, errs)
		}
	})
}
