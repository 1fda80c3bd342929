package cpu

import (
	"math"
	"os"
	"path/filepath"
	"slices"
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
	groups, _ := os.ReadFile("/proc/self/cgroup")
	m.memory = lower(m.memory, groupLimit("/sys/fs/cgroup", string(groups)))
	return m
}

// groupLimit is the lowest memory limit of the process's control groups, of version 2 and 1, and of
// those above them: the kernel kills who exceeds it. 0 is none. root is where they are mounted, and
// groups what /proc/self/cgroup says. A container may see its own group as root, and no other.
func groupLimit(root, groups string) (limit int64) {
	for line := range strings.Lines(groups) { // its number, controllers, path
		_, line, _ = strings.Cut(strings.TrimSpace(line), ":")
		controllers, path, _ := strings.Cut(line, ":")
		dir, file := root, "memory.max"
		if controllers != "" {
			dir, file = filepath.Join(root, "memory"), "memory.limit_in_bytes"
			if !slices.Contains(strings.Split(controllers, ","), "memory") {
				continue
			}
		}
		for group := filepath.Join("/", path); ; group = filepath.Dir(group) {
			text, _ := os.ReadFile(filepath.Join(dir, group, file))
			if n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil {
				limit = lower(limit, bytes(n))
			}
			if group == "/" {
				break
			}
		}
	}
	return limit
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
