package ptxsim

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"
)

func TestMemory(t *testing.T) {
	d := New(Config{Memory: 1 << 20})
	a, err := d.Alloc(100)
	if err != nil || a%256 != 0 {
		t.Fatalf("Alloc: %#x, %v", a, err)
	}
	b, _ := d.Alloc(3 << 18)
	if free, total := d.memoryInfo(); total != 1<<20 || free != total-100-3<<18 {
		t.Errorf("%d of %d free", free, total)
	}
	if _, err := d.Alloc(1 << 18); !errors.Is(err, ErrOutOfMemory) {
		t.Errorf("Alloc of too much: %v", err)
	}
	if _, err := d.Alloc(0); err == nil {
		t.Error("Alloc(0) succeeds")
	}
	data := []byte("0123456789")
	for _, err := range []error{
		d.Write(a+90, data), d.Copy(b, a+90, 10), d.Fill(a, []byte{1, 2, 3}, 5), d.Copy(a+2, a, 12),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	got := make([]byte, 14)
	if err := d.Read(got, a); err != nil || !bytes.Equal(got, []byte{1, 2, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3}) {
		t.Errorf("Read: %v, %v", got, err)
	}
	if err := d.Read(got[:10], b); err != nil || string(got[:10]) != "0123456789" {
		t.Errorf("Read: %q, %v", got[:10], err)
	}
	for what, err := range map[string]error{
		"Write past the end":   d.Write(a+91, data),
		"Write before":         d.Write(a-1, data),
		"Read of null":         d.Read(got, 0),
		"Read far away":        d.Read(got, 1<<60),
		"Copy past the end":    d.Copy(a, b+3<<18-4, 5),
		"Fill past the end":    d.Fill(a, data, 11),
		"Free of the middle":   d.Free(a + 1),
		"Unmap of an Alloc":    d.Unmap(a),
		"Free of a null":       d.Free(0),
		"Write around the end": d.Write(^uint64(0)-3, data),
	} {
		if !errors.Is(err, ErrAddress) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := d.Free(a); err != nil {
		t.Error(err)
	}
	if err := d.Write(a, data); !errors.Is(err, ErrAddress) || !strings.Contains(err.Error(), "freed") {
		t.Errorf("Write after Free: %v", err)
	}
	if err := d.Free(a); !errors.Is(err, ErrAddress) {
		t.Errorf("second Free: %v", err)
	}
}

// Freed addresses are not handed out again soon.
func TestAddressesAreNotReused(t *testing.T) {
	d := New(Config{})
	seen := map[uint64]bool{}
	for range 1000 {
		a, err := d.Alloc(4)
		if err != nil || seen[a] {
			t.Fatalf("Alloc: %#x again, %v", a, err)
		}
		seen[a] = true
		if err := d.Free(a); err != nil {
			t.Fatal(err)
		}
	}
	for range slots + 10 { // the addresses begin again
		a, err := d.Alloc(4)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Free(a); err != nil {
			t.Fatal(err)
		}
	}
}

const incrementPTX = `.version 7.0
.target sm_75
.address_size 64
.visible .global .align 4 .u32 calls = 40;
.visible .entry increment(.param .u64 .ptr .global .align 4 p, .param .u32 n)
.reqntid 32, 1, 1
{
	.reg .b64 %rd<4>;
	.reg .b32 %r<4>;
	.reg .pred %p;
	ld.param.u64 %rd0, [p];
	ld.param.u32 %r0, [n];
	mov.u32 %r1, %tid.x;
	setp.ge.u32 %p, %r1, %r0;
	@%p bra DONE;
	mul.wide.u32 %rd1, %r1, 4;
	add.u64 %rd1, %rd0, %rd1;
	ld.u32 %r2, [%rd1];
	add.u32 %r2, %r2, 1;
	st.u32 [%rd1], %r2;
	red.global.add.u32 [calls], 1;
DONE:
	ret;
}
`

func TestMapHost(t *testing.T) {
	p := load(t, Config{}, []byte(incrementPTX))
	mem := []byte{1, 0, 0, 0, 255, 0, 0, 0}
	addr, err := p.dev.MapHost(mem)
	if err != nil {
		t.Fatal(err)
	}
	p.launch("increment", x1(1), x1(32), addr, int32(2))
	if !bytes.Equal(mem, []byte{2, 0, 0, 0, 0, 1, 0, 0}) {
		t.Errorf("mapped memory is %v", mem)
	}
	if err := p.try("increment", x1(1), x1(32), 0, addr, int32(3)); err == nil {
		t.Error("a kernel can write behind mapped memory")
	}
	if err := p.dev.Free(addr); !errors.Is(err, ErrAddress) {
		t.Errorf("Free of mapped memory: %v", err)
	}
	if err := p.dev.Unmap(addr); err != nil {
		t.Error(err)
	}
	if err := p.try("increment", x1(1), x1(32), 0, addr, int32(1)); err == nil {
		t.Error("a kernel can use memory after Unmap")
	}
}

func TestModule(t *testing.T) {
	p := load(t, Config{}, []byte(incrementPTX))
	f, err := p.mod.Function("increment")
	if err != nil {
		t.Fatal(err)
	}
	if f.ReqNTID != [3]int{32, 1, 1} || f.ParamSize != 12 || len(f.Params) != 2 ||
		f.Params[1] != (Param{Name: "n", Offset: 8, Size: 4}) ||
		!f.Params[0].Pointer || len(p.mod.Entries()) != 1 {
		t.Errorf("function %+v", f)
	}
	if err := p.try("increment", x1(1), x1(31), 0, uint64(0), int32(0)); err == nil ||
		!strings.Contains(err.Error(), "written for (32,1,1)") {
		t.Errorf("reqntid: %v", err)
	}
	if _, err := p.mod.Function("decrement"); err == nil || !strings.Contains(err.Error(), "increment") {
		t.Errorf("Function: %v", err)
	}
	x := make([]int32, 5)
	for range 3 {
		p.launch("increment", x1(1), x1(32), x, int32(5))
	}
	addr, size, err := p.mod.Global("calls")
	if err != nil || size != 4 {
		t.Fatal(size, err)
	}
	got := make([]byte, 4)
	if err := p.dev.Read(got, addr); err != nil || got[0] != 40+15 {
		t.Errorf("calls = %v, %v", got, err)
	}
	if err := p.dev.Free(addr); !errors.Is(err, ErrAddress) {
		t.Errorf("Free of a module's variable: %v", err)
	}
	p.mod.Unload()
	p.mod.Unload()
	if err := p.dev.Read(got, addr); !errors.Is(err, ErrAddress) {
		t.Errorf("Read after Unload: %v", err)
	}
	if err := p.try("increment", x1(1), x1(32), 0, x, int32(5)); err == nil {
		t.Error("Launch after Unload succeeds")
	}
	if free, total := p.dev.memoryInfo(); free != total {
		t.Errorf("%d bytes are still in use", total-free)
	}
}

// Launches, copies and allocations go on at once.
func TestConcurrency(t *testing.T) {
	p := load(t, Config{Workers: 3}, []byte(incrementPTX))
	f, err := p.mod.Function("increment")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				a, err := p.dev.Alloc(64)
				if err != nil {
					t.Error(err)
					return
				}
				params := pack(a, int32(16))
				got := make([]byte, 64)
				for _, err := range []error{
					p.dev.Fill(a, []byte{9, 0, 0, 0}, 16), p.dev.Launch(f, x1(1), x1(32), 0, params),
					p.dev.Read(got, a), p.dev.Free(a),
				} {
					if err != nil {
						t.Error(err)
					}
				}
				if !bytes.Equal(got, bytes.Repeat([]byte{10, 0, 0, 0}, 16)) {
					t.Errorf("got %v", got)
				}
			}
		})
	}
	wg.Wait()
	addr, _, _ := p.mod.Global("calls")
	got := make([]byte, 4)
	if err := p.dev.Read(got, addr); err != nil || int(got[0])|int(got[1])<<8 != 40+4*20*16 {
		t.Errorf("calls = %v, %v", got, err)
	}
}

// memoryInfo is the bytes of device memory that are free, and all of them.
func (d *Device) memoryInfo() (free, total uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.mem.limit - d.mem.used, d.mem.limit
}
