package cpu

import (
	"os"
	"path/filepath"
	"testing"
)

func TestParseCPUInfo(t *testing.T) {
	x86 := "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Some CPU @ 3: GHz\nflags\t\t: " +
		"fpu\n\nprocessor\t: 1\nvendor_id\t: Other\nmodel name\t: Other\n"
	if got := parseCPUInfo(x86); got.vendor != "GenuineIntel" || got.name != "Some CPU @ 3: GHz" {
		t.Errorf("x86: %+v", got)
	}
	arm := "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\n"
	if got := parseCPUInfo(arm); got != (hardware{}) {
		t.Errorf("arm: %+v", got)
	}
}

func TestGroupLimit(t *testing.T) {
	root := t.TempDir()
	for name, limit := range map[string]string{
		"memory.max":                                   "max\n",
		"user.slice/memory.max":                        "3000\n",
		"user.slice/job/memory.max":                    "5000\n",
		"user.slice/job/step/memory.max":               "max\n",
		"memory/memory.limit_in_bytes":                 "9223372036854771712\n",
		"memory/docker/memory.limit_in_bytes":          "2000\n",
		"memory/docker/job/memory.limit_in_bytes":      "1000\n",
		"cpu/docker/other/memory.limit_in_bytes":       "1\n",
		"memory/docker/other/job/other.limit_in_bytes": "1\n",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(limit), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for groups, want := range map[string]int64{
		"":                              0,
		"nonsense":                      0,
		"0::/":                          0,
		"0::/user.slice/job/step\n":     3000,
		"0::/../../user.slice\n":        3000,
		"0::/not/mounted/here\n":        0,
		"3:cpu,cpuacct:/docker/other":   0,
		"4:cpu,memory:/docker/job\n0::": 1000,
		"4:memory:/docker\n0::/user.slice/job\n1:name=systemd:/docker/job\n": 2000,
	} {
		got := groupLimit(root, groups)
		if got > 1<<50 { // version 1's word for none
			got = 0
		}
		if got != want {
			t.Errorf("%q: %d, want %d", groups, got, want)
		}
	}
}
