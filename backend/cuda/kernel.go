package cuda

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/cuda/internal/capi"
	"github.com/tandem-gpu/tandem/internal/diskcache"
)

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

// A program is what kernels of one source share: the compiled code.
type program struct {
	dev   *deviceState
	key   programKey
	name  string
	users int           // kernels of it, and compilations that wait for it. Guarded by dev.mu
	done  chan struct{} // closed when the rest below is set
	err   error

	module   capi.Module
	function capi.Function
	entry    *ptxEntry
	params   []backend.Param // nil where neither the PTX nor the text tells
	group    [3]int          // that the kernel is written for; zero for any
	maxGroup int             // work-items a group, as far as the kernel's use of registers allows
}

type programKey = [sha256.Size]byte

// Name is the entry point.
func (k *kernel) Name() string { return k.prog.name }

// Params describes the arguments.
func (k *kernel) Params() []backend.Param { return k.params }

// Release waits for the launches that are queued on the device, if this is the last kernel of its source, and gives it back. It is idempotent.
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

// Compile makes a kernel from src: of its PTX if it has some, or else of its text by NVRTC or out of the caches.
func (d *device) Compile(src *backend.Source) (backend.Kernel, error) {
	const op = "Device.Compile"
	if err := d.enter(op); err != nil {
		return nil, err
	}
	defer d.drop()
	if src == nil || src.Name == "" {
		return nil, d.failure(op, backend.ErrArgument, "a source without the name of its kernel")
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
	runtime.AddCleanup(k, func(s *kernelState) { go s.close() }, s)
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
	if last && p.module != 0 {
		p.dev.finish() // launches of it may be queued
		p.release()
	}
}

func (p *program) release() {
	if p.module != 0 {
		p.dev.dispose(func(c *capi.Table) int32 { return c.ModuleUnload(p.module) })
	}
	p.module = 0
}

// build makes the program of the PTX in src, or of that in the disk cache, or else compiles the text and puts the PTX there.
func (p *program) build(src *backend.Source) error {
	if len(src.PTX) > 0 {
		return p.load(src, src.PTX)
	}
	s := p.dev
	if text := src.Text; strings.IndexByte(text, 0) >= 0 {
		return s.failure("Device.Compile", backend.ErrBuild, "%s: a zero byte ends the text for C", src.FileName())
	}
	nv, err := s.nvrtc(src)
	if err != nil {
		return err
	}
	text := source(src)
	key := diskcache.KeyOf("ptx 1", nv.id, text)
	if ptx, ok := s.disk.Get(key); ok {
		if p.load(src, ptx) == nil {
			return nil
		}
		p.release()
		if err := s.live("Device.Compile", "device", true); err != nil {
			return err
		}
		s.disk.Delete(key) // the driver does not take it any more, or the kernel is not there
	}
	ptx, err := nv.compile(src, text)
	if err != nil {
		return err
	}
	if err := p.load(src, ptx); err != nil {
		return err
	}
	s.disk.Put(key, ptx)
	return nil
}

// logSize is the room for the log of the driver's compiler.
const logSize = 8 << 10

// load makes the program of PTX.
func (p *program) load(src *backend.Source, ptx []byte) error {
	const op = "Device.Compile"
	s := p.dev
	var err error
	if p.entry, err = parseEntry(ptx, src.Name); err != nil {
		return s.failure(op, backend.ErrBuild, "%s: %v", src.FileName(), err)
	}
	if err := p.describe(src); err != nil {
		return err
	}
	c, err := s.current()
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
	if err := s.check("cuModuleLoadDataEx", code); err != nil {
		if text := strings.TrimSpace(capi.GoString(&log[0])); text != "" {
			e := err.(*backend.Error)
			e.Detail = fmt.Sprintf("%s: the PTX of %s: %s\n%s", e.Detail, src.FileName(), src.Name, text)
		}
		return err
	}
	p.module = module
	if err := s.check("cuModuleGetFunction", c.ModuleGetFunction(&p.function, module, capi.CString(src.Name))); err != nil {
		p.release()
		return err
	}
	var n int32
	if err := s.check("cuFuncGetAttribute", c.FuncGetAttribute(&n, capi.FuncMaxThreadsPerBlock, p.function)); err != nil {
		p.release()
		return err
	}
	p.maxGroup = int(n)
	return nil
}

// describe finds the signature: what the PTX tells, with the names and types of the text where the two agree. PTX tells the sizes; not
// every compiler says in it which numbers of 64 bits are addresses.
func (p *program) describe(src *backend.Source) error {
	undeclared := *src
	undeclared.Params, undeclared.Group = nil, [3]int{}
	read, group, err := backend.ParseParams(&undeclared)
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

// fit is the parameters and the group size of a kernel from src, checked against what the compiler made of it.
func (p *program) fit(src *backend.Source) ([]backend.Param, [3]int, error) {
	bad := func(format string, v ...any) ([]backend.Param, [3]int, error) {
		return nil, [3]int{}, p.dev.failure("Device.Compile", backend.ErrBuild, "%s: kernel %s: "+format, append([]any{src.FileName(), src.Name}, v...)...)
	}
	group := p.group
	if group == [3]int{} {
		group = src.Group
	}
	if src.Group != [3]int{} && src.Group != group {
		return bad("the source declares groups of %v, the kernel is for groups of %v", src.Group, group)
	}
	if len(p.entry.params) > maxParams {
		return bad("%d parameters; a launch takes at most %d", len(p.entry.params), maxParams)
	}
	if src.Params == nil {
		if p.params == nil {
			return bad("its PTX does not mark which parameters are addresses, nor can they be read from the text; declare them in Source.Params")
		}
		return p.params, group, nil
	}
	if len(src.Params) != len(p.entry.params) {
		return bad("the source declares %d parameters, the kernel has %d", len(src.Params), len(p.entry.params))
	}
	for i, q := range p.entry.params {
		if d := src.Params[i]; !q.agrees(d) || p.params != nil && p.params[i].Buffer != d.Buffer {
			return bad("the source declares parameter %d as %s, the kernel has %s", i, d, q)
		}
	}
	return src.Params, group, nil
}
