package cpu

import "golang.org/x/sys/unix"

func detect() hardware {
	name, _ := unix.Sysctl("machdep.cpu.brand_string")
	memory, _ := unix.SysctlUint64("hw.memsize")
	return hardware{name: name, memory: int64(memory)}
}
