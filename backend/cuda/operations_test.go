package cuda_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/backend/cuda"
	"github.com/tandem-gpu/tandem/backend/driverkit/dl"
	"github.com/tandem-gpu/tandem/backend/driverkit/dl/dltest"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi/capitest"
	"github.com/tandem-gpu/tandem/internal/faulttest"
	"github.com/tandem-gpu/tandem/internal/racetest"
	"github.com/tandem-gpu/tandem/linalg"
)

// library is CUDA's function table under linalg.
func library(t *testing.T) *faulttest.Library {
	api := cuda.Table(t)
	live := capitest.Watch(t, api)
	const (
		disposed = "what cannot be released is CUDA's to lose"
		waited   = "a release waits for commands, and what those failed with is told by their queue"
	)
	return &faulttest.Library{
		Driver: func() backend.Driver { return cuda.Fresh(t) },
		Wrap:   wrap(api),
		Live:   live.Count,
		Memory: capi.OutOfMemory,
		Lost:   capi.LaunchFailed,
		Allocs: []string{"cuMemAllocAsync", "cuMemHostAlloc", "cuMemHostRegister"},
		Quiet: map[string]string{
			"cuGetErrorName":            "a text is missing from a message",
			"cuGetErrorString":          "a text is missing from a message",
			"cuDevicePrimaryCtxRelease": disposed,
			"(*device).dispose":         disposed,
			"(*pool).flush":             disposed,
			"(*pool).close":             disposed,
			"(*pool).free":              "what cannot be ordered is waited for",
			"(*device).openPool":        "an old driver does not know what a pool is",
			"(*memory).Release":         waited,
			"(*program).unload":         waited,
		},
	}
}

// wrap puts hooks before the calls of a table.
func wrap(api *capi.API) func(h faulttest.Hook) (restore func()) {
	return func(h faulttest.Hook) func() {
		return dltest.Wrap(api, func(c *dltest.Call) []reflect.Value { return h(c.Name, c) })
	}
}

// Every call fails while linalg works.
func TestOperations(t *testing.T) {
	racetest.Skip(t, "others have its goroutines")
	faulttest.Run(t, library(t))
}

// Arrays that the program has forgotten make room for others.
func TestForgottenArrays(t *testing.T) {
	l := library(t)
	faulttest.Forgotten(t, l, "cuMemAllocAsync", "cuMemFreeAsync")
	faulttest.Many(t, l, func(s *linalg.Session) int64 { return cuda.Used(s.Device()) })
}

// A session that is given up stays as it is: nobody watches for handles that are left.
func TestAbandoned(t *testing.T) {
	faulttest.Abandoned(t, &faulttest.Library{
		Driver: func() backend.Driver { return cuda.Fresh(t) }, Wrap: wrap(cuda.Table(t)),
	})
}

// Sessions come and go, and leave no handle.
func TestCycles(t *testing.T) {
	racetest.Skip(t, "one goroutine does it")
	faulttest.Cycles(t, library(t))
}

// Every call of NVRTC fails while linalg compiles a kernel's text.
func TestOperationsCompiled(t *testing.T) {
	nvrtc, err := capi.LoadNVRTC(0)
	backendtest.Require(t, "nvrtc", err)
	l := library(t)
	t.Setenv(backend.EnvCache, "off")
	l.Use = []faulttest.Operation{faulttest.TextKernel}
	l.Wrap = func(h faulttest.Hook) func() {
		return dltest.Wrap(nvrtc, func(c *dltest.Call) []reflect.Value { return h(c.Name, c) })
	}
	l.Memory, l.Lost = capi.NVRTCOutOfMemory, 0
	l.Quiet = map[string]string{"nvrtcDestroyProgram": "what cannot be released is NVRTC's to lose"}
	faulttest.Run(t, l)
}

// The operations make every call that the table has.
func TestOperationsUseAll(t *testing.T) {
	used := faulttest.Functions(t, library(t))
	functions := reflect.TypeFor[capi.Table]()
	for i := range functions.NumField() {
		name, _, _ := strings.Cut(dl.SymbolNames(functions.Field(i))[0], "_v")
		if name == "cuMemAlloc" || name == "cuMemFree" { // TestWithoutPool
			continue
		}
		if !slices.Contains(used, name) && name != "cuGetErrorName" && name != "cuGetErrorString" {
			t.Errorf("no operation calls %s", name)
		}
	}
}

// A disk cache that cannot be written, or not be read, costs time and nothing else.
func TestNoDisk(t *testing.T) { faulttest.NoDisk(t, library) }

// outside is a kernel that writes where no buffer is.
var outside = &backend.Source{
	Name: "outside", Params: []backend.Param{{Name: "out", Buffer: true}},
	PTX: []byte(`.version 6.4
.target sm_50
.address_size 64

.visible .entry outside(.param .u64 .ptr .global .align 4 out)
{
	.reg .b64 %out;
	ld.param.u64 %out, [out];
	cvta.to.global.u64 %out, %out;
	st.global.b32 [%out+0x10000000], 1;
	ret;
}
`),
}

// A kernel fails in the middle of a queue of commands: the device is lost, the commands after it
// and the session end with errors that say so. Another session works once the first is closed; on
// hardware it may also say that the device is lost, as CUDA then wants another process.
func TestLostInMidFlight(t *testing.T) {
	// Sessions that other tests have given up keep the context, which a lost device must not have.
	for cuda.Table(t).Load().PrimaryCtxRelease(0) == 0 {
	}
	library(t) // watches the handles
	use := func(s *linalg.Session, k *backend.Kernel) error {
		x, err := linalg.Upload(s, linalg.NewMatrix(2, 2, []float32{1, 2, 3, 4}))
		if err != nil {
			return err
		}
		errs := []error{x.Scale(2, x)}
		if k != nil {
			errs = append(errs, s.Launch(k, backend.Grid1(1, 1), x))
		}
		for range 10 {
			errs = append(errs, x.Add(x, x))
		}
		_, err = x.Download()
		return errors.Join(append(errs, err)...)
	}
	open := func() (*linalg.Session, error) {
		d, err := cuda.Fresh(t).Open(0)
		if err != nil {
			return nil, err
		}
		return linalg.NewSession(d)
	}
	s, err := open()
	if err != nil {
		t.Fatal(err)
	}
	k, err := s.CompileSource(outside)
	if err != nil {
		t.Fatal(err)
	}
	if err := use(s, k); !errors.Is(err, backend.ErrDeviceLost) ||
		!strings.Contains(err.Error(), "CUDA_ERROR_ILLEGAL_ADDRESS") {
		t.Errorf("%v, want a lost device", err)
	}
	if err := use(s, nil); !errors.Is(err, backend.ErrDeviceLost) {
		t.Errorf("afterwards: %v, want a lost device", err)
	}
	if err := s.Close(); err != nil && !errors.Is(err, backend.ErrDeviceLost) {
		t.Error(err)
	}
	again, err := open()
	if err == nil {
		err = errors.Join(use(again, nil), again.Close())
	}
	switch {
	case cuda.IsHardware() && errors.Is(err, backend.ErrDeviceLost):
		t.Logf("opened anew: %v", err)
	case err != nil:
		t.Errorf("opened anew: %v", err)
	}
}
