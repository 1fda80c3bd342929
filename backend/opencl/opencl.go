// Package opencl is the driver "opencl": GPUs and CPUs through the system's OpenCL library, version
// 1.2 or later.
//
// Importing the package registers the driver. The library is loaded when devices are first asked
// for.
package opencl

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit"
	"github.com/tandem-gpu/tandem/backend/driverkit/dl"
	"github.com/tandem-gpu/tandem/backend/opencl/cl"
)

const driverName = "opencl"

func init() { backend.Register(newDriver()) }

func newDriver() backend.Driver {
	return &driverkit.List[*entry]{Driver: driverName, Find: findDevices}
}

// An entry is one device of the list.
type entry struct {
	dev     *cl.Device
	id      string // all that a compiled program or a probe's result depends on, apart from the options
	options string // the compiler's
	kind    cl.DeviceType
	old     bool         // has no OpenCL 1.2
	amd     bool         // AMD's driver: its compiler may have matrix instructions
	missing string       // a property without which the device is of no use, and that it did not tell
	claimed backend.Info // what the driver says of it
	probed  driverkit.Memo[findings]
}

// fileForCache says that POCL_CACHE_DIR is a file, where it is: PoCL tells nothing but that it
// builds no program.
func fileForCache() string {
	dir := os.Getenv("POCL_CACHE_DIR")
	if info, err := os.Stat(dir); err != nil || info.IsDir() {
		return ""
	}
	return "POCL_CACHE_DIR, " + dir + ", is a file, and must name a folder that can be written; "
}

// remedy says what to do where there is no device.
const remedy = "install the OpenCL driver of the GPU's vendor, or PoCL for the CPU (Debian: pocl-opencl-icd); " +
	"clinfo lists what is installed"

// pocl is the name of PoCL's platform.
const pocl = "Portable Computing Language"

// findDevices lists the devices of every platform, in the order of the OpenCL library. A platform
// that fails does not hide the others.
func findDevices() ([]*entry, error) {
	if err := cl.Load(); err != nil {
		return nil, failure("dlopen", backend.ErrNoDevice, "%v", dl.Advise(err, remedy))
	}
	platforms, err := cl.GetPlatforms()
	if err != nil {
		e := callError("clGetPlatformIDs", err)
		if e.Err = backend.ErrNoDevice; err == cl.ErrNoPlatform {
			e.Detail = withoutPlatform()
		}
		return nil, e
	}
	var entries []*entry
	var without []string
	for _, p := range platforms {
		devices, err := p.GetDevices(cl.DeviceTypeAll)
		if err != nil {
			e := callError("clGetDeviceIDs", err)
			if err == cl.ErrDeviceNotFound && p.Name() == pocl {
				e.Detail = "it has none where it cannot write its cache: POCL_CACHE_DIR, or HOME, must name a folder " +
					"that can be written"
			}
			without = append(without, fmt.Sprintf("platform %q: %v", p.Name(), e))
			continue
		}
		for _, dev := range devices {
			e := newEntry(p, dev, len(entries))
			if e.missing != "" {
				without = append(without, fmt.Sprintf("platform %q: clGetDeviceInfo does not tell %s of a device",
					p.Name(), e.missing))
				continue
			}
			entries = append(entries, e)
		}
	}
	if len(entries) == 0 {
		return nil, failure("clGetDeviceIDs", backend.ErrNoDevice, "%s; %s", strings.Join(without, "; "), remedy)
	}
	return entries, nil
}

// withoutPlatform says why the OpenCL library knows of no driver.
func withoutPlatform() string {
	if why := unloadable(); why != "" {
		return "the OpenCL library is installed, but no driver that is registered with it loads: " + why
	}
	return "the OpenCL library is installed, but no driver is registered with it; " + remedy
}

// unloadable says why the drivers that are registered with the loader of Linux do not load, ""
// where they do or there are none. The loader leaves such a driver out without a word.
// OCL_ICD_VENDORS is a folder of .icd files, each with the name of a library, or one such file, or
// a library.
func unloadable() string {
	vendors := cmp.Or(os.Getenv("OCL_ICD_VENDORS"), "/etc/OpenCL/vendors")
	files, _ := filepath.Glob(filepath.Join(vendors, "*.icd"))
	if files == nil {
		files = []string{vendors}
	}
	var why []string
	for _, name := range files {
		if strings.HasSuffix(name, ".icd") {
			text, err := os.ReadFile(name)
			if err != nil {
				why = append(why, err.Error())
				continue
			}
			file, line := name, strings.TrimSuffix(string(text), "\n")
			if name = strings.TrimSpace(line); name != line {
				why = append(why, fmt.Sprintf("%s: before or after the library's name are blanks or a carriage "+
					"return, which the loader takes for a part of it", file))
			}
		}
		if !strings.Contains(name, ".so") {
			continue // a folder without files
		}
		if _, err := dl.Open(name); err != nil {
			why = append(why, err.Error())
		}
	}
	text := strings.Join(why, "; ")
	if strings.Contains(text, "libsvml.so") {
		text += "; pip's package intel-cmplr-lib-rt has libsvml.so, which belongs beside libintelocl.so"
	}
	return text
}

// Open makes a device of its own context, and probes its arithmetic the first time.
func (e *entry) Open() (*backend.Device, error) {
	if e.old {
		return nil, failure("Driver.Open", backend.ErrUnsupported, "%s: %s", e.claimed.Name, e.claimed.Note)
	}
	own, err := newDevice(e)
	if err != nil {
		return nil, err
	}
	d := backend.NewDevice(own)
	f, err := own.probe(d)
	if err != nil {
		d.Close()
		return nil, err
	}
	if f.Scalars != "" {
		d.Close()
		return nil, failure("Driver.Open", backend.ErrUnsupported, "%s: what its compiler makes %s, also without "+
			"vectorizing: update the driver", e.claimed.Name, f.Scalars)
	}
	f.apply(&own.info)
	own.mapped, own.scalar = f.Mapped, f.Vectors != ""
	return d, nil
}
