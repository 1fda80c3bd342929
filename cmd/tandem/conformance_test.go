package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/conformance"
)

// This program is no tandem to start helpers from, unless a test says so.
func init() {
	program = func() (string, error) { return "", errors.New("not in tests") }
}

func TestConformance(t *testing.T) {
	onBackends(t, func(t *testing.T, name string) {
		out := must(t, "conformance", "--quick", "--backend", name)
		if !strings.Contains(out, name+":0") || !strings.Contains(out, "  golden\n") {
			t.Errorf("it prints\n%s", out)
		}
	})
}

// The devices of one machine print one digest.
func TestConformanceAll(t *testing.T) {
	out := must(t, "conformance", "--quick", "--backend", "all", "--json")
	var reports []struct {
		Pass   bool
		Digest string
		Cases  int
		Device struct{ Driver string }
	}
	if err := json.Unmarshal([]byte(out), &reports); err != nil {
		t.Fatal(err)
	}
	if len(reports) == 0 {
		t.Fatal("no reports")
	}
	for _, r := range reports {
		if !r.Pass || r.Cases == 0 || r.Digest != reports[0].Digest {
			t.Errorf("%+v", r)
		}
	}
}

func TestConformanceErrors(t *testing.T) {
	code, stdout, stderr := tandem("conformance", "--backend", "nonsense")
	if code != exitError || stdout != "" || !strings.Contains(stderr, `"nonsense"`) {
		t.Errorf("unknown backend: exit code %d\n%s%s", code, stdout, stderr)
	}
	if code, _, _ := tandem("conformance", "extra"); code != exitUsage {
		t.Errorf("an argument too many: exit code %d", code)
	}
}

// startedHelper is a helper of the real program on the cpu device, which has said its first word.
func startedHelper(t *testing.T, exe string) *helperProcess {
	t.Helper()
	h, err := startHelper(exe, "cpu", true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	r := bufio.NewReader(h.Reader)
	word, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err, h.Close())
	}
	h.Reader = io.MultiReader(strings.NewReader(word), r)
	return h
}

// runWith runs the quick cases with a helper, on a device that waits until the helper has done something, or has failed. helped tells which.
func runWith(t *testing.T, h *helperProcess) (r *conformance.Report, helped bool, err error) {
	t.Helper()
	dev, err := backend.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	ready := make(chan bool)
	goOn := sync.OnceFunc(func() { close(ready) })
	r, err = conformance.Run(context.Background(), waiting{dev, ready}, conformance.Options{
		Quick: true, Helpers: []io.ReadWriteCloser{watchedHelper{h, goOn}},
		Progress: func(done, _ int) {
			if done > 0 {
				select {
				case <-ready:
				default:
					helped = true
					goOn()
				}
			}
		},
	})
	return r, helped, err
}

type waiting struct {
	backend.Device
	ready <-chan bool
}

func (w waiting) Compile(s *backend.Source) (backend.Kernel, error) {
	<-w.ready
	return w.Device.Compile(s)
}

type watchedHelper struct {
	*helperProcess
	closing func()
}

func (w watchedHelper) Close() error {
	defer w.closing()
	return w.helperProcess.Close()
}

// The program helps itself.
func TestConformanceHelper(t *testing.T) {
	exe := build(t)
	works := func(t *testing.T, h *helperProcess) {
		t.Helper()
		r, helped, err := runWith(t, h)
		if err != nil || !r.Passed() || !helped {
			t.Errorf("%v, helped %t, %+v", err, helped, r)
		}
		if err := h.Close(); err != nil || !h.cmd.ProcessState.Success() {
			t.Errorf("the helper ends with %v", err)
		}
	}
	t.Run("works", func(t *testing.T) { works(t, startedHelper(t, exe)) })

	// Ctrl-C reaches all processes of a terminal. Only the one that started a helper may end it.
	t.Run("interrupted", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("windows cannot send an interrupt to one process")
		}
		h := startedHelper(t, exe)
		if err := h.cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		works(t, h)
	})

	// One that dies is an error that says how.
	t.Run("dies", func(t *testing.T) {
		h := startedHelper(t, exe)
		if err := h.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_, _, err := runWith(t, h)
		if err == nil || !strings.Contains(err.Error(), "a helper ended") || h.cmd.ProcessState.Success() || !strings.Contains(err.Error(), h.cmd.ProcessState.String()) {
			t.Errorf("%v", err)
		}
	})

	// One that cannot open the device ends with the reason, and the run goes on without.
	t.Run("without a device", func(t *testing.T) {
		h, err := startHelper(exe, "nonsense", true)
		if err != nil {
			t.Fatal(err)
		}
		r, helped, err := runWith(t, h)
		if err != nil || !r.Passed() || helped {
			t.Errorf("%v, helped %t, %+v", err, helped, r)
		}
		if err := h.Close(); err == nil || !strings.Contains(err.Error(), `"nonsense"`) {
			t.Errorf("the helper's error is %v", err)
		}
	})
}

func TestStartHelpers(t *testing.T) {
	info := backend.Info{Driver: "opencl"}
	if h := startHelpers(info, "", true); h != nil {
		t.Errorf("helpers of no program: %v", h)
	}
	old := program
	defer func() { program = old }()
	program = func() (string, error) { return "/no/such/program", nil }
	if h := startHelpers(info, "", true); h != nil {
		t.Errorf("helpers that cannot start: %v", h)
	}
	for processors, want := range map[int]int{1: 0, 2: 1, 4: 3, 64: 3} {
		old := runtime.GOMAXPROCS(processors)
		got := helperCount(info)
		runtime.GOMAXPROCS(old)
		if got != want {
			t.Errorf("%d helpers on %d processors, want %d", got, processors, want)
		}
	}
	for _, driver := range []string{"cpu", "cuda", "cudasim"} {
		if n := helperCount(backend.Info{Driver: driver}); n != 0 {
			t.Errorf("%d helpers for %s", n, driver)
		}
	}
}

// With helpers and without, the report is the same.
func TestConformanceHelpers(t *testing.T) {
	need(t, "opencl")
	exe := build(t)
	report := func() *conformance.Report {
		var reports []conformanceReport
		if err := json.Unmarshal([]byte(must(t, "conformance", "--quick", "--backend", "opencl", "--json")), &reports); err != nil || len(reports) != 1 {
			t.Fatalf("%v: %d reports", err, len(reports))
		}
		return &reports[0].Report
	}
	alone := report()
	old := program
	defer func() { program = old }()
	program = func() (string, error) { return exe, nil }
	if helped := report(); !reflect.DeepEqual(helped, alone) {
		t.Errorf("%+v with helpers, %+v without", helped, alone)
	}
}

// The flag is for the program itself.
func TestHelperFlagIsHidden(t *testing.T) {
	if help := must(t, "conformance", "--help"); strings.Contains(help, helperFlag) {
		t.Error(help)
	}
}
