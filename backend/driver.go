package backend

// The interfaces of this file are what a driver implements. A Device stands above them and does
// what all drivers have in common: it checks arguments, counts who uses what, and knows what is
// closed or lost. So a driver is only ever called with what it made itself, with sizes and ranges
// that fit, and with nothing that was released; n is never 0 in a copy, a grid never empty. Its
// errors need not name the driver.
//
// What has a method Release() is released once, when no call uses it any more: when it is closed or
// forgotten, or its device is. What has none needs no release.

// A DriverDevice is a device as its driver has it. Release comes after those of all that it made.
type DriverDevice interface {
	// Info describes the device. It does not change once the device is open.
	Info() *Info

	// Start comes first. finish waits for all queues of the device, for what must not happen while
	// commands run.
	Start(finish func() error)

	// Settle does what is left to do when the commands of a queue are done, before the caller of
	// Wait, Close or Free goes on.
	Settle() error

	// Alloc makes n zero bytes.
	Alloc(n int64) (Memory, error)
	// AllocHost makes n zero bytes of page-locked host memory. Without Info.UnifiedMemory they are
	// used for WriteAsync and ReadAsync alone.
	AllocHost(n int64) (Memory, error)
	// Register makes mem memory of the device without copying it, or is ErrUnsupported.
	Register(mem []byte) (Memory, error)
	// Compile makes a kernel of s, which has a name.
	Compile(s *Source) (DriverKernel, error)
	// NewQueue makes an in-order queue.
	NewQueue() (DriverQueue, error)

	Release()
}

// Memory is what a driver made for a buffer. Queues get pointers to it.
type Memory struct {
	Size   int64
	Bytes  []byte // host memory; nil for memory of the device
	Handle any    // the driver's own, perhaps with a method Release
}

// A DriverKernel is compiled code.
type DriverKernel interface {
	// Signature is what launches are checked against.
	Signature() *Signature
}

// A DriverQueue is an in-order queue. Its methods are those of Queue; Release comes after
// a last Finish.
type DriverQueue interface {
	Write(dst *Memory, off int64, src []byte) error
	Read(dst []byte, src *Memory, off int64) error
	WriteAsync(dst *Memory, off int64, src *Memory, srcOff, n int64) error
	ReadAsync(dst *Memory, dstOff int64, src *Memory, off, n int64) error
	Copy(dst *Memory, dstOff int64, src *Memory, srcOff, n int64) error
	// Launch has the memory of args[i] in mems[i], nil for a scalar.
	Launch(k DriverKernel, g Grid, args []Arg, mems []*Memory) error
	Record() (DriverEvent, error)
	WaitEvent(e DriverEvent) error
	// Finish waits for all that is queued, and returns what went wrong.
	Finish() error
	Release()
}

// A DriverEvent is a mark in a queue. Its methods are those of Event.
type DriverEvent interface {
	Wait() error
	Since(earlier DriverEvent) (int64, error)
}
