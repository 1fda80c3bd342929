//go:build !purego && (amd64 || arm64) && (!(linux || darwin || netbsd || (freebsd && cgo)) || tandem_nolibs)

package cpu

import (
	"runtime"
	"testing"
	"unsafe"
)

// Machine code has its 32 KiB below the stack pointer that it begins with.
func TestOnStack(t *testing.T) {
	store := map[string][]byte{ // the stack pointer in saved[0]
		// movq %rsp, 104(%rdi); ret
		"amd64": {0x48, 0x89, 0x67, 0x68, 0xc3},
		// mov x9, sp; str x9, [x0, #104]; ret
		"arm64": {0xe9, 0x03, 0x00, 0x91, 0x09, 0x34, 0x00, 0xf9, 0xc0, 0x03, 0x5f, 0xd6},
	}[runtime.GOARCH]
	entry, err := executable(store)
	if err != nil {
		t.Skip(err)
	}
	done := make(chan uintptr)
	go func() { // whose stack is small
		var c nativeCall
		onStack(entry, &c)
		done <- uintptr(unsafe.Pointer(&c)) - c.saved[0]
	}()
	if below := <-done; below > 1<<10 {
		t.Errorf("the stack pointer is %d bytes below the caller's frame: so much of C's stack is lost", below)
	}
}
