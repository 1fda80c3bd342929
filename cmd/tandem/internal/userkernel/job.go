// Package userkernel runs kernels of the user's own, in OpenCL C or in Go, on files.
package userkernel

import (
	"context"
	"errors"
	"fmt"
	"go/token"
	"path/filepath"
	"strings"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/files"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/screen"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/usage"
	"github.com/tandem-gpu/tandem/gpu/compiler"
	"github.com/tandem-gpu/tandem/internal/inside"
	"github.com/tandem-gpu/tandem/linalg"
)

// A Job is a launch as the user describes it.
type Job struct {
	file   string
	kernel string
	isMap  bool // kernel is a function under //tandem:map; spread makes its arguments of the files in args
	grid   backend.Grid
	macros map[string]string
	args   []arg
	text   string // of the file, if it is not Go
}

// Flags are those of a kernel.
type Flags struct {
	Kernel, Grid, Block string
	Args, Defines       []string
}

// Kernel is the launch of a kernel of file, which nothing has looked at yet.
func Kernel(file string, f Flags) (j *Job, err error) {
	switch {
	case f.Kernel == "":
		return nil, usage.Errorf("no kernel: give --kernel NAME, one of the kernels of %s", file)
	case !identifier.MatchString(f.Kernel):
		return nil, usage.Errorf("--kernel %s: not the name of a function", f.Kernel)
	}
	j = &Job{file: file, kernel: f.Kernel}
	if j.grid, err = parseGrid(f.Grid, f.Block); err != nil {
		return nil, err
	}
	if j.macros, err = parseMacros(f.Defines); err != nil {
		return nil, err
	}
	if j.isGo() && len(f.Defines) > 0 {
		return nil, usage.Errorf("-D %s: a kernel in Go has no macros; use a constant or a parameter", f.Defines[0])
	}
	for _, text := range f.Args {
		a, err := parseArg(text)
		if err != nil {
			return nil, err
		}
		j.args = append(j.args, a)
	}
	if j.Results() == 0 {
		return nil, usage.Errorf("no result: one --arg must be out:TYPE:SHAPE or inout:FILE")
	}
	return j, files.CheckInputs(append(j.Paths(), file))
}

// Map is the launch of a function of file under //tandem:map.
func Map(file, function string, paths []string) (*Job, error) {
	switch {
	case function == "":
		return nil, usage.Errorf("no function: give --func NAME, one of %s under //tandem:map", file)
	case !token.IsIdentifier(function):
		return nil, usage.Errorf("--func %s: not the name of a function", function)
	case len(paths) == 0:
		return nil, usage.Errorf("no file: give one for each parameter of %s", function)
	}
	j := &Job{file: file, kernel: function, isMap: true}
	for _, path := range paths {
		j.args = append(j.args, arg{path: path})
	}
	return j, files.CheckInputs(paths)
}

// isGo tells whether the kernel is written in Go.
func (j *Job) isGo() bool { return filepath.Ext(j.file) == ".go" }

// Paths are those of the files that are arguments.
func (j *Job) Paths() (paths []string) {
	for _, a := range j.args {
		if a.path != "" {
			paths = append(paths, a.path)
		}
	}
	return paths
}

// Results is how many results there are.
func (j *Job) Results() (n int) {
	for _, a := range j.args {
		if a.result {
			n++
		}
	}
	if j.isMap {
		return 1
	}
	return n
}

// ReadSource reads the kernel's source, unless the go command does that.
func (j *Job) ReadSource(ctx context.Context, r *files.Reader) (err error) {
	if !j.isGo() {
		j.text, err = r.Source(ctx, j.file)
	}
	return err
}

// Load reads the files, and gives them.
func (j *Job) Load(ctx context.Context, r *files.Reader) (in []files.Operand, err error) {
	for i := range j.args {
		a := &j.args[i]
		switch {
		case a.path != "":
			a.data, err = r.Load(ctx, a.path)
			in = append(in, a.data)
		case a.isArray():
			a.data, err = files.Zeros(a.typ, a.shape)
		}
		if err != nil {
			return nil, a.failed(err)
		}
	}
	return in, nil
}

// A Launch is a job that was compiled for a device.
type Launch struct {
	Name string
	job  *Job
	s    *linalg.Session
	in   *compiler.Instance // nil for a kernel in text
	k    *backend.Kernel    // nil for one in Go on the cpu device
	host *hostProgram       // the program that runs that
}

// Compile compiles the kernel, whose files are loaded. Close ends what it gives.
func (j *Job) Compile(ctx context.Context, s *linalg.Session) (l *Launch, err error) {
	l = &Launch{job: j, s: s, Name: j.kernel}
	source := &backend.Source{Name: j.kernel, File: filepath.ToSlash(j.file), Text: j.text, Macros: j.macros}
	if j.isGo() {
		if l.in, err = j.instance(); err != nil {
			return l, err
		}
		source, l.Name = l.in.Source, l.in.Source.Name
	}
	if j.isMap {
		if err := j.spread(s.Info(), l.in); err != nil {
			return l, err
		}
	}
	if l.in != nil && s.Info().Host {
		if l.host, err = buildHost(ctx, filepath.Dir(j.file), l.in); err != nil {
			l.Close()
		}
		return l, err
	}
	if l.k, err = s.CompileSource(source, linalg.WithContext(ctx)); err != nil {
		err = compileError(err, s.Info())
	}
	return l, err
}

// Close gives back what the launch holds.
func (l *Launch) Close() {
	if l.host != nil {
		l.host.close()
	}
}

// Run launches the kernel, and gives the results and the time by the device's clock.
func (l *Launch) Run(ctx context.Context) (results []files.Result, took time.Duration, err error) {
	if l.host != nil {
		took, err = l.host.run(ctx, l)
	} else {
		took, err = l.onDevice()
	}
	for _, a := range l.job.args {
		if a.result {
			results = append(results, files.Result{Header: *a.data.Header, Data: a.data.Data})
		}
	}
	return results, took, err
}

// onDevice runs the kernel in the device's memory.
func (l *Launch) onDevice() (took time.Duration, err error) {
	var args []any
	buffers := make([]*backend.Buffer, len(l.job.args))
	for i, a := range l.job.args {
		if !a.isArray() {
			args = append(args, a.scalar)
			continue
		}
		mem := a.data.Bytes()
		if buffers[i], err = l.s.Device().Alloc(int64(len(mem))); err == nil {
			err = l.s.Queue().Write(buffers[i], 0, mem)
		}
		if err != nil {
			return 0, a.failed(err)
		}
		args = append(args, backend.Arg{Buffer: buffers[i], Type: a.data.Type.String()})
		for _, n := range l.geometry(i) {
			args = append(args, n)
		}
	}
	took, err = inside.DeviceTime(l.s, func() error { return l.s.Launch(l.k, l.job.grid, args...) })
	for i, a := range l.job.args {
		if err == nil && a.result {
			err = l.s.Queue().Read(a.data.Bytes(), buffers[i], 0)
		}
	}
	return took, err
}

// geometry is what follows array i among the arguments of a kernel in Go: the offset and the
// length of a slice, or the offset and the shape of a matrix.
func (l *Launch) geometry(i int) []int64 {
	if l.in == nil {
		return nil
	}
	rows, cols := l.job.args[i].data.Dims()
	if l.in.Params[i].Slice {
		return []int64{0, int64(rows * cols)}
	}
	return []int64{0, int64(rows), int64(cols), int64(cols)}
}

// compileError adds, where a device does not compile kernels, which others may.
func compileError(err error, info backend.Info) error {
	if !errors.Is(err, backend.ErrUnsupported) {
		return err
	}
	if info.Host { // its own words are for programs
		err = backend.Failure("cpu", "tandem run", backend.ErrUnsupported,
			"this backend runs Go and compiles no kernel files")
	}
	var others strings.Builder
	for _, d := range backend.Drivers() {
		if d.Name() == info.Driver || d.Name() == "cpu" {
			continue
		}
		infos, _ := d.Devices()
		for _, i := range infos {
			fmt.Fprintf(&others, "\n  --backend %s  %s", screen.Device(i), i.Name)
		}
	}
	if others.Len() > 0 {
		err = fmt.Errorf("%w\nchoose a device of another backend:%s", err, others.String())
	}
	return fmt.Errorf("%w\n'tandem devices' says what is missing for more", err)
}
