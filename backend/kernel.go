package backend

import (
	"runtime"
)

// A Kernel is compiled code for one device.
type Kernel struct {
	*kernel
	held *Device
}

type kernel struct {
	object
	driver DriverKernel
	sig    *Signature
}

// Compile makes a kernel from s, or takes it from the caches. ErrBuild carries the compiler's whole
// log, with s.File and the lines of s.Text. ErrUnsupported says what the driver would need.
func (d *Device) Compile(s *Source) (*Kernel, error) {
	const op = "Device.Compile"
	if err := d.enter(op, d); err != nil {
		return nil, err
	}
	defer d.drop()
	if s == nil || s.Name == "" {
		return nil, d.failure(op, ErrArgument, "a source without the name of its kernel")
	}
	made, err := d.driver.Compile(s.Unpacked())
	if err != nil {
		return nil, d.failed(err)
	}
	kn := &kernel{driver: made, sig: made.Signature()}
	if err := d.adopt(op, "kernel "+s.Name, &kn.object, made); err != nil {
		return nil, err
	}
	k := &Kernel{kn, d}
	if kn.free != nil {
		whenForgotten(k, &kn.object, kn.close)
	}
	return k, nil
}

// Name is the entry point.
func (k *Kernel) Name() string { return k.sig.Name }

// Params describes the arguments; a launch is checked against it.
func (k *Kernel) Params() []Param { return k.sig.Params }

// Release gives the kernel back. It is idempotent. Commands already queued still run.
func (k *Kernel) Release() error {
	k.close()
	runtime.KeepAlive(k)
	return nil
}
