package userkernel

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
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/wait"
	"github.com/tandem-gpu/tandem/gpu/compiler"
)

// A hostProgram runs a kernel in Go on the cpu device, which compiles nothing: the go command does.
// The program is the test of the kernel's package with one file instead of its own, so that package
// main can be run as well, and kernels that are not exported.
type hostProgram struct {
	name string // of the kernel
	dir  string // of its files, temporary
}

//go:embed host.tmpl
var hostTemplate string

// A hostJob goes to the program and comes back, as host.tmpl has it.
type hostJob struct {
	Grid        backend.Grid
	Args        []hostArg
	Nanoseconds int64
	Err         string
}

// A hostArg is an array, or a backend.Arg without a buffer, which cannot be sent.
type hostArg struct {
	Data []byte
	Ints []int64 // that follow the array; nil for a scalar

	Bits uint64
	Size int
	Type string
}

// buildHost builds the program of a kernel in a folder. close ends it, also after an error.
func buildHost(ctx context.Context, folder string, in *compiler.Instance) (h *hostProgram, err error) {
	h = &hostProgram{name: in.Name}
	if h.dir, err = os.MkdirTemp("", "tandem-run-"); err != nil {
		return h, err
	}
	dir, err := filepath.Abs(folder)
	if err != nil {
		return h, err
	}
	overlay, err := h.overlay(dir, in)
	if err != nil {
		return h, err
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", h.at("kernel.exe"), ".")
	cmd.Dir = dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it removes its own temporary files
	cmd.WaitDelay = wait.Grace
	return h, finish(ctx, cmd, "building "+in.Name+" for the cpu device")
}

// finish runs cmd, which ends with ctx. The error has what cmd prints.
func finish(ctx context.Context, cmd *exec.Cmd, what string) error {
	out, err := cmd.CombinedOutput()
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%s: %w\n%s", what, err, bytes.TrimSpace(out))
}

func (h *hostProgram) at(name string) string { return filepath.Join(h.dir, name) }

func (h *hostProgram) close() {
	if h.dir != "" {
		os.RemoveAll(h.dir)
	}
}

// overlay writes the files of which the program is made where the package has others or none, and
// what the go command needs to know of that.
func (h *hostProgram) overlay(dir string, in *compiler.Instance) (string, error) {
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
func (h *hostProgram) run(ctx context.Context, l *Launch) (time.Duration, error) {
	job := hostJob{Grid: l.job.grid}
	for i, a := range l.job.args {
		arg := hostArg{Bits: a.scalar.Bits, Size: a.scalar.Size, Type: a.scalar.Type}
		if a.isArray() {
			arg = hostArg{Data: a.data.Bytes(), Ints: l.geometry(i)}
		}
		job.Args = append(job.Args, arg)
	}
	var data bytes.Buffer
	err := gob.NewEncoder(&data).Encode(&job)
	if err == nil {
		err = os.WriteFile(h.at("in"), data.Bytes(), 0o600)
	}
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, h.at("kernel.exe"), h.at("in"), h.at("out"))
	if _, err := cmd.StdinPipe(); err != nil { // stays open while this program runs
		return 0, err
	}
	if err := finish(ctx, cmd, h.name+" on the cpu device"); err != nil {
		return 0, err
	}
	f, err := os.Open(h.at("out"))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	job = hostJob{}
	if err := gob.NewDecoder(f).Decode(&job); err != nil {
		return 0, err
	}
	if job.Err != "" {
		return 0, errors.New(job.Err)
	}
	for i, a := range l.job.args {
		if a.isArray() {
			copy(a.data.Bytes(), job.Args[i].Data)
		}
	}
	return time.Duration(job.Nanoseconds), nil
}
