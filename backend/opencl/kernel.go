package opencl

import (
	"bytes"
	_ "embed" // the prelude
	"encoding/gob"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit"
	"github.com/tandem-gpu/tandem/backend/driverkit/diskcache"
	"github.com/tandem-gpu/tandem/backend/opencl/cl"
)

//go:embed prelude.h
var prelude string

type kernel = driverkit.Kernel[*program]

// A program is what kernels of one source share: the compiled code, and the kernel object with the
// arguments of the launch in the making.
type program struct {
	dev     *device
	name    string
	options string
	prog    *cl.Program
	kernel  *cl.Kernel
	signature
	maxGroup int // work-items a group, as far as the kernel's use of registers allows

	launching sync.Mutex // from the first argument to the launch
	args      []argument // that the kernel object has now. Guarded by launching
}

// A signature is what a launch is checked against.
type signature struct {
	Params []backend.Param // nil where neither the compiler nor the text tells
	Group  [3]int          // of reqd_work_group_size; zero without
}

// Compile makes a kernel from src, in the first place out of the caches.
func (d *device) Compile(src *backend.Source) (backend.DriverKernel, error) {
	return d.programs.Compile(src)
}

// release leaves launches that are queued their program.
func (p *program) release() {
	if p.kernel != nil {
		p.kernel.Release()
	}
	if p.prog != nil {
		p.prog.Release()
	}
	p.kernel, p.prog = nil, nil
}

// An image is a compiled program in the disk cache. The compiler's knowledge of the parameters does
// not survive in every driver's binaries, and is therefore kept beside.
type image struct {
	Signature signature
	Binary    []byte
}

// build takes the program from the disk cache, or else compiles it and puts it there.
func (d *device) build(src *backend.Source) (*program, error) {
	p := &program{dev: d, name: src.Name, options: d.optionsFor(src)}
	key := d.programKey(src)
	if data, ok := d.disk.Get(key); ok {
		err := p.load(data)
		if err == nil {
			return p, nil
		}
		p.release()
		if errors.Is(err, backend.ErrDeviceLost) {
			return nil, err
		}
		d.disk.Delete(key) // the driver does not take it any more
	}
	if err := p.compile(src, source(src, d.scalar)); err != nil {
		p.release()
		return nil, err
	}
	if d.disk.Keeps() {
		if data := p.image(); data != nil {
			d.disk.Put(key, data)
		}
	}
	return p, nil
}

func (d *device) programKey(src *backend.Source) diskcache.Key {
	return diskcache.KeyOf("program 2", d.id, d.optionsFor(src), source(src, d.scalar), src.Name)
}

// scalarPrelude keeps compilers from running work-items, and turns of loops, in vectors: the hint
// of OpenCL C says that a kernel computes in vectors by itself. It holds whatever the environment
// sets, unlike the attributes and the variables of Intel's runtime.
var scalarPrelude = `
#define __kernel __kernel __attribute__((vec_type_hint(int4)))
#define kernel __kernel
#define for _Pragma("clang loop vectorize(disable) interleave(disable)") for
`

// source is the whole text of src, for a compiler that shall not vectorize where scalar is true.
func source(src *backend.Source, scalar bool) string {
	if scalar {
		return driverkit.Text(prelude+scalarPrelude, src)
	}
	return driverkit.Text(prelude, src)
}

// options are the compiler's. None of them may change bits: no fast math, no flushing of
// subnormals, no mad. PoCL's prints how many warnings there are, though not which, such as those of
// vectors that the processor does not have.
func options(platform string, arithmetic cl.FPConfig) string {
	options := "-cl-std=CL1.2 -cl-kernel-arg-info"
	if arithmetic&cl.FPConfigCorrectlyRoundedDivideSqrt != 0 {
		options += " -cl-fp32-correctly-rounded-divide-sqrt"
	}
	if platform == pocl {
		options += " -w"
	}
	return options
}

// optionsFor are the compiler's for src. Where it is known to make mistakes, it optimizes no
// kernels of OpenCL C but Tandem's own, which tests have run there; these, and those from Go,
// declare their parameters.
func (d *device) optionsFor(src *backend.Source) string {
	if known := src.Params != nil; known && d.info.Platform == oclgrind || !known && d.scalar {
		return d.options + " -cl-opt-disable"
	}
	return d.options
}

// load makes the program from an image.
func (p *program) load(data []byte) error {
	var im image
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&im); err != nil {
		return err
	}
	var err error
	if p.prog, err = p.dev.ctx.CreateProgramWithBinary([]*cl.Device{p.dev.dev}, [][]byte{im.Binary}); err != nil {
		return p.dev.check("clCreateProgramWithBinary", err)
	}
	if err := p.prog.BuildProgram([]*cl.Device{p.dev.dev}, p.options); err != nil {
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
func (p *program) compile(src *backend.Source, text string) error {
	if i := strings.IndexByte(text, 0); i >= 0 {
		return failure("Device.Compile", backend.ErrBuild, "%s: a zero byte ends the text for C", src.FileName())
	}
	var err error
	if p.prog, err = p.dev.ctx.CreateProgramWithSource([]string{text}); err != nil {
		return p.dev.check("clCreateProgramWithSource", err)
	}
	if err := p.prog.BuildProgram([]*cl.Device{p.dev.dev}, p.options); err != nil {
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
	if p.dev.info.Platform == pocl && e.Err == backend.ErrBuild {
		e.Detail = fileForCache() + e.Detail
	}
	return e
}

// create makes the kernel object, unless the device has less local memory than it takes: PoCL (3.1)
// ends the process where such a kernel is launched.
func (p *program) create() error {
	var err error
	if p.kernel, err = p.prog.CreateKernel(p.name); err != nil {
		return p.dev.check("clCreateKernel", err)
	}
	local, err := p.kernel.LocalMemSize(p.dev.dev)
	if err != nil {
		return p.dev.check("clGetKernelWorkGroupInfo", err)
	}
	if limit := p.dev.info.LocalMemory; limit > 0 && local > limit {
		return failure("Device.Compile", backend.ErrUnsupported,
			"kernel %s takes %d bytes of local memory a group, the device has %d", p.name, local, limit)
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
	read, _, readErr := driverkit.ParseParams(&undeclared)
	known := readErr == nil && len(read) == n
	if n > 1<<16 {
		err := fmt.Errorf("the driver tells of %d arguments of a kernel, which cannot be", n)
		return p.dev.check("clGetKernelInfo", err)
	}
	p.Params = make([]backend.Param, n)
	for i := range p.Params {
		told, ok := p.param(i)
		switch {
		case !ok && !known:
			p.Params = nil // only a source that declares its parameters can be launched
			return nil
		case !ok || known && told.Buffer == read[i].Buffer && told.Size == 0: // typedefs are resolved there
			p.Params[i] = read[i]
		default:
			p.Params[i] = told
		}
		if t := p.Params[i]; ok && told.Type != "" && !told.Buffer && strings.HasSuffix(told.Type, "*") {
			return failure("Device.Compile", backend.ErrBuild,
				"%s: parameter %d (%s) of %s is __local; declare the array in the kernel with LOCALMEM", src.FileName(),
				i, t, p.name)
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

// fit is the signature of a kernel from src, checked against what the compiler made of it.
func (p *program) fit(src *backend.Source) (backend.Signature, error) {
	bad := func(format string, v ...any) (backend.Signature, error) {
		return backend.Signature{}, failure("Device.Compile", backend.ErrBuild, "%s: kernel %s: "+format,
			append([]any{src.FileName(), src.Name}, v...)...)
	}
	sig := backend.Signature{Name: p.name, Params: src.Params, Group: p.Group, MaxGroup: p.maxGroup}
	if sig.Group == [3]int{} {
		sig.Group = src.Group
	}
	if src.Group != [3]int{} && src.Group != sig.Group {
		return bad("the source declares groups of %v, the text groups of %v", src.Group, sig.Group)
	}
	if src.Params == nil {
		if p.Params == nil {
			return bad("the driver does not tell the parameters, nor can they be read from the text; declare them " +
				"in Source.Params")
		}
		sig.Params = p.Params
		return sig, nil
	}
	n, err := p.kernel.NumArgs()
	if err != nil {
		return sig, p.dev.check("clGetKernelInfo", err)
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
	return sig, nil
}
