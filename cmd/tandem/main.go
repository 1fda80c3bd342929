// Command tandem multiplies, transposes, adds and scales NumPy files on a GPU or on the CPU, with
// the same bits everywhere, runs kernels of the user's own on them, and shows what devices there
// are. "tandem help" says more.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/tandem-gpu/tandem/backend"
	_ "github.com/tandem-gpu/tandem/backend/cudasim"
	"github.com/tandem-gpu/tandem/cluster"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/screen"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/usage"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/wait"
)

// The exit codes.
const (
	exitOK    = 0
	exitError = 1 // the work failed
	exitUsage = 2 // wrong flags or arguments: nothing was tried
)

func main() {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if runtime.GOARCH == "wasm" || !signal.Ignored(syscall.SIGHUP) { // as nohup has it; on wasm Ignored panics
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	// A pipe without a reader is an error of the write, and what was begun is ended properly. Other
	// than with signal.Ignore, programs that this one starts get the signal.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	cluster.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program but for the process around it.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, style: screen.StyleOf(stdout)}
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(stdin)
	help := &helpWriter{w: stdout}
	root.SetOut(help)
	root.SetErr(stderr)
	cmd, err := wait.For(ctx, lastGrace, func() (*cobra.Command, error) {
		cmd, err := root.ExecuteContextC(ctx)
		if err == nil && help.err != nil {
			a.started, err = true, help.err
		}
		return cmd, err
	})
	if err == nil {
		return exitOK
	}
	if errors.Is(err, errSaidElsewhere) {
		return exitOK // a launcher ends the job at the first failure, which must be that of the rank that prints
	}
	fmt.Fprintf(stderr, "tandem: %s\n", screen.Printable(message(ctx, err)))
	var wrong usage.Error
	if cmd == nil {
		return exitError // it hangs, and is left alone
	}
	if !a.started || errors.As(err, &wrong) {
		fmt.Fprintf(stderr, "'%s --help' says more\n", cmd.CommandPath())
		return exitUsage
	}
	return exitError
}

// A helpWriter takes help and the like from cobra, and keeps the error of a write: cobra drops it,
// or takes it for one of flags.
type helpWriter struct {
	w   io.Writer
	err error
}

func (h *helpWriter) Write(b []byte) (int, error) {
	if h.err == nil {
		_, h.err = h.w.Write(b)
	}
	return len(b), nil
}

// lastGrace is how long an interrupted command may take to end, more than those need that give up
// by themselves: a driver that is being loaded may hang, and MPI waits for ranks that never come.
const lastGrace = 2 * wait.Grace

// message is what a person reads of err.
func message(ctx context.Context, err error) string {
	var e *backend.Error
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return "interrupted; no output was written"
	case errors.Is(err, backend.ErrBuild) && errors.As(err, &e) && e.Detail != "":
		// The compiler's log begins on a line of its own.
		head := strings.TrimSuffix(strings.TrimSuffix(err.Error(), e.Detail), ": ")
		return head + ":\n" + strings.TrimRight(e.Detail, "\n")
	}
	return strings.TrimRight(err.Error(), "\n")
}
