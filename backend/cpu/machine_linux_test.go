package cpu

import "testing"

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
