// Package cuda is the drivers "cuda", NVIDIA's GPUs through the CUDA driver API, and "cudasim", a simulated GPU that runs the same PTX on the
// CPU for machines without one.
//
// Importing the package registers both. NVIDIA's library is loaded when devices are first asked for. Kernels that bring their PTX need
// nothing else; the text of other kernels is compiled by NVRTC, which is loaded when it is first needed.
package cuda

import (
	"fmt"
	"slices"
	"sync"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/cuda/internal/capi"
)

func init() {
	backend.Register(&driver{name: "cuda", load: capi.Load})
	backend.Register(newSimulator())
}

// driver lists the devices once; a list without any is not kept, and asked for again.
type driver struct {
	name      string
	load      func() (*capi.API, error)
	simulated bool

	mu      sync.Mutex
	entries []*entry
}

// An entry is one device of the list.
type entry struct {
	drv     *driver
	api     *capi.API
	dev     capi.Device
	version int    // of CUDA: 12040 is 12.4
	arch    int    // compute capability: 90 is 9.0
	id      string // all that a probe's result depends on
	canMap  bool   // kernels can reach host memory
	info    backend.Info

	probing sync.Mutex
	found   *findings // what the probe found; nil before. Guarded by probing.
}

// Name is "cuda" or "cudasim".
func (d *driver) Name() string { return d.name }

// Devices lists the devices in the order of CUDA, which CUDA_VISIBLE_DEVICES can change.
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
		return nil, d.failure("Driver.Open", backend.ErrNoDevice, "device %d of %d", i, len(entries))
	}
	return entries[i].open()
}

func (d *driver) list() ([]*entry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.entries == nil {
		entries, err := d.findDevices()
		if err != nil {
			return nil, err
		}
		d.entries = entries
	}
	return slices.Clone(d.entries), nil
}

// remedy says what to do where the driver has no device.
const remedy = "nvidia-smi lists the GPUs that NVIDIA's driver sees; CUDA_VISIBLE_DEVICES must not hide them"

// findDevices asks CUDA for its devices.
func (d *driver) findDevices() ([]*entry, error) {
	api, err := d.load()
	if err != nil {
		return nil, d.failure("dlopen", backend.ErrNoDevice, "%v", err)
	}
	c := api.Load()
	none := func(op string, code int32) error {
		e := d.callError(c, op, code)
		e.Err, e.Detail = backend.ErrNoDevice, e.Detail+"; "+remedy
		return e
	}
	if code := c.Init(0); code != capi.Success {
		return nil, none("cuInit", code)
	}
	var version, n int32
	if code := c.DriverGetVersion(&version); code != capi.Success {
		return nil, none("cuDriverGetVersion", code)
	}
	if code := c.DeviceGetCount(&n); code != capi.Success {
		return nil, none("cuDeviceGetCount", code)
	}
	if n == 0 {
		return nil, d.failure("cuDeviceGetCount", backend.ErrNoDevice, "the driver lists no GPU; %s", remedy)
	}
	entries := make([]*entry, n)
	for i := range entries {
		e := &entry{drv: d, api: api, version: int(version)}
		if code := c.DeviceGet(&e.dev, int32(i)); code != capi.Success {
			return nil, none("cuDeviceGet", code)
		}
		if op, code := e.describe(i); code != capi.Success {
			return nil, none(fmt.Sprintf("%s of device %d", op, i), code)
		}
		entries[i] = e
	}
	return entries, nil
}

// open opens the device, with what the probe found.
func (e *entry) open() (*device, error) {
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
	return d, nil
}
