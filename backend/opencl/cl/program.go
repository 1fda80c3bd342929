package cl

import (
	"runtime"
	"strings"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend/driverkit/dl"
	"github.com/tandem-gpu/tandem/backend/opencl/internal/capi"
)

// A Program is a set of kernels.
type Program struct {
	h       *handle
	devices []*Device
}

// Release gives the program back. Its kernels live on until they are released themselves. It is
// idempotent.
func (p *Program) Release() { p.handle().release() }

func (p *Program) handle() *handle {
	if p == nil {
		return nil
	}
	return p.h
}

// use runs call with the program's handle.
func (p *Program) use(call func(id capi.Program) error) error {
	return use(p.handle(), ErrInvalidProgram, call)
}

// BuildProgram compiles and links the program for devices, or for all devices of its context where
// devices is empty. It returns when the work is done. If the compiler rejects the program, the
// error is a BuildError with the compiler's whole log.
func (p *Program) BuildProgram(devices []*Device, options string) error {
	ids, err := deviceIDs(devices)
	if err != nil {
		return err
	}
	var text *byte
	if options != "" {
		text = cString(options)
	}
	return p.use(func(id capi.Program) error {
		var list *capi.Device // C wants NULL together with 0
		if len(ids) > 0 {
			list = &ids[0]
		}
		defer dl.KeepSignals()() // the compiler may be loaded now
		status := api().BuildProgram(id, uint32(len(ids)), list, text, 0, 0)
		if status != capi.BuildProgramFailure {
			return toError(status)
		}
		if len(devices) == 0 {
			devices = p.devices
		}
		return p.buildError(devices)
	})
}

// buildError joins the logs of the devices that the program does not build for.
func (p *Program) buildError(devices []*Device) error {
	var logs []string
	for _, d := range devices {
		const status, failed = 0x1181, -2 // CL_PROGRAM_BUILD_STATUS, CL_BUILD_ERROR
		got, err := infoValue[int32](p.buildInfo(d, status))
		if err == nil && got != failed {
			continue
		}
		log, err := p.BuildLog(d)
		if err != nil {
			return ErrBuildProgramFailure
		}
		logs = append(logs, log)
	}
	return BuildError(strings.Join(logs, "\n"))
}

func (p *Program) buildInfo(d *Device, param uint32) infoFunc {
	return func(size uintptr, value unsafe.Pointer, sizeRet *uintptr) int32 {
		return api().GetProgramBuildInfo(capi.Program(p.h.id), d.nullableID(), param, size, value, sizeRet)
	}
}

// BuildLog is what the compiler said in the last build for d.
func (p *Program) BuildLog(d *Device) (log string, err error) {
	err = p.use(func(capi.Program) error {
		log, err = infoString(p.buildInfo(d, 0x1183)) // CL_PROGRAM_BUILD_LOG
		return err
	})
	return log, err
}

func (p *Program) info(param uint32) infoFunc {
	return func(size uintptr, value unsafe.Pointer, sizeRet *uintptr) int32 {
		return api().GetProgramInfo(capi.Program(p.h.id), param, size, value, sizeRet)
	}
}

// Binaries is the built program for each of its devices, in the order in which they were given to
// CreateContext or CreateProgramWithBinary. It is nil for a device that the program was not built
// for.
func (p *Program) Binaries() ([][]byte, error) {
	var binaries [][]byte
	err := p.use(func(capi.Program) error {
		ids, err := infoList[capi.Device](p.info(0x1163)) // CL_PROGRAM_DEVICES
		if err != nil {
			return err
		}
		code, err := p.binaries(len(ids))
		if err != nil {
			return err
		}
		binaries = make([][]byte, len(p.devices))
		for i, d := range p.devices {
			for j, id := range ids {
				if id == d.id {
					binaries[i] = code[j]
				}
			}
		}
		return nil
	})
	return binaries, err
}

// binaries is the built program for each of n devices, in C's order.
func (p *Program) binaries(n int) ([][]byte, error) {
	sizes, err := infoList[uintptr](p.info(0x1165)) // CL_PROGRAM_BINARY_SIZES
	if err != nil {
		return nil, err
	}
	if len(sizes) != n {
		return nil, ErrUnknown
	}
	code, list := make([][]byte, n), make([]*byte, n)
	for i, size := range sizes {
		if size > 0 {
			if code[i], err = listOf[byte](size); err != nil {
				return nil, err
			}
			list[i] = &code[i][0]
		}
	}
	var pins runtime.Pinner
	defer pins.Unpin()
	array := pinned(&pins, list)
	get := p.info(0x1166) // CL_PROGRAM_BINARIES
	return code, toError(get(uintptr(n)*unsafe.Sizeof(*array), unsafe.Pointer(array), nil))
}

// CreateKernel makes a kernel of the built program.
func (p *Program) CreateKernel(name string) (*Kernel, error) {
	k := new(Kernel)
	err := p.use(func(program capi.Program) error {
		var status int32
		id := api().CreateKernel(program, cString(name), &status)
		if err := created(uintptr(id), status); err != nil {
			return err
		}
		k.h = own(k, uintptr(id), func() { api().ReleaseKernel(id) })
		return nil
	})
	if err != nil {
		return nil, err
	}
	return k, nil
}
