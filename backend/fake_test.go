package backend

import (
	"errors"
	"testing"
)

// fakeDriver lists what a test tells it to. It is registered for good, as drivers are; reset makes
// it empty.
type fakeDriver struct {
	name    string
	infos   []Info
	err     error
	openErr map[int]error
}

func (d *fakeDriver) Name() string { return d.name }

func (d *fakeDriver) Devices() ([]Info, error) { return d.infos, d.err }

func (d *fakeDriver) Open(i int) (*Device, error) {
	if err := d.openErr[i]; err != nil {
		return nil, err
	}
	fake := NewDevice(fakeDevice{info: &d.infos[i]})
	opened = append(opened, fake)
	return fake, nil
}

// fakeDevice can only say who it is.
type fakeDevice struct {
	DriverDevice
	info *Info
}

func (d fakeDevice) Info() *Info        { return d.info }
func (d fakeDevice) Start(func() error) {}
func (d fakeDevice) Release()           { closed = append(closed, d.info.Name) }

var (
	opened []*Device // not forgotten, so that tests alone close them
	closed []string  // the names of the devices
)

var fakes = map[string]*fakeDriver{
	"cuda": {name: "cuda"}, "opencl": {name: "opencl"}, "cpu": {name: "cpu"}, "cudasim": {name: "cudasim"},
	"metal": {name: "metal"},
}

func init() {
	for _, d := range fakes {
		Register(d)
	}
}

var errNoCUDA = &Error{Driver: "cuda", Op: "dlopen", Err: ErrNoDevice, Detail: "libcuda.so.1: no such file"}

// machine is what the fake drivers list in a test.
type machine map[string][]Info

// set makes the fake drivers list m, until the test ends. A driver without devices has an error.
func (m machine) set(t *testing.T) {
	t.Helper()
	t.Setenv(EnvBackend, "")
	reset := func() {
		for name, d := range fakes {
			*d = fakeDriver{name: name, err: &Error{
				Driver: name, Op: "dlopen", Err: ErrNoDevice, Detail: "no library of " + name,
			}}
		}
	}
	reset()
	t.Cleanup(reset)
	for name, infos := range m {
		for i := range infos {
			infos[i].Driver, infos[i].Index = name, i
		}
		*fakes[name] = fakeDriver{name: name, infos: infos}
	}
}

var (
	nvidia   = Info{Name: "NVIDIA H200", Platform: "CUDA", Vendor: "NVIDIA", Arch: "sm_90", GPU: true}
	nvidiaCL = Info{
		Name: "NVIDIA H200", Platform: "NVIDIA CUDA", Vendor: "NVIDIA Corporation", Arch: "sm_90", GPU: true,
	}
	radeon = Info{
		Name: "Instinct MI210", Platform: "AMD APP", Vendor: "Advanced Micro Devices, Inc.", Arch: "gfx90a", GPU: true,
	}
	radeon2 = Info{Name: "Radeon VII", Platform: "ROCm", Vendor: "AMD", Arch: "gfx906", GPU: true}
	pocl    = Info{
		Name: "pthread-AMD EPYC", Platform: "Portable Computing Language", Vendor: "AuthenticAMD", Arch: "x86_64",
	}
	goCPU = Info{Name: "AMD EPYC", Platform: "Go", Vendor: "AuthenticAMD", Arch: "amd64", UnifiedMemory: true}
	sim   = Info{Name: "simulated", Platform: "CUDA", Vendor: "Tandem", Arch: "sm_50", GPU: true, Note: "simulated"}
)

var errBusy = errors.New("the device is in use")
