// Package opencl is the driver "opencl": GPUs and CPUs through the system's OpenCL library, version 1.2 or later.
//
// Importing the package registers the driver. The library is loaded when devices are first asked for.
package opencl

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/opencl/cl"
)

const driverName = "opencl"

func init() { backend.Register(new(driver)) }

// driver lists the devices once; a list without any is not kept, and asked for again.
type driver struct {
	mu      sync.Mutex
	entries []*entry
}

// An entry is one device of the list.
type entry struct {
	dev     *cl.Device
	id      string // all that a compiled program or a probe's result depends on, apart from the options
	options string // the compiler's
	kind    cl.DeviceType
	old     bool   // has no OpenCL 1.2
	untold  string // a property without which the device is of no use, and that it did not tell
	info    backend.Info

	probing sync.Mutex
	found   *findings // what the probe found; nil before. Guarded by probing.
}

// Name is "opencl".
func (*driver) Name() string { return driverName }

// Devices lists the devices of every platform, in the order of the OpenCL library. A platform that fails does not hide the others.
func (d *driver) Devices() ([]backend.Info, error) {
	entries, err := d.list()
	if err != nil {
		return nil, err
	}
	infos := make([]backend.Info, len(entries))
	for i, e := range entries {
		infos[i] = e.known()
	}
	return infos, nil
}

// Open opens device i, and probes its arithmetic the first time.
func (d *driver) Open(i int) (backend.Device, error) {
	entries, err := d.list()
	if err != nil {
		return nil, err
	}
	if i < 0 || i >= len(entries) {
		return nil, failure("Driver.Open", backend.ErrNoDevice, "device %d of %d", i, len(entries))
	}
	return entries[i].open()
}

func (d *driver) list() ([]*entry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.entries == nil {
		entries, err := findDevices()
		if err != nil {
			return nil, err
		}
		d.entries = entries
	}
	return slices.Clone(d.entries), nil
}

// remedy says what to do where there is no device.
const remedy = "install the OpenCL driver of the GPU's vendor, or PoCL for the CPU (Debian: pocl-opencl-icd); clinfo lists what is installed"

// findDevices asks every platform for its devices.
func findDevices() ([]*entry, error) {
	if err := cl.Load(); err != nil {
		return nil, failure("dlopen", backend.ErrNoDevice, "%v; %s", err, remedy)
	}
	platforms, err := cl.GetPlatforms()
	if err != nil {
		e := callError("clGetPlatformIDs", err)
		e.Err, e.Detail = backend.ErrNoDevice, "the OpenCL library is installed, but no driver is registered with it; "+remedy
		return nil, e
	}
	var entries []*entry
	var without []string
	for _, p := range platforms {
		devices, err := p.GetDevices(cl.DeviceTypeAll)
		if err != nil {
			without = append(without, fmt.Sprintf("platform %q: %v", p.Name(), callError("clGetDeviceIDs", err)))
			continue
		}
		for _, dev := range devices {
			e := newEntry(p, dev, len(entries))
			if e.untold != "" {
				without = append(without, fmt.Sprintf("platform %q: clGetDeviceInfo does not tell %s of a device", p.Name(), e.untold))
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

// open makes a device of its own context, with what the probe found.
func (e *entry) open() (*device, error) {
	if e.old {
		return nil, failure("Driver.Open", backend.ErrUnsupported, "%s: %s", e.info.Name, e.info.Note)
	}
	d, err := newDevice(e)
	if err != nil {
		return nil, err
	}
	f, err := e.probe(d)
	if err != nil {
		d.Close()
		return nil, err
	}
	f.apply(&d.info)
	d.mapped = f.Mapped
	return d, nil
}
