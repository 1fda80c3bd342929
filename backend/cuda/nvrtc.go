package cuda

import (
	"bytes"
	_ "embed" // the prelude
	"fmt"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
)

//go:embed prelude.h
var prelude string

// A compiler is NVRTC for one architecture.
type compiler struct {
	drv     *driver
	c       *capi.NVRTC
	options []string
	id      string // all that the PTX depends on, apart from the text
}

// nvrtc finds NVRTC, to compile src for the device.
func (d *device) nvrtc(src *backend.Source) (*compiler, error) {
	table, err := capi.LoadNVRTC(d.version)
	if err != nil {
		return nil, d.drv.failure("Device.Compile", backend.ErrUnsupported,
			"kernel %s of %s comes as text, which NVRTC has to compile, and without PTX. "+
				"There is no NVRTC here; get it by `pip install nvidia-cuda-nvrtc`, and where it is not found "+
				"set %s to the file or to pip's --target. %v",
			src.Name, src.FileName(), capi.EnvNVRTC, err)
	}
	n := &compiler{drv: d.drv, c: table.Load()}
	arch, err := n.arch(d.arch)
	if err != nil {
		return nil, err
	}
	var major, minor int32
	if err := n.check("nvrtcVersion", n.c.Version(&major, &minor)); err != nil {
		return nil, err
	}
	n.options = options(arch)
	n.id = fmt.Sprintf("NVRTC %d.%d %s", major, minor, strings.Join(n.options, " "))
	return n, nil
}

// arch is the newest architecture that NVRTC knows and the device runs: PTX for an older one runs
// on all that are newer.
func (n *compiler) arch(device int) (int, error) {
	var count int32
	if err := n.check("nvrtcGetNumSupportedArchs", n.c.GetNumArchs(&count)); err != nil {
		return 0, err
	}
	archs := make([]int32, max(1, count))
	if err := n.check("nvrtcGetSupportedArchs", n.c.GetArchs(&archs[0])); err != nil {
		return 0, err
	}
	best := 0
	for _, a := range archs[:count] {
		if int(a) <= device {
			best = max(best, int(a))
		}
	}
	if best == 0 {
		return 0, n.drv.failure("Device.Compile", backend.ErrUnsupported,
			"the device is sm_%d, and this NVRTC knows only %d; "+
				"use an older NVRTC: `pip install nvidia-cuda-nvrtc-cu12`, or %s", device, archs[:count], capi.EnvNVRTC)
	}
	return best, nil
}

// options are NVRTC's. None of them may change bits: no contraction, no flushing of subnormals,
// exact division and roots.
func options(arch int) []string {
	return []string{
		fmt.Sprintf("--gpu-architecture=compute_%d", arch), "--fmad=false", "--ftz=false", "--prec-div=true",
		"--prec-sqrt=true",
		"-default-device", "--generate-line-info", "--diag-suppress=1444", // double4 is deprecated in CUDA 13
	}
}

func source(src *backend.Source) string { return driverkit.Text(prelude, src) }

// compile makes PTX of text, the whole text of src.
func (n *compiler) compile(src *backend.Source, text string) ([]byte, error) {
	var p capi.Program
	if err := n.check("nvrtcCreateProgram", n.c.CreateProgram(&p, capi.CString(text), capi.CString(src.FileName()), 0,
		nil, nil)); err != nil {
		return nil, err
	}
	defer n.c.DestroyProgram(&p)
	options := make([]*byte, len(n.options))
	for i, o := range n.options {
		options[i] = capi.CString(o)
	}
	if err := n.check("nvrtcCompileProgram", n.c.CompileProgram(p, int32(len(options)), &options[0])); err != nil {
		if log := n.log(p); log != "" {
			err.(*backend.Error).Detail = log
		}
		return nil, err
	}
	var size uintptr
	if err := n.check("nvrtcGetPTXSize", n.c.GetPTXSize(p, &size)); err != nil {
		return nil, err
	}
	ptx := make([]byte, max(1, size))
	if err := n.check("nvrtcGetPTX", n.c.GetPTX(p, &ptx[0])); err != nil {
		return nil, err
	}
	return bytes.TrimRight(ptx, "\x00"), nil
}

// log is the compiler's log, "" where it cannot be had.
func (n *compiler) log(p capi.Program) string {
	var size uintptr
	if n.c.GetProgramLogSize(p, &size) != capi.Success {
		return ""
	}
	log := make([]byte, size+1)
	if n.c.GetProgramLog(p, &log[0]) != capi.Success {
		return ""
	}
	return capi.GoString(&log[0])
}

// check is the error of the function op of NVRTC, nil for success.
func (n *compiler) check(op string, code int32) error {
	if code == capi.Success {
		return nil
	}
	e := &backend.Error{Driver: n.drv.name, Op: op, Code: int(code), Name: capi.NVRTCName(code), Err: backend.ErrBuild}
	if code == capi.NVRTCOutOfMemory {
		e.Err = backend.ErrOutOfMemory
	}
	return e
}
