package main

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/internal/racetest"
)

// A command of the page, and what it shows.
var try = regexp.MustCompile("(?ms)^```sh\n(.*?)^```\n\n```\n(.*?)^```$")

// The commands of docs/finding-mistakes.md show what it says, but for the debugger's. The one with
// the race detector builds what make race has built: it runs there, and the others do not.
func TestPage(t *testing.T) {
	if testing.Short() && !racetest.Enabled {
		t.Skip("builds programs; left out by -short")
	}
	page, err := os.ReadFile("../../docs/finding-mistakes.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := try.FindAllStringSubmatch(string(page), -1)
	if len(commands) != 5 {
		t.Fatalf("the page has %d commands with what they show, not 5", len(commands))
	}
	for _, c := range commands {
		command, shows := strings.TrimSpace(c[1]), c[2]
		t.Run(command, func(t *testing.T) {
			needs(t, command)
			cmd := exec.Command("sh", "-c", command)
			cmd.Dir = "../.."
			out, err := cmd.CombinedOutput()
			if _, failed := err.(*exec.ExitError); err != nil && !failed {
				t.Fatal(err)
			}
			for line := range strings.Lines(shows) {
				if !strings.Contains(string(out), strings.TrimSpace(line)) {
					t.Errorf("does not show %q:\n%s", line, out)
				}
			}
		})
	}
}

// needs skips a command whose tools are not there.
func needs(t *testing.T, command string) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	if strings.Contains(command, "-race") != racetest.Enabled {
		t.Skip("only the command with -race runs in a test with -race")
	}
	const oclgrind = "/usr/lib/oclgrind/liboclgrind-rt-icd.so"
	switch {
	case strings.Contains(command, oclgrind):
		_, err := os.Stat(oclgrind)
		backendtest.Require(t, "oclgrind", err)
	case strings.Contains(command, "opencl"):
		_, err := backend.Lookup("opencl").Devices()
		backendtest.Require(t, "opencl", err)
	}
}

// A kernel with a mistake fails where it can be found, and nothing else does.
func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run(&out, "cpu", "rise"); !errors.Is(err, backend.ErrLaunch) {
		t.Errorf("rise on cpu: %v", err)
	}
	if err := run(&out, "cudasim", "reverse"); !errors.Is(err, backend.ErrLaunch) {
		t.Errorf("reverse on cudasim: %v", err)
	}
	if err := run(&out, "cpu", "nope"); err == nil || errors.Is(err, backend.ErrLaunch) {
		t.Errorf("nope: %v", err)
	}
	if out.Len() > 0 {
		t.Errorf("printed %q", &out)
	}
}
