// Package cuda is the driver "cuda": NVIDIA's GPUs through the CUDA driver API.
//
// Importing the package registers it. NVIDIA's library is loaded when devices are first asked for.
// Kernels that bring their PTX need nothing else; the text of other kernels is compiled by NVRTC,
// which is loaded when it is first needed.
package cuda

import (
	"fmt"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit"
	"github.com/tandem-gpu/tandem/backend/driverkit/dl"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
)

func init() {
	capi.NewDriver = newDriver
	backend.Register(newDriver("cuda", "NVIDIA", "", capi.Load))
}

type driver struct {
	driverkit.List[*entry]
	name, vendor, note string // of its devices
	load               func() (*capi.API, error)
}

// newDriver is a driver over the functions that load gives, such as package cudasim's. The other
// arguments are the Driver, Vendor and Note of its devices.
func newDriver(name, vendor, note string, load func() (*capi.API, error)) backend.Driver {
	d := &driver{name: name, vendor: vendor, note: note, load: load}
	d.Driver, d.Find = name, d.findDevices
	return d
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
	claimed backend.Info
	probed  driverkit.Memo[driverkit.Arithmetic]
}

// remedy says what to do where the driver has no device.
const remedy = "nvidia-smi lists the GPUs that NVIDIA's driver sees; CUDA_VISIBLE_DEVICES must not hide them"

// findDevices lists the devices in the order of CUDA, which CUDA_VISIBLE_DEVICES can change.
func (d *driver) findDevices() ([]*entry, error) {
	api, err := d.load()
	if err != nil {
		return nil, d.failure("dlopen", backend.ErrNoDevice, "%v", err)
	}
	defer dl.KeepSignals()()
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
	if n <= 0 {
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

// Open opens the device, and probes its arithmetic the first time.
func (e *entry) Open() (*backend.Device, error) {
	own, err := newDevice(e)
	if err != nil {
		return nil, err
	}
	d := backend.NewDevice(own)
	d.WhenFull(func() { own.dispose(own.pool.flush) })
	f, err := own.probe(d)
	if err != nil {
		d.Close()
		return nil, err
	}
	f.Apply(&own.info)
	return d, nil
}
