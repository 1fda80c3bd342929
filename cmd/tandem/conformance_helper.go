package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/conformance"
)

// On devices whose driver compiles kernels, compiling takes nearly all the time of a first run, and the compilers do one thing at a time in a process. There the command starts
// itself again as helpers, each of which opens the device and does a share of the work.

// helperFlag makes the command a helper.
const helperFlag = "helper"

// maxProcesses bounds the processes at work on one device: each takes memory for a compiler, and a GPU's for a context.
const maxProcesses = 4

// helperCount is how many helpers pay on a device. The other drivers' devices take the built-in kernels as they are, and compute on all cores.
func helperCount(info backend.Info) int {
	if info.Driver != "opencl" {
		return 0
	}
	return min(runtime.GOMAXPROCS(0), maxProcesses) - 1
}

// program is the file to start helpers from.
var program = os.Executable

// startHelpers starts helpers for the device of info, which spec means. There may be fewer, even none, where the system refuses: the work then takes longer.
func startHelpers(info backend.Info, spec string, quick bool) (helpers []io.ReadWriteCloser) {
	name, err := program()
	if err != nil {
		return nil
	}
	for range helperCount(info) {
		h, err := startHelper(name, spec, quick)
		if err != nil {
			break
		}
		helpers = append(helpers, h)
	}
	return helpers
}

// A helperProcess is a connection to a helper's standard input and output.
type helperProcess struct {
	io.Reader
	io.WriteCloser
	cmd    *exec.Cmd
	stderr bytes.Buffer
	once   sync.Once
	err    error
}

func startHelper(name, spec string, quick bool) (*helperProcess, error) {
	h := &helperProcess{cmd: exec.Command(name, "conformance", "--"+helperFlag, fmt.Sprintf("--quick=%t", quick))}
	if spec != "" { // otherwise the environment says which device
		h.cmd.Args = append(h.cmd.Args, "--backend", spec)
	}
	h.cmd.Stderr = &h.stderr
	h.cmd.WaitDelay = helperGrace // for what a compiler may have started
	var err error
	if h.WriteCloser, err = h.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if h.Reader, err = h.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	return h, h.cmd.Start()
}

// helperGrace is how long a helper may take to end when there is no more to do. One that is in the middle of something is killed then; what it leaves half done is seen to by the
// caches.
const helperGrace = 500 * time.Millisecond

// Close ends the helper. The error is about one that failed before. It is idempotent.
func (h *helperProcess) Close() error {
	h.once.Do(func() {
		h.WriteCloser.Close()
		kill := time.AfterFunc(helperGrace, func() { h.cmd.Process.Kill() })
		defer kill.Stop()
		if h.err = h.cmd.Wait(); h.err != nil {
			h.err = fmt.Errorf("%w\n%s", h.err, strings.TrimSpace(h.stderr.String()))
		}
	})
	return h.err
}

// helpConformance is the command as a helper. The process that started it ends it, by the end of stdin: Ctrl-C reaches both, and must not look like a helper that failed.
func (a *app) helpConformance(ctx context.Context, quick bool, stdin io.Reader) error {
	dev, err := backend.Open(a.backend)
	if err != nil {
		return err
	}
	defer dev.Close()
	return conformance.Serve(context.WithoutCancel(ctx), dev, conformance.Options{Quick: quick}, struct {
		io.Reader
		io.Writer
	}{stdin, a.stdout})
}
