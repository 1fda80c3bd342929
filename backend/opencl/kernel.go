package opencl

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the prelude
	"encoding/gob"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/opencl/cl"
	"github.com/tandem-gpu/tandem/internal/diskcache"
)

//go:embed prelude.h
var prelude string

// A kernel is compiled code in the hands of the caller.
type kernel struct {
	*kernelState
	dev *device
}

type kernelState struct {
	ref
	prog   *program
	label  string // "kernel NAME", for errors
	params []backend.Param
	group  [3]int
}

// A program is what kernels of one source share: the compiled code, and the kernel object with the arguments of the launch in the making.
type program struct {
	dev   *deviceState
	key   programKey
	name  string
	users int           // kernels of it, and compilations that wait for it. Guarded by dev.mu
	done  chan struct{} // closed when the rest below is set
	err   error

	prog   *cl.Program
	kernel *cl.Kernel
	signature
	maxGroup int // work-items a group, as far as the kernel's use of registers allows

	launching sync.Mutex // from the first argument to the launch
	args      []argument // that the kernel object has now. Guarded by launching
}

type programKey = [sha256.Size]byte

// A signature is what a launch is checked against.
type signature struct {
	Params []backend.Param // nil where neither the compiler nor the text tells
	Group  [3]int          // of reqd_work_group_size; zero without
}

// Name is the entry point.
func (k *kernel) Name() string { return k.prog.name }

// Params describes the arguments.
func (k *kernel) Params() []backend.Param { return k.params }

// Release gives the kernel back. Launches that are queued still run. It is idempotent.
func (k *kernel) Release() error {
	k.close()
	runtime.KeepAlive(k)
	return nil
}

// enter begins a launch of the kernel. Without an error, drop ends it.
func (k *kernel) enter(op string) error {
	err := k.prog.dev.begin(op, k.label, &k.ref)
	runtime.KeepAlive(k)
	return err
}

// Compile makes a kernel from src, in the first place out of the caches.
func (d *device) Compile(src *backend.Source) (backend.Kernel, error) {
	const op = "Device.Compile"
	if err := d.enter(op); err != nil {
		return nil, err
	}
	defer d.drop()
	if src == nil || src.Name == "" {
		return nil, failure(op, backend.ErrArgument, "a source without the name of its kernel")
	}
	p, err := d.program(src)
	if err != nil {
		return nil, err
	}
	params, group, err := p.fit(src)
	if err != nil {
		p.leave()
		return nil, err
	}
	s := &kernelState{prog: p, label: "kernel " + p.name, params: params, group: group}
	if err := d.adopt(op, &s.ref, p.leave); err != nil {
		return nil, err
	}
	k := &kernel{s, d}
	runtime.AddCleanup(k, func(s *kernelState) { s.close() }, s)
	return k, nil
}

// program finds the program of src or builds it, once for all that ask at the same time. leave gives it back.
func (s *deviceState) program(src *backend.Source) (*program, error) {
	key := src.Key()
	s.mu.Lock()
	p, ok := s.programs[key]
	if !ok {
		p = &program{dev: s, key: key, name: src.Name, done: make(chan struct{})}
		s.programs[key] = p
	}
	p.users++
	s.mu.Unlock()
	if ok {
		<-p.done
	} else {
		p.err = p.build(src)
		close(p.done)
	}
	if p.err != nil {
		p.leave()
		return nil, p.err
	}
	return p, nil
}

// leave gives up a use of the program, and releases it with the last. One that failed to build is forgotten by the first, so
// that the next compilation tries anew.
func (p *program) leave() {
	p.dev.mu.Lock()
	p.users--
	last := p.users == 0
	if (last || p.err != nil) && p.dev.programs[p.key] == p {
		delete(p.dev.programs, p.key)
	}
	p.dev.mu.Unlock()
	if last {
		p.release()
	}
}

func (p *program) release() {
	if p.kernel != nil {
		p.kernel.Release()
	}
	if p.prog != nil {
		p.prog.Release()
	}
	p.kernel, p.prog = nil, nil
}

// An image is a compiled program in the disk cache. The compiler's knowledge of the parameters does not survive in every
// driver's binaries, and is therefore kept beside.
type image struct {
	Signature signature
	Binary    []byte
}

// build takes the program from the disk cache, or else compiles it and puts it there.
func (p *program) build(src *backend.Source) error {
	text, options := source(src), p.dev.options
	key := diskcache.KeyOf("program 1", p.dev.id, options, text, src.Name)
	if data, ok := p.dev.disk.Get(key); ok {
		if p.load(data, options) == nil {
			return nil
		}
		p.release()
		if err := p.dev.live("Device.Compile", "device", true); err != nil {
			return err
		}
		p.dev.disk.Delete(key) // the driver does not take it any more
	}
	if err := p.compile(src, text, options); err != nil {
		p.release()
		return err
	}
	if p.dev.disk.Keeps() {
		if data := p.image(); data != nil {
			p.dev.disk.Put(key, data)
		}
	}
	return nil
}

// source is the whole text for the compiler, whose messages show the file and lines of src.
func source(src *backend.Source) string {
	var b strings.Builder
	b.WriteString("#line 1 \"prelude.h\"\n" + prelude + "\n#line 1 \"macros\"\n")
	for _, d := range src.Defines() {
		name, value, _ := strings.Cut(d, "=")
		fmt.Fprintf(&b, "#define %s %s\n", name, strings.ReplaceAll(value, "\n", " "))
	}
	file := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ").Replace(src.FileName())
	fmt.Fprintf(&b, "#line 1 \"%s\"\n%s", file, src.Text)
	return b.String()
}

// options are the compiler's. None of them may change bits: no fast math, no flushing of subnormals, no mad.
func options(arithmetic cl.FPConfig) string {
	options := "-cl-std=CL1.2 -cl-kernel-arg-info"
	if arithmetic&cl.FPConfigCorrectlyRoundedDivideSqrt != 0 {
		options += " -cl-fp32-correctly-rounded-divide-sqrt"
	}
	return options
}

// load makes the program from an image.
func (p *program) load(data []byte, options string) error {
	var im image
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&im); err != nil {
		return err
	}
	var err error
	if p.prog, err = p.dev.ctx.CreateProgramWithBinary([]*cl.Device{p.dev.dev}, [][]byte{im.Binary}); err != nil {
		return p.dev.check("clCreateProgramWithBinary", err)
	}
	if err := p.prog.BuildProgram([]*cl.Device{p.dev.dev}, options); err != nil {
		return p.dev.check("clBuildProgram", err)
	}
	p.signature = im.Signature
	return p.create()
}

// image is the program for the disk cache, nil where the driver does not give it out.
func (p *program) image() []byte {
	binaries, err := p.prog.Binaries()
	if err != nil || len(binaries) != 1 || len(binaries[0]) == 0 {
		return nil
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(image{p.signature, binaries[0]}); err != nil {
		return nil
	}
	return b.Bytes()
}

// compile makes the program from its text.
func (p *program) compile(src *backend.Source, text, options string) error {
	if i := strings.IndexByte(text, 0); i >= 0 {
		return failure("Device.Compile", backend.ErrBuild, "%s: a zero byte ends the text for C", src.FileName())
	}
	var err error
	if p.prog, err = p.dev.ctx.CreateProgramWithSource([]string{text}); err != nil {
		return p.dev.check("clCreateProgramWithSource", err)
	}
	if err := p.prog.BuildProgram([]*cl.Device{p.dev.dev}, options); err != nil {
		return p.buildError(err)
	}
	if err := p.create(); err != nil {
		if e, ok := err.(*backend.Error); ok && e.Err == backend.ErrBuild {
			e.Detail = fmt.Sprintf("%s has no kernel %s", src.FileName(), src.Name)
		}
		return err
	}
	return p.describe(src)
}

// buildError is the error of clBuildProgram with the compiler's whole log.
func (p *program) buildError(err error) error {
	e := p.dev.check("clBuildProgram", err).(*backend.Error)
	var log cl.BuildError
	switch {
	case errors.As(err, &log):
		e.Detail = string(log)
	case e.Err == backend.ErrBuild:
		if log, logErr := p.prog.BuildLog(p.dev.dev); logErr == nil {
			e.Detail = log
		}
	}
	return e
}

// create makes the kernel object.
func (p *program) create() error {
	var err error
	if p.kernel, err = p.prog.CreateKernel(p.name); err != nil {
		return p.dev.check("clCreateKernel", err)
	}
	p.maxGroup, err = p.kernel.WorkGroupSize(p.dev.dev)
	return p.dev.check("clGetKernelWorkGroupInfo", err)
}

// describe asks the compiler for the signature. What it does not tell is read from the text.
func (p *program) describe(src *backend.Source) error {
	var err error
	if p.Group, err = p.kernel.CompileWorkGroupSize(p.dev.dev); err != nil {
		return p.dev.check("clGetKernelWorkGroupInfo", err)
	}
	n, err := p.kernel.NumArgs()
	if err != nil {
		return p.dev.check("clGetKernelInfo", err)
	}
	undeclared := *src
	undeclared.Params = nil
	read, _, readErr := backend.ParseParams(&undeclared)
	known := readErr == nil && len(read) == n
	p.Params = make([]backend.Param, n)
	for i := range p.Params {
		told, ok := p.param(i)
		switch {
		case !ok && !known:
			p.Params = nil // only a source that declares its parameters can be launched
			return nil
		case !ok || known && !told.Buffer && told.Size == 0:
			p.Params[i] = read[i]
		default:
			p.Params[i] = told
		}
		if t := p.Params[i]; ok && told.Type != "" && !told.Buffer && strings.HasSuffix(told.Type, "*") {
			return failure("Device.Compile", backend.ErrBuild,
				"%s: parameter %d (%s) of %s is __local; declare the array in the kernel with LOCALMEM", src.FileName(), i, t, p.name)
		}
	}
	return nil
}

// param is what the compiler tells about parameter i.
func (p *program) param(i int) (backend.Param, bool) {
	global, err1 := p.kernel.ArgIsGlobalPointer(i)
	typ, err2 := p.kernel.ArgTypeName(i)
	name, err3 := p.kernel.ArgName(i)
	t := backend.Param{Name: name, Type: typ, Buffer: global}
	if !global {
		t.Size = backend.TypeSize(typ)
	}
	return t, errors.Join(err1, err2, err3) == nil
}

// fit is the parameters and the group size of a kernel from src, checked against what the compiler made of it.
func (p *program) fit(src *backend.Source) ([]backend.Param, [3]int, error) {
	bad := func(format string, v ...any) ([]backend.Param, [3]int, error) {
		return nil, [3]int{}, failure("Device.Compile", backend.ErrBuild, "%s: kernel %s: "+format, append([]any{src.FileName(), src.Name}, v...)...)
	}
	group := p.Group
	if group == [3]int{} {
		group = src.Group
	}
	if src.Group != [3]int{} && src.Group != group {
		return bad("the source declares groups of %v, the text groups of %v", src.Group, group)
	}
	if src.Params == nil {
		if p.Params == nil {
			return bad("the driver does not tell the parameters, nor can they be read from the text; declare them in Source.Params")
		}
		return p.Params, group, nil
	}
	n, err := p.kernel.NumArgs()
	if err != nil {
		return nil, group, p.dev.check("clGetKernelInfo", err)
	}
	if len(src.Params) != n {
		return bad("the source declares %d parameters, the text has %d", len(src.Params), n)
	}
	for i, known := range p.Params {
		declared := src.Params[i]
		if declared.Buffer != known.Buffer || declared.Size != 0 && known.Size != 0 && declared.Size != known.Size {
			return bad("the source declares parameter %d as %s, the text as %s", i, declared, known)
		}
	}
	return src.Params, group, nil
}
