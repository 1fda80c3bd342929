package linalg

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
)

// CompileSource makes a kernel of the user's own: src has the name of its entry point and text in
// the portable dialect, and where the kernel has them, macros, a file name for messages, and a Go
// implementation, without which the cpu device is backend.ErrUnsupported. An error that matches
// backend.ErrBuild carries the compiler's log. The kernel ends with the session; Release ends it
// earlier.
func (s *Session) CompileSource(src *backend.Source, opts ...Option) (*backend.Kernel, error) {
	o, err := settingsOf("Session.CompileSource", withContext, opts)
	if err := cmp.Or(err, s.open(), context.Cause(o.ctx)); err != nil {
		return nil, err
	}
	var k *backend.Kernel
	err = s.orAbandon(o.ctx, func() (err error) {
		k, err = s.compile(src, s.checked.Load())
		return err
	})
	if err != nil {
		return nil, err
	}
	return k, nil
}

// kernelOf is src compiled, once in a session.
func (s *Session) kernelOf(src *backend.Source) (*backend.Kernel, error) {
	if err := fresh(src); err != nil { // a variable that it uses may have changed since the last launch
		return nil, err
	}
	return s.kernel(kernelKey{src, s.checked.Load()})
}

// Launch runs k over g: CUDA's kernel[grid, block](args). An argument is
//
//   - an [Array], a backend.Buffer, a backend.Arg, or a []backend.Arg, which stands for all its
//     elements;
//   - an int32, uint32, int64, uint64, float32 or float64 (an int is an error: its width is the
//     host's);
//   - a slice of int32, uint32, int64, uint64, float32, float64 or byte, or a [Matrix], in host
//     memory. It is copied to the device before and back after the launch, or used in place where
//     the device shares the host's memory. Slices may be the same, but must not overlap otherwise;
//   - [WithContext]: Launch waits for the kernel then, and where ctx ends before, host memory among
//     the arguments belongs to the kernel: it may still be written.
//
// With host memory among the arguments Launch blocks until the kernel is done; otherwise it may
// return before. A wrong number of arguments, or a wrong kind or width of one or of its elements,
// is backend.ErrLaunch, a nil array or one of another session backend.ErrArgument, and nothing
// runs; the sign of integers does not matter. Bytes, buffers and what backend.Buf makes have
// elements of any type.
func (s *Session) Launch(k *backend.Kernel, g backend.Grid, args ...any) (err error) {
	if err := s.open(); err != nil {
		return err
	}
	if k == nil {
		return fmt.Errorf("linalg: %w: the kernel is nil", backend.ErrLaunch)
	}
	if i := slices.IndexFunc(args, isOption); i >= 0 {
		return s.launchUntil(args[i].(Option), k, g, slices.Delete(slices.Clone(args), i, i+1))
	}
	var l launch
	defer func() {
		err = cmp.Or(err, l.free())
	}()
	list := make([]backend.Arg, 0, len(args))
	params := k.Params()
	for _, a := range args {
		if several, ok := a.([]backend.Arg); ok {
			list = append(list, several...)
			continue
		}
		readOnly := len(list) < len(params) && params[len(list)].ReadOnly
		arg, err := l.arg(s, a, readOnly)
		if err != nil {
			return fmt.Errorf("linalg: %s: %w", argumentName(k, len(list)), err)
		}
		list = append(list, arg)
	}
	if err := s.launchArgs(k, g, list); err != nil {
		return err
	}
	return l.finish(s)
}

func isOption(arg any) bool { _, is := arg.(Option); return is }

// launchUntil is Launch that waits for the kernel, or gives the device up.
func (s *Session) launchUntil(o Option, k *backend.Kernel, g backend.Grid, args []any) error {
	x, err := settingsOf("Session.Launch", withContext, []Option{o})
	if err := cmp.Or(err, context.Cause(x.ctx)); err != nil {
		return err
	}
	return s.orAbandon(x.ctx, func() error {
		if err := s.Launch(k, g, args...); err != nil {
			return err
		}
		return s.Wait()
	})
}

// argumentName is argument i of kernel k in messages, with its name where the kernel tells it.
func argumentName(k *backend.Kernel, i int) string {
	name := ""
	if params := k.Params(); i < len(params) && params[i].Name != "" {
		name = " (" + params[i].Name + ")"
	}
	return fmt.Sprintf("argument %d%s of kernel %s", i, name, k.Name())
}

// launch holds the host memory among the arguments of one launch.
type launch struct{ hosts []hostArg }

// hostArg is host memory and the buffer that stands for it on the device.
type hostArg struct {
	mem    []byte
	buf    *backend.Buffer
	shared bool // the buffer is the memory itself
	read   bool // is all that the kernel does with it
}

// arrayArg is what every *Array[T] is.
type arrayArg interface{ untyped() *array }

// matrixArg is what every Matrix[T] is.
type matrixArg interface {
	check(name string) error
	bytes() []byte
	elem() string
}

// arg is a as an argument; readOnly is said of memory that the kernel does not write.
func (l *launch) arg(s *Session, a any, readOnly bool) (backend.Arg, error) {
	switch a := a.(type) {
	case backend.Arg:
		return a, nil
	case arrayArg:
		return a.untyped().arg(s)
	case *backend.Buffer:
		return backend.Buf(a), nil
	case int32:
		return backend.Int32(a), nil
	case uint32:
		return backend.Uint32(a), nil
	case int64:
		return backend.Int64(a), nil
	case uint64:
		return backend.Uint64(a), nil
	case float32:
		return backend.Float32(a), nil
	case float64:
		return backend.Float64(a), nil
	case matrixArg:
		if err := a.check("matrix"); err != nil {
			return backend.Arg{}, err
		}
		return l.host(s, a.bytes(), a.elem(), readOnly)
	case []byte:
		return l.host(s, a, "", readOnly)
	case []int32:
		return l.host(s, backend.Bytes(a), "int32", readOnly)
	case []uint32:
		return l.host(s, backend.Bytes(a), "uint32", readOnly)
	case []int64:
		return l.host(s, backend.Bytes(a), "int64", readOnly)
	case []uint64:
		return l.host(s, backend.Bytes(a), "uint64", readOnly)
	case []float32:
		return l.host(s, backend.Bytes(a), "float32", readOnly)
	case []float64:
		return l.host(s, backend.Bytes(a), "float64", readOnly)
	case nil:
		return backend.Arg{}, fmt.Errorf("%w: it is nil", backend.ErrLaunch)
	case int, uint:
		return backend.Arg{}, fmt.Errorf("%w: a kernel has no %T: use int32 or int64, as the kernel declares it",
			backend.ErrLaunch, a)
	}
	return backend.Arg{}, fmt.Errorf("%w: cannot pass a %T", backend.ErrLaunch, a)
}

// host brings mem, elements of the type that Go calls elem, to the device, or registers it where
// the device shares the host's memory.
func (l *launch) host(s *Session, mem []byte, elem string, readOnly bool) (backend.Arg, error) {
	for i, h := range l.hosts {
		if len(mem) == len(h.mem) && unsafe.SliceData(mem) == unsafe.SliceData(h.mem) {
			l.hosts[i].read = h.read && readOnly
			return backend.Arg{Buffer: h.buf, Type: elem}, nil
		}
		if bytesOverlap(mem, h.mem) {
			return backend.Arg{}, fmt.Errorf("%w: two host slices overlap, and are not the same", ErrOverlap)
		}
	}
	h := hostArg{mem: mem, shared: s.sharesMemory() && len(mem) > 0, read: readOnly}
	var err error
	if h.shared {
		h.buf, err = s.device.Register(mem)
	} else {
		h.buf, err = s.device.Alloc(int64(len(mem)))
	}
	if err != nil {
		return backend.Arg{}, err
	}
	l.hosts = append(l.hosts, h)
	if !h.shared {
		err = s.queue.Write(h.buf, 0, mem)
	}
	return backend.Arg{Buffer: h.buf, Type: elem}, err
}

// finish waits for the kernel and copies host memory back that it may have written.
func (l *launch) finish(s *Session) error {
	if len(l.hosts) == 0 {
		return nil
	}
	for _, h := range l.hosts {
		if !h.shared && !h.read {
			if err := s.queue.Read(h.mem, h.buf, 0); err != nil {
				return err
			}
		}
	}
	return s.queue.Wait()
}

func (l *launch) free() (err error) {
	for _, h := range slices.Backward(l.hosts) {
		err = cmp.Or(err, h.buf.Free())
	}
	return err
}
