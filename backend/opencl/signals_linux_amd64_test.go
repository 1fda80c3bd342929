package opencl

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit/dl"
)

// What Go does on signals it still does beside a session: runtimes, and the compilers in them, take
// signals when they list devices or make a context. It runs in a process of its own, where nothing
// has been loaded.
func TestSignals(t *testing.T) {
	const env = "TANDEM_TEST_SIGNALS"
	if os.Getenv(env) == "" {
		need(t)
		cmd := exec.Command(os.Args[0], "-test.run=^TestSignals$", "-test.count=1")
		cmd.Env = append(os.Environ(), env+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%.4000s", err, out)
		}
		return
	}
	before := actions(t)
	d := openAgain(t)
	out := alloc(t, d, 256)
	k := must[*backend.Kernel](t)(d.Compile(&backend.Source{Name: "by_zero", Text: `
__kernel void by_zero(__global int *x, const int d) { x[get_global_id(0)] = 7 / (x[get_global_id(0)] - d); }
`}))
	q := newQueue(t, d)
	check(t, errors.Join(q.Launch(k, backend.Grid1(1, 16), backend.Buf(out), backend.Int32(0)), q.Wait()))

	now := actions(t)
	if d.Info().Platform == pocl {
		now[syscall.SIGFPE] = before[syscall.SIGFPE]
	}
	if now != before {
		t.Errorf("handlers of signals were\n%x, and are\n%x", before, now)
	}
	for _, c := range []struct {
		name, want string
		f          func()
	}{
		{"a nil pointer", "nil pointer dereference", func() { *(*int)(nil)++ }},
		{"an integer division in assembly", "integer divide by zero", divideBy0(t)},
	} {
		if c.want == "integer divide by zero" && d.Info().Platform == pocl {
			continue // whose handler stays, and skips the instruction
		}
		if got := recovered(c.f); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

// actions is the address of the handler of each signal.
func actions(t *testing.T) (list [32]uintptr) {
	lib := must[*dl.Library](t)(dl.Open("libc.so.6", "libc.so"))
	sigaction := must[uintptr](t)(lib.Symbol("sigaction"))
	for i := range list {
		action := new([32]uintptr)
		dl.Call(sigaction, uintptr(i), 0, uintptr(unsafe.Pointer(action)))
		list[i] = action[0]
	}
	return list
}

// divideBy0 is machine code that divides by 0: what Go compiles compares before.
func divideBy0(t *testing.T) func() {
	mem, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE|syscall.PROT_EXEC,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	check(t, err)
	copy(mem, "\x31\xc9\x31\xd2\xf7\xf1\xc3") // xor ecx, ecx; xor edx, edx; div ecx; ret
	code := &mem[0]
	f := &code
	return func() {
		(*(*func())(unsafe.Pointer(&f)))()
		runtime.KeepAlive(f)
	}
}
