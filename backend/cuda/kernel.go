package cuda

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit"
	"github.com/tandem-gpu/tandem/backend/driverkit/diskcache"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
)

type kernel = driverkit.Kernel[*program]

// A program is what kernels of one source share: the compiled code.
type program struct {
	dev      *device
	name     string
	module   capi.Module
	function capi.Function
	entry    *ptxEntry
	params   []backend.Param // nil where neither the PTX nor the text tells
	group    [3]int          // that the kernel is written for; zero for any
	maxGroup int             // work-items a group, as far as the kernel's use of registers allows
}

// Compile makes a kernel from src: of its PTX if it has some, or else of its text by NVRTC or out
// of the caches.
func (d *device) Compile(src *backend.Source) (backend.DriverKernel, error) {
	return d.programs.Compile(src)
}

// unload releases the program once the launches that are queued, which may use it, are done.
func (p *program) unload() {
	p.dev.finish()
	p.release()
}

func (p *program) release() {
	if p.module != 0 {
		p.dev.dispose(func(c *capi.Table) int32 { return c.ModuleUnload(p.module) })
	}
	p.module = 0
}

// build makes the program of the PTX in src, or of that in the disk cache, or else compiles the
// text and puts the PTX there.
func (d *device) build(src *backend.Source) (*program, error) {
	p := &program{dev: d, name: src.Name}
	switch ptx, err := src.Prebuilt(); {
	case err != nil:
		return nil, d.drv.failure("Device.Compile", backend.ErrBuild, "%v", err)
	case len(ptx) > 0:
		return p, p.load(src, ptx)
	}
	if text := src.Text; strings.IndexByte(text, 0) >= 0 {
		return nil, d.drv.failure("Device.Compile", backend.ErrBuild, "%s: a zero byte ends the text for C",
			src.FileName())
	}
	nv, err := d.nvrtc(src)
	if err != nil {
		return nil, err
	}
	text := source(src)
	key := diskcache.KeyOf("ptx 1", nv.id, text)
	if ptx, ok := d.disk.Get(key); ok {
		err := p.load(src, ptx)
		if err == nil {
			return p, nil
		}
		if errors.Is(err, backend.ErrDeviceLost) {
			return nil, err
		}
		d.disk.Delete(key) // the driver does not take it any more, or the kernel is not there
	}
	ptx, err := nv.compile(src, text)
	if err != nil {
		return nil, err
	}
	if err := p.load(src, ptx); err != nil {
		return nil, err
	}
	d.disk.Put(key, ptx)
	return p, nil
}

// logSize is the room for the log of the driver's compiler.
const logSize = 8 << 10

// load makes the program of PTX.
func (p *program) load(src *backend.Source, ptx []byte) error {
	const op = "Device.Compile"
	d := p.dev
	var err error
	if p.entry, err = parseEntry(ptx, src.Name); err != nil {
		return d.drv.failure(op, backend.ErrBuild, "%s: %v", src.FileName(), err)
	}
	if err := p.describe(src); err != nil {
		return err
	}
	c, err := d.current()
	if err != nil {
		return err
	}
	defer leave()
	image := slices.Concat(bytes.TrimRight(ptx, "\x00"), []byte{0}) // ptx may be the source's
	log := make([]byte, logSize)
	var pin runtime.Pinner // an address that is a number does not keep log off the stack, which moves when it grows
	pin.Pin(&log[0])
	defer pin.Unpin()
	options := []int32{capi.JITErrorLog, capi.JITErrorLogSize}
	values := []uintptr{uintptr(unsafe.Pointer(&log[0])), logSize - 1}
	var module capi.Module
	code := c.ModuleLoadDataEx(&module, &image[0], uint32(len(options)), &options[0], &values[0])
	if err := d.check("cuModuleLoadDataEx", code); err != nil {
		if text := strings.TrimSpace(capi.GoString(&log[0])); text != "" {
			e := err.(*backend.Error)
			e.Detail = fmt.Sprintf("%s: the PTX of %s: %s\n%s", e.Detail, src.FileName(), src.Name, text)
		}
		return err
	}
	p.module = module
	if err := d.check("cuModuleGetFunction",
		c.ModuleGetFunction(&p.function, module, capi.CString(src.Name))); err != nil {
		p.release()
		return err
	}
	var n int32
	if err := d.check("cuFuncGetAttribute", c.FuncGetAttribute(&n, capi.FuncMaxThreadsPerBlock,
		p.function)); err != nil {
		p.release()
		return err
	}
	p.maxGroup = int(n)
	return nil
}

// describe finds the signature: what the PTX tells, with the names and types of the text where the
// two agree. PTX tells the sizes; not every compiler says in it which numbers of 64 bits are
// addresses.
func (p *program) describe(src *backend.Source) error {
	undeclared := *src
	undeclared.Params, undeclared.Group = nil, [3]int{}
	read, group, err := driverkit.ParseParams(&undeclared)
	known := err == nil && len(read) == len(p.entry.params)
	for i := range read {
		known = known && p.entry.params[i].agrees(read[i])
	}
	p.group = p.entry.reqntid
	if p.group == [3]int{} && err == nil {
		p.group = group
	}
	if known {
		p.params = read
		for i, q := range p.entry.params {
			if !read[i].Buffer && read[i].Size == 0 {
				p.params[i].Size = q.size
			}
		}
		return nil
	}
	marked := slices.ContainsFunc(p.entry.params, func(q ptxParam) bool { return q.pointer })
	params := make([]backend.Param, len(p.entry.params))
	for i, q := range p.entry.params {
		if q.word && !q.pointer && !marked {
			return nil // an address or a number: only a source that declares its parameters can be launched
		}
		params[i] = backend.Param{Name: q.name, Buffer: q.pointer}
		if !q.pointer {
			params[i].Size = q.size
		}
	}
	p.params = params
	return nil
}

// fit is the signature of a kernel from src, checked against what the compiler made of it.
func (p *program) fit(src *backend.Source) (backend.Signature, error) {
	bad := func(format string, v ...any) (backend.Signature, error) {
		return backend.Signature{}, p.dev.drv.failure("Device.Compile", backend.ErrBuild, "%s: kernel %s: "+format,
			append([]any{src.FileName(), src.Name}, v...)...)
	}
	sig := backend.Signature{Name: p.name, Params: src.Params, Group: p.group, MaxGroup: p.maxGroup}
	if sig.Group == [3]int{} {
		sig.Group = src.Group
	}
	if src.Group != [3]int{} && src.Group != sig.Group {
		return bad("the source declares groups of %v, the kernel is for groups of %v", src.Group, sig.Group)
	}
	if len(p.entry.params) > maxParams {
		return bad("%d parameters; a launch takes at most %d", len(p.entry.params), maxParams)
	}
	if src.Params == nil {
		if p.params == nil {
			return bad("its PTX does not mark which parameters are addresses, nor can they be read from the text; " +
				"declare them in Source.Params")
		}
		sig.Params = p.params
		return sig, nil
	}
	if len(src.Params) != len(p.entry.params) {
		return bad("the source declares %d parameters, the kernel has %d", len(src.Params), len(p.entry.params))
	}
	for i, q := range p.entry.params {
		if d := src.Params[i]; !q.agrees(d) || p.params != nil && p.params[i].Buffer != d.Buffer {
			return bad("the source declares parameter %d as %s, the kernel has %s", i, d, q)
		}
	}
	return sig, nil
}
