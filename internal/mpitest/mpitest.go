// Package mpitest starts the ranks of MPI jobs for tests.
package mpitest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/backend/backendtest"
)

// A Launcher is the mpirun of one library.
type Launcher struct {
	Name    string // in TANDEM_REQUIRE
	command []string
}

// EnvLauncher names an environment variable that has another mpirun to test with, and its
// arguments, instead of Debian's. With it, TANDEM_MPI may name another library than the launcher's
// own first one.
const EnvLauncher = "TANDEM_MPIRUN"

// launchers are those of Debian, where both libraries can be installed side by side.
var launchers = []Launcher{
	{"openmpi", []string{"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"}},
	{"mpich", []string{"mpirun.mpich"}},
}

// Run runs f with each launcher that is installed, as a subtest.
func Run(t *testing.T, f func(t *testing.T, l Launcher)) {
	if testing.Short() {
		t.Skip("starts many processes; left out by -short")
	}
	list := launchers
	if other := strings.Fields(os.Getenv(EnvLauncher)); len(other) > 0 {
		list = []Launcher{{filepath.Base(other[0]), other}}
	}
	for _, l := range list {
		t.Run(l.Name, func(t *testing.T) {
			_, err := exec.LookPath(l.command[0])
			backendtest.Require(t, l.Name, err)
			f(t, l)
		})
	}
}

// limit is far above what a job takes that does not hang.
const limit = time.Minute

// Start runs a program on so many ranks. Its arguments may hold more of them, as mpirun's ":" has
// it. A job that hangs fails the test.
func (l Launcher) Start(t *testing.T, ranks int, program ...string) (stdout, stderr string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	args := append(append(l.command[1:len(l.command):len(l.command)], "-n", fmt.Sprint(ranks)), program...)
	cmd := exec.CommandContext(ctx, l.command[0], args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+folder(t))
	cmd.WaitDelay = time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("%s: %d ranks hang\n%s%s", l.Name, ranks, &out, &errs)
	}
	return out.String(), errs.String(), err
}

// folder is for temporary files of one job: Open MPI's sockets need a short name.
func folder(t *testing.T) string {
	dir, err := os.MkdirTemp("", "t")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
