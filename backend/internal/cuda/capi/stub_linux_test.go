//go:build amd64 || arm64

package capi

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend/driverkit/dl"
)

// The calls that a stub of the driver's library in C takes apart. Every other function of the table
// does nothing there.
const stubC = `
#include <string.h>
typedef unsigned long long u64;
static u64 seen[16];
u64 *stub_seen(void) { return seen; }

int cuGetErrorString(int code, const char **text) {
  *text = code == 700 ? "an illegal address" : 0;
  return code == 700 ? 0 : 1;
}
int cuDeviceTotalMem_v2(u64 *n, int dev) { *n = 0x123456789abull + dev; return 0; }
int cuCtxSetCurrent(void *c) { seen[0] = (u64)c; return 201; }
int cuMemAlloc_v2(u64 *p, u64 n) { *p = 0xfedcba9876543210ull ^ n; return 0; }
int cuMemsetD8Async(u64 p, unsigned char v, u64 n, void *s) {
  seen[0] = p; seen[1] = v; seen[2] = n; seen[3] = (u64)s;
  return 0;
}
int cuEventElapsedTime_v2(float *ms, void *a, void *b) { *ms = 1.5f; seen[0] = (u64)a; seen[1] = (u64)b; return 0; }
int cuModuleLoadDataEx(void **m, const void *image, unsigned n, int *options, void **values) {
  *m = (void *)0x7000; seen[0] = strlen(image); seen[1] = n; seen[2] = options[1]; seen[3] = (u64)values[1];
  strcpy(values[0], "a message");
  return 218;
}
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *s, void **params, void **extra) {
  u64 all[] = {(u64)f, gx, gy, gz, bx, by, bz, shared, (u64)s, *(u64 *)params[0], *(int *)params[1], (u64)extra};
  memcpy(seen, all, sizeof all);
  return 719;
}
`

// stub compiles a library with every function of the table and binds it.
func stub(t *testing.T) (*Table, *[16]uint64) {
	t.Helper()
	cc := ""
	for _, name := range []string{"cc", "gcc", "clang", "clang-19"} {
		if path, err := exec.LookPath(name); err == nil {
			cc = path
			break
		}
	}
	if cc == "" {
		t.Skip("there is no C compiler")
	}
	text := stubC
	table := reflect.TypeFor[Table]()
	for i := range table.NumField() {
		if name := dl.SymbolNames(table.Field(i))[0]; !strings.Contains(text, "int "+name+"(") {
			text += fmt.Sprintf("int %s(void) { return 0; }\n", name)
		}
	}
	dir := t.TempDir()
	c, so := filepath.Join(dir, "stub.c"), filepath.Join(dir, "libcuda.so.1")
	if err := os.WriteFile(c, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-O1", "-w", "-o", so, c).CombinedOutput(); err != nil {
		t.Skipf("the C compiler does not work: %v\n%s", err, out)
	}
	lib, err := dl.Open(so)
	if err != nil {
		t.Fatal(err)
	}
	tab := new(Table)
	if err := bind(lib, tab); err != nil {
		t.Fatal(err)
	}
	seen, err := lib.Symbol("stub_seen")
	if err != nil {
		t.Fatal(err)
	}
	addr := dl.Call(seen)
	return tab, *(**[16]uint64)(unsafe.Pointer(&addr))
}

// Arguments and results of every kind pass between Go and C.
func TestCalls(t *testing.T) {
	c, seen := stub(t)
	var text *byte
	if code := c.GetErrorString(700, &text); code != 0 || GoString(text) != "an illegal address" {
		t.Errorf("code %d, text %q", code, GoString(text))
	}
	if code := c.GetErrorString(1, &text); code != 1 || text != nil {
		t.Errorf("code %d, text %p", code, text)
	}
	var size uintptr
	if c.DeviceTotalMem(&size, 3); size != 0x123456789ae {
		t.Errorf("memory %#x", size)
	}
	if code := c.CtxSetCurrent(0x7fff12345678); code != 201 || seen[0] != 0x7fff12345678 {
		t.Errorf("code %d, context %#x", code, seen[0])
	}
	var p Pointer
	if c.MemAlloc(&p, 0xff); p != 0xfedcba98765432ef {
		t.Errorf("address %#x", p)
	}
	c.MemsetD8Async(1<<63, 0xab, 1<<40, 7)
	if got := [4]uint64(seen[:4]); got != [4]uint64{1 << 63, 0xab, 1 << 40, 7} {
		t.Errorf("memset: %#x", got)
	}
	var ms float32
	if c.EventElapsedTime(&ms, 5, 6); ms != 1.5 || seen[0] != 5 || seen[1] != 6 {
		t.Errorf("%g ms between %d and %d", ms, seen[0], seen[1])
	}
	log := make([]byte, 64)
	var pin runtime.Pinner
	pin.Pin(&log[0])
	defer pin.Unpin()
	options, values := []int32{JITErrorLog, JITErrorLogSize}, []uintptr{uintptr(unsafe.Pointer(&log[0])), 64}
	var m Module
	code := c.ModuleLoadDataEx(&m, CString("some PTX"), 2, &options[0], &values[0])
	if got := [4]uint64(seen[:4]); code != 218 || m != 0x7000 || got != [4]uint64{8, 2, uint64(JITErrorLogSize), 64} ||
		GoString(&log[0]) != "a message" {
		t.Errorf("code %d, module %#x, %d, log %q", code, m, got, GoString(&log[0]))
	}
}

// A launch has eleven arguments, more than there are registers for them.
func TestLaunchCall(t *testing.T) {
	c, seen := stub(t)
	block := new(struct {
		a     uint64
		b     int32
		addrs [2]unsafe.Pointer
	})
	block.a, block.b = 1<<60+3, -5
	block.addrs = [2]unsafe.Pointer{unsafe.Pointer(&block.a), unsafe.Pointer(&block.b)}
	code := c.LaunchKernel(0x7f0000001000, 1<<31-1, 65535, 3, 4, 5, 6, 49152, 0x7f0000002000, &block.addrs[0], nil)
	want := [12]uint64{0x7f0000001000, 1<<31 - 1, 65535, 3, 4, 5, 6, 49152, 0x7f0000002000, 1<<60 + 3, 1<<64 - 5, 0}
	if got := [12]uint64(seen[:12]); code != 719 || got != want {
		t.Errorf("code %d, %#x, want %#x", code, got, want)
	}
}
