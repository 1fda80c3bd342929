package main

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/tuning"
)

// useTuningFile makes the process use a tuning file, until the test ends.
func useTuningFile(t *testing.T, name string) {
	t.Helper()
	t.Cleanup(tuning.Reload) // after the environment is as it was
	t.Setenv(tuning.Env, name)
	tuning.Reload()
}

// What tune finds is stored, shown, and used by this and other processes; a second run adds to it.
func TestTune(t *testing.T) {
	need(t, "opencl")
	file := in(t.TempDir())("tune.json")
	useTuningFile(t, file)
	out := must(t, "tune", "--backend", "opencl", "--type", "f4", "--sizes", "40", "--trials", "2")
	for _, want := range []string{"device  opencl:0", "matmul", "transpose", "tried", "before", "stored in " + file} {
		if !strings.Contains(out, want) {
			t.Errorf("it prints no %q:\n%s", want, out)
		}
	}
	var r tuneRecord
	if err := json.Unmarshal([]byte(must(t, "tune", "--backend", "opencl", "--type", "i4", "--sizes", "40", "--trials",
		"2", "--json")), &r); err != nil {
		t.Fatal(err)
	}
	if r.File != file || len(r.Tuning.MatMul) != 1 || r.Tuning.MatMul[0].Type != "int32" ||
		r.Device.Driver != "opencl" || len(r.Before) != 2 {
		t.Errorf("the JSON is %+v", r)
	}
	all, name, err := tuning.User()
	if err != nil || name != file || all.Find(&r.Device) == nil || len(all.Find(&r.Device).MatMul) != 2 {
		t.Fatalf("the process uses %q, %+v, %v", name, all, err)
	}
	if p := tuning.ChooseMatMul(&r.Device, element.Int32, 40, 40, 40); p != r.Tuning.MatMul[0].Params {
		t.Errorf("it chooses %+v, not %+v", p, r.Tuning.MatMul[0].Params)
	}
	if out := must(t, "tune", "--show"); !strings.Contains(out, file+"\n") ||
		!strings.Contains(out, "used by opencl:0") || strings.Count(out, "matmul") != 2 {
		t.Errorf("--show prints\n%s", out)
	}
	d := all.Find(&r.Device)
	d.MatMul[0].Params.BM = 0
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	useTuningFile(t, write(t, file, text))
	what := "but for matmul " + d.MatMul[0].Type + " 40: these do not fit"
	if out := must(t, "tune", "--show"); !strings.Contains(out, what) {
		t.Errorf("--show does not say %q:\n%s", what, out)
	}
	var shown tuningReport
	if err := json.Unmarshal([]byte(must(t, "tune", "--show", "--json")), &shown); err != nil {
		t.Fatal(err)
	}
	if shown.File != file || len(shown.Devices) != 1 || len(shown.Devices[0].UsedBy) != 1 ||
		len(shown.Devices[0].Transpose) != 2 {
		t.Errorf("--show --json prints %+v", shown)
	}
}

// What is found is printed where it cannot be stored in the end.
func TestTuneNotStored(t *testing.T) {
	need(t, "opencl")
	at := in(t.TempDir())
	useTuningFile(t, at("folder/tune.json"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(at("folder/tune.json.lock")); err == nil { // it was looked whether it can be stored
				os.Rename(at("folder"), at("gone"))
				os.WriteFile(at("folder"), nil, 0o666)
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	code, out, stderr := tandem("tune", "--backend", "opencl", "--type", "f4", "--sizes", "40", "--trials", "2")
	if code != exitError || !strings.Contains(stderr, "what was found is not stored: ") ||
		!strings.Contains(out, "transpose") || strings.Contains(out, "stored in") {
		t.Errorf("exit code %d\n%s%s", code, out, stderr)
	}
}

func TestTuneShow(t *testing.T) {
	at := in(t.TempDir())
	foreign := write(t, at("foreign.json"), []byte(`{"format": 1, "devices": [{"device": {"name": "Rocket 9"}}]}`))
	broken := write(t, at("broken.json"), []byte(`{"format": 1, "dev`))
	for _, c := range []struct{ file, want string }{
		{"off", "no tuning file is used"},
		{at("missing"), "has nothing"},
		{broken, "is ignored: "},
		{foreign, "not used: no such device"},
	} {
		useTuningFile(t, c.file)
		if out := must(t, "tune", "--show"); !strings.Contains(out, c.want) {
			t.Errorf("%s: no %q in\n%s", c.file, c.want, out)
		}
	}
	useTuningFile(t, broken)
	if out := must(t, "devices"); !strings.Contains(out, "the tuning file is ignored: "+broken) {
		t.Errorf("devices says nothing of a broken tuning file:\n%s", out)
	}
	if out := must(t, "devices", "--json"); !strings.Contains(out, `"tuning": "`+broken) {
		t.Errorf("devices --json says nothing of a broken tuning file:\n%s", out)
	}
	useTuningFile(t, foreign)
	if out := must(t, "devices"); strings.Contains(out, "ignored") {
		t.Errorf("devices:\n%s", out)
	}
}

func TestTuneErrors(t *testing.T) {
	at := in(t.TempDir())
	broken := write(t, at("broken"), []byte("x"))
	for _, c := range []struct {
		code       int
		file, want string
		args       []string
	}{
		{exitUsage, "off", `type "f2": there are f4, f8 and i4`, []string{"--type", "f2"}},
		{exitUsage, "off", "not 0", []string{"--sizes", "0"}},
		{exitUsage, "off", "--minutes", []string{"--minutes", "-1"}},
		{exitUsage, "off", "--minutes", []string{"--minutes", "0"}},
		{exitUsage, "off", "unknown command", []string{"now"}},
		{exitError, "off", "no place to keep", nil},
		{exitError, broken, "remove it, or name another file in TANDEM_TUNE", nil},
		{exitError, at(""), "is not a file; name another file in TANDEM_TUNE", nil},
		{exitError, at("broken/tune.json"), "; name another file in TANDEM_TUNE", nil},
		{exitError, at("new"), "abacus", []string{"--backend", "abacus"}},
	} {
		useTuningFile(t, c.file)
		code, _, stderr := tandem(append([]string{"tune", "--backend", "cpu"}, c.args...)...)
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("tune %q with %s: exit code %d, %s", c.args, c.file, code, stderr)
		}
	}
	if text, err := os.ReadFile(broken); err != nil || string(text) != "x" {
		t.Errorf("the broken file is now %q, %v", text, err)
	}
	useTuningFile(t, at("new"))
	if out := must(t, "tune", "--backend", "cpu"); !strings.Contains(out, "nothing to search") ||
		strings.Contains(out, "stored") {
		t.Errorf("on the cpu device:\n%s", out)
	}
}

// An interrupt keeps what was found.
func TestTuneInterrupted(t *testing.T) {
	need(t, "opencl")
	file := in(t.TempDir())("tune.json")
	useTuningFile(t, file)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(file); err == nil {
				cancel()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	code, out, stderr := tandemContext(ctx, "tune", "--backend", "opencl", "--type", "f4", "--sizes", "24,40")
	if code != exitError || !strings.Contains(stderr, "interrupted; what was found until then is in "+file) ||
		!strings.Contains(out, "transpose") {
		t.Errorf("exit code %d\n%s%s", code, out, stderr)
	}
	if d, _, err := tuning.User(); err != nil || len(d.Devices) != 1 || len(d.Devices[0].Transpose) == 0 {
		t.Errorf("stored %+v, %v", d, err)
	}
}
