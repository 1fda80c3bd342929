package simapi

import (
	"bytes"
	"errors"
	"math"
	"os"
	"sync"
	"time"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend/cudasim/ptxsim"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
	"github.com/tandem-gpu/tandem/internal/clock"
)

// table is the CUDA driver API over s.
func (s *device) table() *capi.Table {
	t := new(capi.Table)
	s.addDevice(t)
	s.addMemory(t)
	s.addStreams(t)
	s.addModules(t)
	return t
}

const (
	cudaVersion = 13000
	deviceName  = "Simulated GPU"
)

// attribute is an attribute of the device; 0 for those that the driver does not ask for.
func (s *device) attribute(a int32) int32 {
	return map[int32]int32{
		capi.AttributeMaxThreadsPerBlock: ptxsim.MaxThreads,
		capi.AttributeMaxBlockDimX:       int32(ptxsim.MaxBlock[0]),
		capi.AttributeMaxBlockDimX + 1:   int32(ptxsim.MaxBlock[1]),
		capi.AttributeMaxBlockDimX + 2:   int32(ptxsim.MaxBlock[2]),
		capi.AttributeMaxGridDimX:        int32(ptxsim.MaxGrid[0]),
		capi.AttributeMaxGridDimX + 1:    int32(ptxsim.MaxGrid[1]),
		capi.AttributeMaxGridDimX + 2:    int32(ptxsim.MaxGrid[2]),
		capi.AttributeMaxSharedPerBlock:  ptxsim.SharedMemory,
		capi.AttributeMultiprocessors:    ptxsim.Multiprocessors,
		capi.AttributeCanMapHostMemory:   1,
		capi.AttributeComputeMajor:       int32(s.config.Arch / 10),
		capi.AttributeComputeMinor:       int32(s.config.Arch % 10),
		capi.AttributeMemoryPools:        1,
	}[a]
}

func (s *device) addDevice(t *capi.Table) {
	t.Init = func(uint32) int32 { return capi.Success }
	t.DriverGetVersion = func(version *int32) int32 { return give(version, cudaVersion) }
	tell := func(from func() map[int32]string) func(code int32, text **byte) int32 {
		return func(code int32, text **byte) int32 {
			s.mu.Lock()
			defer s.mu.Unlock()
			words, ok := from()[code]
			if !ok {
				return capi.InvalidValue
			}
			*text = capi.CString(words)
			return capi.Success
		}
	}
	t.GetErrorName = tell(func() map[int32]string { return s.names })
	t.GetErrorString = tell(func() map[int32]string { return s.texts })
	t.DeviceGetCount = func(n *int32) int32 { return give(n, 1) }
	t.DeviceGet = func(d *capi.Device, i int32) int32 { return give(d, 0) }
	t.DeviceGetName = func(name *byte, size int32, _ capi.Device) int32 {
		to := unsafe.Slice(name, size)
		to[copy(to[:size-1], deviceName)] = 0
		return capi.Success
	}
	t.DeviceTotalMem = func(n *uintptr, _ capi.Device) int32 {
		return give(n, uintptr(min(s.config.Memory, math.MaxInt))) // 4 GiB are 0 on 32 bits
	}
	t.DeviceAttribute = func(value *int32, a int32, _ capi.Device) int32 { return give(value, s.attribute(a)) }
	t.PrimaryCtxRetain = func(c *capi.Context, _ capi.Device) int32 {
		s.retain()
		return give(c, 1)
	}
	t.PrimaryCtxRelease = func(capi.Device) int32 { return s.release() }
	t.CtxSetCurrent = func(capi.Context) int32 { return capi.Success }
}

func (s *device) addMemory(t *capi.Table) {
	t.MemAlloc = func(p *capi.Pointer, n uintptr) int32 {
		return s.in(func(d *ptxsim.Device) int32 {
			addr, err := d.Alloc(uint64(n))
			if err != nil {
				return s.failed(err)
			}
			return give(p, capi.Pointer(addr))
		})
	}
	t.MemFree = func(p capi.Pointer) int32 {
		return s.in(func(d *ptxsim.Device) int32 { return s.status(d.Free(uint64(p))) })
	}
	t.DeviceGetDefaultMemPool = func(p *capi.Pool, _ capi.Device) int32 { return give(p, 1) }
	t.MemPoolSetAttribute = func(capi.Pool, int32, *uint64) int32 { return capi.Success }
	t.MemPoolTrimTo = func(capi.Pool, uintptr) int32 { return capi.Success } // it keeps nothing
	t.MemAllocAsync = func(p *capi.Pointer, n uintptr, stream capi.Stream) int32 {
		if code := t.StreamSynchronize(stream); code != capi.Success {
			return code
		}
		return t.MemAlloc(p, n)
	}
	t.MemFreeAsync = func(p capi.Pointer, stream capi.Stream) int32 {
		return s.queued(stream, func(d *ptxsim.Device) error { return d.Free(uint64(p)) })
	}
	t.MemHostAlloc = func(p *unsafe.Pointer, n uintptr, _ uint32) int32 {
		return s.in(func(d *ptxsim.Device) int32 {
			page := os.Getpagesize()
			mem := make([]byte, int(n)+page)
			skip := -int(uintptr(unsafe.Pointer(&mem[0]))) & (page - 1)
			*p = unsafe.Pointer(&mem[skip])
			return s.lock(d, mem[skip:skip+int(n)], false)
		})
	}
	t.MemHostRegister = func(p unsafe.Pointer, n uintptr, _ uint32) int32 {
		return s.in(func(d *ptxsim.Device) int32 {
			if s.overlaps(uintptr(p), n) {
				return capi.HostMemoryAlreadyRegistered
			}
			return s.lock(d, unsafe.Slice((*byte)(p), n), true)
		})
	}
	t.MemFreeHost = func(p unsafe.Pointer) int32 {
		return s.in(func(d *ptxsim.Device) int32 { return s.unlock(d, p, false) })
	}
	t.MemHostUnregister = func(p unsafe.Pointer) int32 {
		return s.in(func(d *ptxsim.Device) int32 { return s.unlock(d, p, true) })
	}
	t.MemHostGetDevicePointer = func(addr *capi.Pointer, p unsafe.Pointer, _ uint32) int32 {
		return s.in(func(*ptxsim.Device) int32 {
			h := s.host[uintptr(p)]
			if h == nil {
				return capi.HostMemoryNotRegistered
			}
			return give(addr, capi.Pointer(h.device))
		})
	}
	t.MemcpyHtoDAsync = func(dst capi.Pointer, src unsafe.Pointer, n uintptr, stream capi.Stream) int32 {
		mem := unsafe.Slice((*byte)(src), n)
		return s.queued(stream, func(d *ptxsim.Device) error { return d.Write(uint64(dst), mem) })
	}
	t.MemcpyDtoHAsync = func(dst unsafe.Pointer, src capi.Pointer, n uintptr, stream capi.Stream) int32 {
		mem := unsafe.Slice((*byte)(dst), n)
		return s.queued(stream, func(d *ptxsim.Device) error { return d.Read(mem, uint64(src)) })
	}
	t.MemcpyDtoDAsync = func(dst, src capi.Pointer, n uintptr, stream capi.Stream) int32 {
		return s.queued(stream, func(d *ptxsim.Device) error { return d.Copy(uint64(dst), uint64(src), int(n)) })
	}
	t.MemsetD8Async = func(p capi.Pointer, value uint8, n uintptr, stream capi.Stream) int32 {
		// of a size that divides n, large where it can be: filling is then fast
		pattern := bytes.Repeat([]byte{value}, int(min(n&-n, 1<<16)))
		return s.queued(stream, func(d *ptxsim.Device) error { return d.Fill(uint64(p), pattern, int(n)/len(pattern)) })
	}
}

// give puts a value where a call wants it.
func give[T any](to *T, v T) int32 {
	*to = v
	return capi.Success
}

// status is failed for a call that is no command; nil is success. s.mu is locked.
func (s *device) status(err error) int32 {
	if err != nil {
		return s.failed(err)
	}
	return capi.Success
}

// lock shows page-locked memory to kernels. s.mu is locked.
func (s *device) lock(d *ptxsim.Device, mem []byte, registered bool) int32 {
	addr, err := d.MapHost(mem)
	if err == nil {
		s.host[uintptr(unsafe.Pointer(&mem[0]))] = &hostMemory{mem, addr, registered}
	}
	return s.status(err)
}

// unlock ends what lock began. s.mu is locked.
func (s *device) unlock(d *ptxsim.Device, p unsafe.Pointer, registered bool) int32 {
	h := s.host[uintptr(p)]
	switch {
	case h == nil && registered:
		return capi.HostMemoryNotRegistered
	case h == nil || h.registered != registered:
		return capi.InvalidValue
	}
	delete(s.host, uintptr(p))
	return s.status(d.Unmap(h.device))
}

func (s *device) addStreams(t *capi.Table) {
	knownEvent := func(e capi.Event) int32 {
		return s.in(func(*ptxsim.Device) int32 {
			_, ok := s.events[e]
			return valid(ok)
		})
	}
	t.StreamCreate = func(stream *capi.Stream, _ uint32) int32 {
		return s.in(func(*ptxsim.Device) int32 {
			*stream = capi.Stream(s.newHandle())
			s.streams[*stream] = new(sync.Mutex)
			return capi.Success
		})
	}
	t.StreamDestroy = func(stream capi.Stream) int32 {
		return s.in(func(*ptxsim.Device) int32 { return remove(s.streams, stream) })
	}
	t.StreamSynchronize = func(stream capi.Stream) int32 {
		return s.queued(stream, func(*ptxsim.Device) error { return nil })
	}
	t.StreamWaitEvent = func(stream capi.Stream, e capi.Event, _ uint32) int32 {
		if code := knownEvent(e); code != capi.Success {
			return code
		}
		// the event was reached when it was recorded
		return s.in(func(*ptxsim.Device) int32 { return valid(s.streams[stream] != nil) })
	}
	t.EventCreate = func(e *capi.Event, _ uint32) int32 {
		return s.in(func(*ptxsim.Device) int32 {
			*e = capi.Event(s.newHandle())
			s.events[*e] = 0
			return capi.Success
		})
	}
	t.EventDestroy = func(e capi.Event) int32 {
		return s.in(func(*ptxsim.Device) int32 { return remove(s.events, e) })
	}
	t.EventRecord = func(e capi.Event, stream capi.Stream) int32 {
		var now time.Duration
		code := s.queued(stream, func(*ptxsim.Device) error {
			now = clock.Now()
			return nil
		})
		if code != capi.Success {
			return code
		}
		return s.in(func(*ptxsim.Device) int32 {
			_, ok := s.events[e]
			if ok {
				s.events[e] = now
			}
			return valid(ok)
		})
	}
	t.EventSynchronize = knownEvent
	t.EventElapsedTime = func(ms *float32, from, to capi.Event) int32 {
		return s.in(func(*ptxsim.Device) int32 {
			a, b := s.events[from], s.events[to]
			if a == 0 || b == 0 {
				return capi.InvalidHandle
			}
			return give(ms, float32(float64(b-a)/float64(time.Millisecond)))
		})
	}
}

// remove forgets what has handle h.
func remove[H comparable, V any](all map[H]V, h H) int32 {
	_, ok := all[h]
	delete(all, h)
	return valid(ok)
}

func (s *device) addModules(t *capi.Table) {
	t.ModuleLoadDataEx = func(m *capi.Module, image *byte, n uint32, options *int32, values *uintptr) int32 {
		ptx := []byte(capi.GoString(image))
		return s.in(func(d *ptxsim.Device) int32 {
			mod, err := d.Load(ptx)
			if errors.Is(err, ptxsim.ErrOutOfMemory) {
				return capi.OutOfMemory
			}
			if err != nil {
				writeLog(err.Error(), unsafe.Slice(options, n), unsafe.Slice(values, n))
				return capi.InvalidPTX
			}
			*m = capi.Module(s.newHandle())
			s.modules[*m] = mod
			return capi.Success
		})
	}
	t.ModuleUnload = func(m capi.Module) int32 {
		var mod *ptxsim.Module
		code := s.in(func(*ptxsim.Device) int32 {
			mod = s.unload(m)
			return valid(mod != nil)
		})
		if mod != nil {
			mod.Unload() // waits for launches
		}
		return code
	}
	t.ModuleGetFunction = func(f *capi.Function, m capi.Module, name *byte) int32 {
		return s.in(func(*ptxsim.Device) int32 {
			mod := s.modules[m]
			if mod == nil {
				return capi.InvalidHandle
			}
			fn, err := mod.Function(capi.GoString(name))
			if err != nil {
				return capi.NotFound
			}
			*f = capi.Function(s.newHandle())
			s.kernels[*f] = kernel{m, fn}
			return capi.Success
		})
	}
	t.FuncGetAttribute = func(value *int32, a int32, f capi.Function) int32 {
		return s.in(func(*ptxsim.Device) int32 {
			fn := s.kernels[f].fn
			if fn == nil {
				return capi.InvalidHandle
			}
			if a != capi.FuncMaxThreadsPerBlock {
				return capi.InvalidValue
			}
			*value = ptxsim.MaxThreads
			if n := fn.MaxNTID; n[0] > 0 {
				*value = min(*value, int32(n[0]*n[1]*n[2]))
			}
			return capi.Success
		})
	}
	t.LaunchKernel = s.launch
}

// writeLog puts text where the options of cuModuleLoadDataEx want the log of errors.
func writeLog(text string, options []int32, values []uintptr) {
	var log *byte
	var size uintptr
	for i, o := range options {
		switch o {
		case capi.JITErrorLog:
			log = *(**byte)(unsafe.Pointer(&values[i]))
		case capi.JITErrorLogSize:
			size = values[i]
		}
	}
	if log != nil && size > 0 {
		to := unsafe.Slice(log, size)
		to[copy(to[:size-1], text)] = 0
	}
}

// launch is cuLaunchKernel. params are the addresses of the arguments.
func (s *device) launch(f capi.Function, gridX, gridY, gridZ, blockX, blockY, blockZ, shared uint32,
	stream capi.Stream, params *unsafe.Pointer, _ *unsafe.Pointer,
) int32 {
	var fn *ptxsim.Function
	if code := s.in(func(*ptxsim.Device) int32 {
		fn = s.kernels[f].fn
		return valid(fn != nil)
	}); code != capi.Success {
		return code
	}
	packed := make([]byte, fn.ParamSize)
	for i, arg := range unsafe.Slice(params, len(fn.Params)) {
		p := fn.Params[i]
		copy(packed[p.Offset:], unsafe.Slice((*byte)(arg), p.Size))
	}
	grid, block := [3]int{int(gridX), int(gridY), int(gridZ)}, [3]int{int(blockX), int(blockY), int(blockZ)}
	return s.queued(stream, func(d *ptxsim.Device) error {
		return d.Launch(fn, grid, block, int(shared), packed)
	})
}
