package cpu

import (
	"math"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

func detect() hardware {
	var m hardware
	if k, err := registry.OpenKey(registry.LOCAL_MACHINE, `HARDWARE\DESCRIPTION\System\CentralProcessor\0`,
		registry.QUERY_VALUE); err == nil {
		defer k.Close()
		m.name, _, _ = k.GetStringValue("ProcessorNameString")
		m.vendor, _, _ = k.GetStringValue("VendorIdentifier")
	}
	var s struct { // MEMORYSTATUSEX
		length, load                                     uint32
		totalPhys, availPhys, totalPage, availPage       uint64
		totalVirtual, availVirtual, availExtendedVirtual uint64
	}
	s.length = uint32(unsafe.Sizeof(s))
	call := windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")
	if r, _, _ := call.Call(uintptr(unsafe.Pointer(&s))); r != 0 {
		m.memory = int64(min(s.totalPhys, s.totalVirtual, math.MaxInt64))
	}
	return m
}
