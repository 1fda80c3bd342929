package backend

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The kinds of failure that a program can act on. errors.Is finds them in every error of every
// driver.
var (
	// ErrNoDevice: no device fits, or the library that would reach it is missing. Install a driver
	// or choose another backend.
	ErrNoDevice = errors.New("no device")
	// ErrOutOfMemory: the device or the host has no room. Free buffers or use smaller ones.
	ErrOutOfMemory = errors.New("out of memory")
	// ErrBuild: the kernel does not compile. The error's Detail is the compiler's log.
	ErrBuild = errors.New("kernel does not build")
	// ErrLaunch: the arguments, the grid or the group do not fit the kernel or the device, or the
	// kernel failed.
	ErrLaunch = errors.New("launch failed")
	// ErrDeviceLost: the device is gone or in an error that it cannot leave. Close it; other
	// devices go on.
	ErrDeviceLost = errors.New("device lost")
	// ErrUnsupported: this device or driver cannot do it. The error says what could.
	ErrUnsupported = errors.New("not supported")
	// ErrClosed: the device, queue, buffer or kernel was closed, freed or released before.
	ErrClosed = errors.New("already closed")
	// ErrArgument: a size, range or object that makes no sense for the call.
	ErrArgument = errors.New("invalid argument")
)

// An Error is a failed call: of the driver's own library, or of a check that stands before it.
type Error struct {
	Driver string // "cuda"
	Op     string // the C function, or the method where a check failed: "clBuildProgram", "Queue.Launch"
	Code   int    // the library's code; 0 where a check failed
	Name   string // the code's name: "CL_BUILD_PROGRAM_FAILURE"
	Detail string // the driver's own words, the compiler's log, or what was wrong with which value
	Err    error  // the sentinel that it matches; nil if none does
}

// Error names the driver, the call, the code, and then the details.
func (e *Error) Error() string {
	var s strings.Builder
	if e.Driver != "" {
		s.WriteString(e.Driver + ": ")
	}
	s.WriteString(e.Op)
	switch {
	case e.Name != "" && e.Code != 0:
		s.WriteString(": " + e.Name + " (" + strconv.Itoa(e.Code) + ")")
	case e.Name != "":
		s.WriteString(": " + e.Name)
	case e.Code != 0:
		s.WriteString(": code " + strconv.Itoa(e.Code))
	}
	if e.Err != nil {
		s.WriteString(": " + e.Err.Error())
	}
	if e.Detail != "" {
		s.WriteString(": " + e.Detail)
	}
	return s.String()
}

// Unwrap gives errors.Is the sentinel.
func (e *Error) Unwrap() error { return e.Err }

// Failure is the error of a check that stands before the library's call.
func Failure(driver, op string, kind error, format string, v ...any) *Error {
	return &Error{Driver: driver, Op: op, Err: kind, Detail: fmt.Sprintf(format, v...)}
}
