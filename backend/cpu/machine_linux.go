package cpu

import (
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
)

func detect() hardware {
	text, _ := os.ReadFile("/proc/cpuinfo")
	m := parseCPUInfo(string(text))
	var s syscall.Sysinfo_t
	if syscall.Sysinfo(&s) == nil {
		m.memory = bytes(uint64(s.Totalram) * uint64(s.Unit))
	}
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_AS, &limit) == nil {
		m.memory = lower(m.memory, bytes(uint64(limit.Cur)))
	}
	// A container's limit, where the kernel kills who exceeds it: control groups version 2, then 1.
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil {
			m.memory = lower(m.memory, bytes(n))
		}
	}
	return m
}

// bytes is n as an int64; a limit beyond is none.
func bytes(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

// lower is the lower of two sizes, where 0 is not known.
func lower(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// parseCPUInfo reads the first processor's entry of /proc/cpuinfo. Not every architecture names its
// processor there.
func parseCPUInfo(text string) hardware {
	var m hardware
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "vendor_id":
			m.vendor = value
		case "model name":
			m.name = value
		case "":
			if m.name != "" {
				return m
			}
		}
	}
	return m
}
