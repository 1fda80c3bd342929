package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/gpu/compiler"
)

// A hostKernel is a program that runs a kernel in Go on the cpu device, which compiles nothing: the
// go command does. The program is the test of the kernel's package with one file instead of its
// own, so that package main can be run as well, and kernels that are not exported.
type hostKernel struct {
	dir string // of its files, temporary
}

//go:embed gohost.tmpl
var hostTemplate string

// A hostJob goes to the program and comes back, as gohost.tmpl has it.
type hostJob struct {
	Grid        backend.Grid
	Args        []hostArg
	Nanoseconds int64
	Err         string
}

type hostArg struct {
	Data   []byte  // of an array
	Ints   []int64 // that follow the array: its offset and what p.args gives; nil for a scalar
	Scalar hostScalar
}

// A hostScalar is a backend.Arg without a buffer, which cannot be sent.
type hostScalar struct {
	Bits uint64
	Size int
	Type string
}

// buildHost builds the program. close ends it, also after an error.
func (job *kernelJob) buildHost(ctx context.Context, in *compiler.Instance) (h *hostKernel, err error) {
	h = new(hostKernel)
	if h.dir, err = os.MkdirTemp("", "tandem-run-"); err != nil {
		return h, err
	}
	dir, err := filepath.Abs(filepath.Dir(job.file))
	if err != nil {
		return h, err
	}
	overlay, err := h.overlay(dir, in)
	if err != nil {
		return h, err
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", h.at("kernel.exe"), ".")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return h, fmt.Errorf("building %s for the cpu device: %w\n%s", in.Name, err, bytes.TrimSpace(out))
	}
	return h, nil
}

func (h *hostKernel) at(name string) string { return filepath.Join(h.dir, name) }

func (h *hostKernel) close() {
	if h.dir != "" {
		os.RemoveAll(h.dir)
	}
}

// overlay writes the files of which the program is made where the package has others or none, and
// what the go command needs to know of that.
func (h *hostKernel) overlay(dir string, in *compiler.Instance) (string, error) {
	old, err := os.ReadFile(filepath.Join(dir, compiler.FileName))
	launch := err != nil || bytes.Contains(old, []byte("/gpu/launch\"")) // the package may call these functions
	text, err := compiler.Compile(dir, compiler.Options{NoLaunch: !launch, NoPTX: true})
	if err != nil {
		return "", err
	}
	f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.PackageClauseOnly)
	if err != nil {
		return "", err
	}
	tests, err := fs.Glob(os.DirFS(dir), "*_test.go")
	if err != nil {
		return "", err
	}
	replace := map[string]string{
		filepath.Join(dir, compiler.FileName):    h.at("kernels.go"),
		filepath.Join(dir, "tandem_run_test.go"): h.at("main.go"),
	}
	for _, name := range tests {
		replace[filepath.Join(dir, name)] = "" // as if it were not there
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	return h.at("overlay.json"), errors.Join(err,
		os.WriteFile(h.at("kernels.go"), text, 0o600),
		os.WriteFile(h.at("main.go"), fmt.Appendf(nil, hostTemplate, f.Name.Name, in.Var), 0o600),
		os.WriteFile(h.at("overlay.json"), list, 0o600))
}

// run launches the kernel on the arguments, and brings the arrays back.
func (h *hostKernel) run(ctx context.Context, job *kernelJob, in *compiler.Instance, buffers []kernelBuffer,
) (time.Duration, error) {
	j := hostJob{Grid: job.grid}
	for i, b := range buffers {
		s := job.args[i].scalar
		arg := hostArg{Scalar: hostScalar{s.Bits, s.Size, s.Type}}
		if b != nil {
			var err error
			if arg.Data, err = b.bytes(); err != nil {
				return 0, err
			}
			for _, n := range b.args(&in.Params[i])[1:] {
				arg.Ints = append(arg.Ints, n.(int64))
			}
		}
		j.Args = append(j.Args, arg)
	}
	var data bytes.Buffer
	err := gob.NewEncoder(&data).Encode(&j)
	if err == nil {
		err = os.WriteFile(h.at("in"), data.Bytes(), 0o600)
	}
	if err != nil {
		return 0, err
	}
	if out, err := exec.CommandContext(ctx, h.at("kernel.exe"), h.at("in"), h.at("out")).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%s on the cpu device: %w\n%s", in.Name, err, strings.TrimSpace(string(out)))
	}
	f, err := os.Open(h.at("out"))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	j = hostJob{}
	if err := gob.NewDecoder(f).Decode(&j); err != nil {
		return 0, err
	}
	if j.Err != "" {
		return 0, errors.New(j.Err)
	}
	for i, b := range buffers {
		if b != nil {
			if err := b.fill(j.Args[i].Data); err != nil {
				return 0, err
			}
		}
	}
	return time.Duration(j.Nanoseconds), nil
}
