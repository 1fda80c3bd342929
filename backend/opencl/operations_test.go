package opencl_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit/dl"
	"github.com/tandem-gpu/tandem/backend/opencl"
	"github.com/tandem-gpu/tandem/backend/opencl/internal/capi"
	"github.com/tandem-gpu/tandem/backend/opencl/internal/capi/capitest"
	"github.com/tandem-gpu/tandem/internal/faulttest"
	"github.com/tandem-gpu/tandem/internal/racetest"
	"github.com/tandem-gpu/tandem/linalg"
)

// library is OpenCL's function table under linalg.
func library(t *testing.T, sharing opencl.Sharing) *faulttest.Library {
	opencl.Fresh(t, sharing)
	live := capitest.Watch(t)
	const (
		lost       = "what cannot be released is OpenCL's to lose"
		property   = "a property that is not told is its zero value"
		background = "it is made in the background, before registered memory is given back"
		binary     = "a program that cannot be made of its binary is made of its text"
	)
	l := &faulttest.Library{
		Driver: func() backend.Driver { return opencl.Fresh(t, sharing) },
		Wrap:   wrap,
		Live:   live.Count,
		Memory: -6, // CL_OUT_OF_HOST_MEMORY
		Lost:   -2, // CL_DEVICE_NOT_AVAILABLE
		Allocs: []string{"clCreateBuffer", "clEnqueueFillBuffer", "clEnqueueMapBuffer", "clCreateSubBuffer"},
		Quiet: map[string]string{
			"clReleaseContext": lost, "clReleaseCommandQueue": lost, "clReleaseMemObject": lost,
			"clReleaseProgram": lost, "clReleaseKernel": lost,
			"clReleaseEvent":              lost,
			"clGetDeviceInfo":             property,
			"clGetPlatformInfo":           property,
			"clGetKernelArgInfo":          "parameters that are not told are read from the text",
			"cl.(*queueSet).unpin":        background,
			"cl.(*queueSet).releaseQueue": background,
			"(*program).load":             binary,
			"(*program).image":            "a binary that is not told is not kept",
			"(*memory).Release":           "what cannot be unmapped is unmapped with its object",
			"(*pipelinedWorker).allocate": "with less memory the tiles are smaller",
		},
	}
	if opencl.SeveralPlatforms() {
		l.Quiet["clGetDeviceIDs"] = "another platform has devices"
	}
	return l
}

// wrap puts a hook before the calls of OpenCL.
func wrap(h faulttest.Hook) (restore func()) {
	return capitest.Wrap(func(c *capitest.Call) []reflect.Value { return h(c.Name, c) })
}

// Every call fails while linalg works.
func TestOperations(t *testing.T) {
	racetest.Skip(t, "others have its goroutines")
	faulttest.Run(t, library(t, opencl.AsFound))
}

// Arrays that the program has forgotten make room for others.
func TestForgottenArrays(t *testing.T) {
	l := library(t, opencl.AsFound)
	faulttest.Forgotten(t, l, "clCreateBuffer", "clReleaseMemObject")
	faulttest.Many(t, l, func(s *linalg.Session) int64 { return opencl.Used(s.Device()) })
}

// A session that is given up stays as it is: nobody watches for handles that are left.
func TestAbandoned(t *testing.T) {
	faulttest.Abandoned(t, &faulttest.Library{
		Driver: func() backend.Driver { return opencl.Fresh(t, opencl.AsFound) }, Wrap: wrap,
	})
}

// Sessions come and go, and leave no handle.
func TestCycles(t *testing.T) {
	racetest.Skip(t, "one goroutine does it")
	faulttest.Cycles(t, library(t, opencl.AsFound))
}

// The same for the calls that use memory, with large matrices as well, on devices that share it in
// all ways.
func TestOperationsOfMemory(t *testing.T) {
	for name, sharing := range map[string]opencl.Sharing{
		"shared": opencl.AsFound, "mapped": opencl.Mapped,
		"discrete": opencl.Discrete,
	} {
		t.Run(name, func(t *testing.T) {
			l := library(t, sharing)
			l.Use = append(slices.Clone(faulttest.Operations), faulttest.Large)
			l.Only = func(name string) bool { return memoryCalls[name] }
			faulttest.Run(t, l)
		})
	}
}

var memoryCalls = map[string]bool{
	"clCreateBuffer": true, "clReleaseMemObject": true, "clEnqueueMapBuffer": true, "clEnqueueUnmapMemObject": true,
	"clEnqueueReadBuffer":  true,
	"clEnqueueWriteBuffer": true, "clEnqueueCopyBuffer": true, "clFinish": true, "clFlush": true,
	"clWaitForEvents": true,
}

// The same for the calls that compile a program, which the disk cache spares otherwise. The device
// has been probed before.
func TestOperationsCompiled(t *testing.T) {
	l := library(t, opencl.AsFound)
	l.Use = []faulttest.Operation{faulttest.UserKernel}
	driver := l.Driver()
	l.Driver = func() backend.Driver { return driver }
	faulttest.Functions(t, l)
	t.Setenv(backend.EnvCache, "off")
	l.Only = func(name string) bool { return compileCalls[name] }
	faulttest.Run(t, l)
}

var compileCalls = map[string]bool{
	"clCreateProgramWithSource": true, "clBuildProgram": true, "clCreateKernel": true, "clGetKernelInfo": true,
	"clGetKernelArgInfo": true, "clGetKernelWorkGroupInfo": true,
}

// The operations make every call that the table has, except those that serve package cl alone.
func TestOperationsUseAll(t *testing.T) {
	l := library(t, opencl.Discrete)
	used := faulttest.Functions(t, l)
	t.Setenv(backend.EnvCache, "off")
	used = append(used, faulttest.Functions(t, l)...)
	functions := reflect.TypeFor[capi.Table]()
	for i := range functions.NumField() {
		name := dl.SymbolNames(functions.Field(i))[0]
		if !slices.Contains(used, name) && !slices.Contains(others, name) && !strings.Contains(name, "Image") {
			t.Errorf("no operation calls %s", name)
		}
	}
}

// others are the calls that serve package cl alone, those that are made after another failed, as
// TestWaitFails and TestCompileError show, and the one that asks for a program to keep: see
// TestDiskCacheNoBinary.
var others = []string{
	"clCreateUserEvent", "clSetUserEventStatus", "clEnqueueTask", "clGetEventInfo",
	"clGetProgramBuildInfo", "clGetProgramInfo",
}

// A disk cache that cannot be written, or not be read, costs time and nothing else.
func TestNoDisk(t *testing.T) {
	faulttest.NoDisk(t, func(t *testing.T) *faulttest.Library { return library(t, opencl.AsFound) })
}
