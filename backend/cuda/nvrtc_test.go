package cuda

import (
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/cudasim/ptxsim"
	"github.com/tandem-gpu/tandem/backend/driverkit/diskcache"
	"github.com/tandem-gpu/tandem/backend/driverkit/dl/dltest"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
)

// Without NVRTC a kernel that is text alone is refused, with what was tried and what to do.
func TestNoNVRTC(t *testing.T) {
	if _, err := capi.LoadNVRTC(0); err == nil {
		t.Skip("NVRTC is loaded, for the life of the process")
	}
	d := open(t)
	_, err := d.Compile(text(fillSource))
	wantError(t, err, backend.ErrUnsupported, "kernel fill of fill.cl", "pip install nvidia-cuda-nvrtc", capi.EnvNVRTC,
		"nvrtc")
	t.Setenv(capi.EnvNVRTC, t.TempDir())
	_, err = d.Compile(text(fillSource))
	wantError(t, err, backend.ErrUnsupported, os.Getenv(capi.EnvNVRTC))
}

// fakeNVRTC is a compiler whose version and architectures are made up.
func fakeNVRTC(archs ...int32) *compiler {
	return &compiler{drv: &driver{name: "cuda"}, c: &capi.NVRTC{
		GetNumArchs: func(n *int32) int32 {
			*n = int32(len(archs))
			return 0
		},
		GetArchs: func(a *int32) int32 {
			*a = archs[0]
			return 0
		},
	}}
}

// The PTX is for the newest architecture that NVRTC knows and the device runs.
func TestArch(t *testing.T) {
	if _, err := fakeNVRTC(90).arch(75); !errors.Is(err, backend.ErrUnsupported) ||
		!strings.Contains(err.Error(), "sm_75") ||
		!strings.Contains(err.Error(), "nvidia-cuda-nvrtc-cu12") {
		t.Errorf("a device that is too old: %v", err)
	}
	if got, err := fakeNVRTC(75).arch(90); got != 75 || err != nil {
		t.Errorf("%d, %v", got, err)
	}
	needNVRTC(t)
	nv := must[*capi.Compiler](t)(capi.LoadNVRTC(0))
	c := &compiler{drv: under(t), c: nv.Load()}
	for device, want := range map[int]int{75: 75, 79: 75, 80: 80, 90: 90, 91: 90, 999: 121} {
		got, err := c.arch(device)
		check(t, err)
		if got != want && device < 100 || got > device {
			t.Errorf("a device of %d gets %d, want %d", device, got, want)
		}
	}
}

// Each call of NVRTC fails once. The error names it, and the next compilation works.
func TestEveryNVRTCCallFails(t *testing.T) {
	needNVRTC(t)
	d := open(t)
	own(d).disk = new(diskcache.Cache)
	nv := must[*capi.Compiler](t)(capi.LoadNVRTC(0))
	programs := atomic.Int64{}
	defer dltest.Wrap(nv, func(c *dltest.Call) []reflect.Value {
		switch c.Name {
		case "nvrtcCreateProgram":
			programs.Add(1)
		case "nvrtcDestroyProgram":
			programs.Add(-1)
		}
		return c.Run()
	})()
	for _, name := range []string{
		"nvrtcVersion", "nvrtcGetNumSupportedArchs", "nvrtcGetSupportedArchs", "nvrtcCreateProgram",
		"nvrtcCompileProgram", "nvrtcGetPTXSize", "nvrtcGetPTX",
	} {
		for code, kind := range map[int32]error{capi.NVRTCOutOfMemory: backend.ErrOutOfMemory, 11: backend.ErrBuild} {
			restore := dltest.Wrap(nv, func(c *dltest.Call) []reflect.Value {
				if c.Name == name {
					return c.Fail(code)
				}
				return c.Run()
			})
			_, err := d.Compile(text(fillSource))
			restore()
			wantError(t, err, kind, name, capi.NVRTCName(code))
			if n := programs.Load(); n != 0 {
				t.Fatalf("%s: %d programs of NVRTC are left", name, n)
			}
		}
	}
	// A log that cannot be had is not there, and the error is the same.
	restore := dltest.Wrap(nv, func(c *dltest.Call) []reflect.Value {
		if c.Name == "nvrtcGetProgramLogSize" {
			return c.Fail(11)
		}
		return c.Run()
	})
	_, err := d.Compile(&backend.Source{Name: "k", Text: "nonsense"})
	wantError(t, err, backend.ErrBuild, "NVRTC_ERROR_COMPILATION")
	restore()
	fillWorks(t, d, text(fillSource))
}

// The names of the dialect, and those of OpenCL C that the prelude brings, mean what they mean in
// OpenCL C.
func TestPrelude(t *testing.T) {
	needNVRTC(t)
	d := open(t)
	q, b := newQueue(t, d), alloc(t, d, 4*64)
	src := &backend.Source{Name: "k", File: "prelude_test.cl", Text: preludeText}
	k := must[*backend.Kernel](t)(d.Compile(src))
	in := must[*backend.Buffer](t)(d.Alloc(64))
	check(t, q.Write(in, 0, backend.Bytes([]float32{1, 2, 3, 4, 5, 6, 7, 8})))
	check(t, q.Launch(k, backend.Grid2(2, 1, 4, 2), backend.Buf(b), backend.Buf(in)))
	got := make([]uint32, 64)
	check(t, q.Read(backend.Bytes(got), b, 0))
	f := math.Float32bits
	want := []uint32{
		16, 8, 8, 2, 4, 2, 1, 0, // counters and grid
		f(1), 0x3f800000, 1 << 31, 0x40000000, // as_
		f(5), f(7), f(9), f(11), // vector sum
		f(2), f(4), f(6), f(8), // scaled
		f(6), f(14), f(24), f(36), // fma
		3, 0xfffffffb, f(0.5), 5, // clamp
		8, 24, 1, 0xc0000001, // popcount, clz, mul_hi, rotate
		f(3), f(4), f(7), f(8), // vload
		0x7f800000, 1, 7, 15, // INFINITY, NAN, maximum and cmpxchg
	}
	for i, w := range want {
		if got[i] != w {
			t.Errorf("word %d is %#x, want %#x", i, got[i], w)
		}
	}
}

const preludeText = `
/* Work-items 0 to 15 of a grid of 2x1 groups of 4x2. */
__constant int limits_unused = 0;
float4 twice(float4 v) { return 2.0f * v; }

__kernel WG_SIZE(4, 2, 1)
void k(__global uint *restrict out, __global const float *in) {
  LOCALMEM ALIGN16 float t[8];
  LOCALPTR float *p = t;
  const uint l = (uint)(get_local_id(1) * get_local_size(0) + get_local_id(0));
  p[l] = in[l];
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  atomic_inc(&out[0]);
  atomic_max(&out[1], (uint)get_global_size(0));
  atomic_max(&out[62], (uint)get_global_id(0));
  atomic_add((__global int *)&out[63], 1);
  if (get_group_id(0) != 0 || l != 0) return;
  out[2] = (uint)get_global_size(0);
  out[3] = (uint)get_global_size(1);
  out[4] = (uint)get_local_size(0);
  out[5] = (uint)get_num_groups(0);
  out[6] = (uint)get_num_groups(1);
  out[7] = (uint)get_global_id(1) + (uint)get_local_id(2);
  out[8] = as_uint(as_float(as_int(1.0f)));
  out[9] = (uint)as_int(1.0f);
  out[10] = as_uint(-0.0f);
  out[11] = (uint)(as_ulong(as_double(0x4000000000000000ul)) >> 32);
  const float4 a = READ_VECTOR(float4, in), b = *(LOCALPTR float4 *)(t + 4);
  const float4 sum = a + make_float4(4.0f, 5.0f, 6.0f, 7.0f);
  const float4 two = twice(a);
  const float4 c = fma(a, b, make_float4(1.0f, 2.0f, 3.0f, 4.0f));
  out[12] = as_uint(sum.x); out[13] = as_uint(sum.y); out[14] = as_uint(sum.z); out[15] = as_uint(sum.w);
  out[16] = as_uint(two.x); out[17] = as_uint(two.y); out[18] = as_uint(two.z); out[19] = as_uint(two.w);
  out[20] = as_uint(c.x); out[21] = as_uint(c.y); out[22] = as_uint(c.z); out[23] = as_uint(c.w);
  out[24] = clamp(9u, 1u, 3u); out[25] = (uint)clamp(-9, -5, 3);
  out[26] = as_uint(clamp(0.25f, 0.5f, 2.0f)); out[27] = (uint)clamp(5, -5, 8);
  out[28] = popcount(0xff00u); out[29] = clz(0xffu);
  out[30] = mul_hi(1u << 31, 2u); out[31] = rotate(0x70000000u, 2u);
  const float4 v = vload4(1, in);
  const float2 w = vload2(1, in);
  out[32] = as_uint(w.x); out[33] = as_uint(w.y); out[34] = as_uint(v.z); out[35] = as_uint(v.w);
  out[36] = as_uint(INFINITY); out[37] = NAN != NAN;
  out[38] = 3; out[39] = atomic_cmpxchg(&out[38], 3u, 7u) == 3u ? 15u : 0u;
  const uint seen = out[38]; out[38] = seen;
}
`

// Source lines survive into the PTX, so that the simulator can name them.
func TestSourceLines(t *testing.T) {
	needNVRTC(t)
	drv := simulator(ptxsim.Config{})
	d := openSim(t, drv)
	q, b := newQueue(t, d), alloc(t, d, 16)
	src := &backend.Source{Name: "k", File: "beyond.cl", Text: `__kernel void k(__global int *a)
{
	a[0] = 1;
	a[4] = 2;
}
`}
	k := must[*backend.Kernel](t)(d.Compile(src))
	wantSimError(t, q.Launch(k, backend.Grid1(1, 1), backend.Buf(b)), backend.ErrDeviceLost, "beyond.cl:4",
		"out-of-bounds")
}

// Options that could change bits stay what they are.
func TestOptions(t *testing.T) {
	got := options(75)
	for _, o := range []string{
		"--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true",
		"--gpu-architecture=compute_75",
	} {
		if !slices.Contains(got, o) {
			t.Errorf("no %s in %v", o, got)
		}
	}
	if s := fmt.Sprint(got); strings.Contains(s, "fast") {
		t.Error(s)
	}
}
