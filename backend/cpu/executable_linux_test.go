//go:build !purego

package cpu

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Where the system refuses executable memory kernels run as Go, and the device says so; machine
// code that was asked for is an error.
func TestRefused(t *testing.T) {
	if len(levels()) == 0 {
		t.Skip("there is no machine code for this processor")
	}
	const refuse = "TANDEM_TEST_REFUSE"
	if os.Getenv(refuse) != "" {
		// From now on no memory of this process becomes executable.
		if err := unix.Prctl(unix.PR_SET_MDWE, unix.PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0); err != nil {
			fmt.Println("no such mode:", err)
			os.Exit(0)
		}
		d, err := driver{}.Open(0)
		if err != nil {
			fmt.Println(err)
		} else {
			fmt.Println(d.Info().Note)
		}
		os.Exit(0)
	}
	for choice, want := range map[string]string{
		"":          "kernels in Go, as the system refuses executable memory: mprotect: permission denied\n",
		"off":       "kernels in Go\n",
		levels()[0]: "and the system refuses executable memory: mprotect: permission denied\n",
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestRefused$")
		cmd.Env = append(os.Environ(), refuse+"=1", EnvNative+"="+choice)
		out, err := cmd.CombinedOutput()
		if strings.Contains(string(out), "no such mode") || errors.Is(err, unix.ENOEXEC) { // a simulated processor
			t.Skipf("this system cannot be made to refuse: %s%v", out, err)
		}
		if err != nil || !strings.HasSuffix(string(out), want) {
			t.Errorf("%s=%q: %v\n%s, want ... %s", EnvNative, choice, err, out, want)
		}
	}
}

// Code lies in pages that nobody can write.
func TestExecutable(t *testing.T) {
	entry, err := executable([]byte{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		var from, to uintptr
		var may string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &may); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if from <= entry && entry < to {
			if may != "r-xp" {
				t.Errorf("the page may be used as %s, want r-xp", may)
			}
			return
		}
	}
	t.Errorf("no page at %#x", entry)
}
