package cudasim_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	_ "github.com/tandem-gpu/tandem/backend/cudasim"
	_ "github.com/tandem-gpu/tandem/backend/opencl"
)

func TestSuite(t *testing.T) { backendtest.Run(t, backend.Lookup("cudasim")) }

// The simulated device is never chosen by itself.
func TestNotAuto(t *testing.T) {
	e := backend.Explain("auto")
	if len(e.Chosen) > 0 && e.Chosen[0].Driver == "cudasim" {
		t.Error("auto takes the simulator")
	}
	if !slices.Contains(backend.Names(), "cudasim") {
		t.Error("the simulator is not registered")
	}
}

// run launches the kernel k of an OpenCL C text on a buffer of zeros, and returns what is in it.
func run(t *testing.T, driver, text string, g backend.Grid, bytes int) ([]byte, error) {
	t.Helper()
	drv := backend.Lookup(driver)
	_, err := drv.Devices()
	backendtest.Require(t, driver, err)
	d, err := drv.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	k, err := d.Compile(&backend.Source{Name: "k", File: "own.cl", Text: text})
	if errors.Is(err, backend.ErrUnsupported) {
		backendtest.Require(t, "nvrtc", err)
	}
	if err != nil {
		return nil, err
	}
	q, err := d.NewQueue()
	if err != nil {
		t.Fatal(err)
	}
	b, err := d.Alloc(int64(bytes))
	if err != nil {
		t.Fatal(err)
	}
	x := make([]byte, bytes)
	return x, errors.Join(q.Launch(k, g, backend.Buf(b)), q.Read(x, b, 0), q.Wait())
}

// A race in global memory is told with the lines of the kernel's text and the work-items.
func TestGlobalRace(t *testing.T) {
	const text = `__kernel void k(__global float *x)
{
	const float seen = x[0];
	x[0] = seen + 1;
}
`
	_, err := run(t, "cudasim", text, backend.Grid1(1, 128), 4)
	if !errors.Is(err, backend.ErrLaunch) {
		t.Fatalf("%v, want a failed launch", err)
	}
	for _, want := range []string{
		"kernel k: data race", "are read, and written by thread (0,0,0) of block (0,0,0)",
		"own.cl:3, PTX line", "own.cl:4, PTX line", "thread (1,0,0)",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want it to say %q", err, want)
		}
	}
	if _, err := run(t, "cudasim", text, backend.Grid1(1, 1), 4); err != nil {
		t.Errorf("one work-item: %v", err)
	}
}

// The number of dimensions is what docs/kernels.md says, here and on an OpenCL device.
func TestWorkDim(t *testing.T) {
	const text = `__kernel void k(__global uint *x)
{
	if (get_global_id(0) + get_global_id(1) + get_global_id(2) == 0) x[0] = get_work_dim();
}
`
	for _, driver := range []string{"cudasim", "opencl"} {
		t.Run(driver, func(t *testing.T) {
			for _, c := range []struct {
				grid backend.Grid
				want uint32
			}{
				{backend.Grid1(1, 1), 1},
				{backend.Grid1(3, 8), 1},
				{backend.Grid2(3, 1, 8, 1), 1},
				{backend.Grid2(1, 2, 1, 1), 2},
				{backend.Grid2(1, 1, 1, 2), 2},
				{backend.Grid3(4, 4, 1, 2, 2, 1), 2},
				{backend.Grid3(1, 1, 2, 1, 1, 1), 3},
				{backend.Grid3(1, 1, 1, 1, 1, 4), 3},
			} {
				x, err := run(t, driver, text, c.grid, 4)
				if err != nil {
					t.Fatal(err)
				}
				if got := binary.NativeEndian.Uint32(x); got != c.want {
					t.Errorf("%v: %d dimensions, want %d", c.grid, got, c.want)
				}
			}
		})
	}
}

// Too much private memory is the fault of the kernel that asks for it.
func TestPrivateMemory(t *testing.T) {
	const text = `__kernel void k(__global int *x)
{
	x[0] = 1;
}
__kernel void greedy(__global int *x)
{
	int all[200000];
	for (int i = 0; i < 200000; i++) all[i] = x[i % 7] + i;
	for (int i = 0; i < 200000; i++) x[i % 7] += all[(i * 7) % 200000];
}
`
	_, err := run(t, "cudasim", text, backend.Grid1(1, 1), 4)
	if !errors.Is(err, backend.ErrBuild) ||
		!strings.Contains(err.Error(), "greedy has 800000 bytes of local (private) memory") {
		t.Errorf("%v, want an error that names the kernel greedy", err)
	}
}
