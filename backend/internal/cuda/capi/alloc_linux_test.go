//go:build !race && (amd64 || arm64)

package capi

import (
	"testing"
	"unsafe"
)

func TestLaunchAllocatesNothing(t *testing.T) {
	c, _ := stub(t)
	block := new(struct {
		a     [2]uint64
		addrs [2]unsafe.Pointer
	})
	block.addrs = [2]unsafe.Pointer{unsafe.Pointer(&block.a[0]), unsafe.Pointer(&block.a[1])}
	n := testing.AllocsPerRun(1000, func() {
		c.CtxSetCurrent(1)
		c.LaunchKernel(1, 1, 1, 1, 1, 1, 1, 0, 1, &block.addrs[0], nil)
	})
	if n != 0 {
		t.Errorf("%v allocations a launch", n)
	}
}
