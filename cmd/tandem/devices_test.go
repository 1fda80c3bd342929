package main

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/linalg"
)

func TestDevices(t *testing.T) {
	text := must(t, "devices", "--backend", "cpu")
	for _, want := range []string{"* cpu:0", "chosen by cpu", "opencl", "FLOAT64"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "\x1b") {
		t.Errorf("colours without a terminal:\n%q", text)
	}
	for i, line := range strings.Split(text, "\n") {
		if strings.TrimRight(line, " ") != line {
			t.Errorf("line %d ends with spaces: %q", i, line)
		}
	}
}

// Every device of several is marked, and what is computed says who did it.
func TestSeveralDevices(t *testing.T) {
	const spec = "cpu+cudasim"
	if text := must(t, "devices", "--backend", spec); !strings.Contains(text, "* cpu:0") ||
		!strings.Contains(text, "* cudasim:0: chosen by "+spec) {
		t.Errorf("%s", text)
	}
	var r deviceReport
	if err := json.Unmarshal([]byte(must(t, "devices", "--json", "--backend", spec)), &r); err != nil ||
		r.Spec != spec || r.Chosen != "cpu:0+cudasim:0" {
		t.Errorf("%v %+v", err, r)
	}
	at := in(t.TempDir())
	m := linalg.NewMatrix[float32](700, 500, nil)
	for i := range m.Data {
		m.Data[i] = float32(i)
	}
	text := must(t, "transpose", save(t, at("a.npy"), m), "-o", at("b.npy"), "--backend", spec)
	checkFile(t, at("b.npy"), []int{500, 700}, turned(m))
	if !strings.Contains(text, "device   cpu:0  ") ||
		!strings.Contains(text, "\n         cudasim:0  Simulated GPU: ") ||
		!strings.Contains(text, " for transpose, ") {
		t.Errorf("%s", text)
	}
}

func TestDevicesJSON(t *testing.T) {
	var r deviceReport
	if err := json.Unmarshal([]byte(must(t, "devices", "--json", "--backend", "cpu:0")), &r); err != nil {
		t.Fatal(err)
	}
	if r.Spec != "cpu:0" || r.Chosen != "cpu:0" || r.Error != "" || len(r.Drivers) != len(backend.Names()) {
		t.Errorf("%+v", r)
	}
	for _, d := range r.Drivers {
		if (len(d.Devices) == 0) != (d.Error != "") {
			t.Errorf("driver %s has %d devices and the error %q", d.Name, len(d.Devices), d.Error)
		}
		for _, i := range d.Devices {
			if i.Driver != d.Name || i.Why == "" || i.Memory <= 0 {
				t.Errorf("%+v", i)
			}
		}
	}
}

// The folder of the cache is shown, and why it is of no use.
func TestDevicesCache(t *testing.T) {
	dir := backendtest.EmptyCache(t)
	report := func() (text string, r deviceReport) {
		text = must(t, "devices", "--backend", "cpu")
		if err := json.Unmarshal([]byte(must(t, "devices", "--backend", "cpu", "--json")), &r); err != nil {
			t.Fatal(err)
		}
		return text, r
	}
	if text, r := report(); !strings.Contains(text, "\n  cache: "+dir+"\n") || strings.Contains(text, "are not kept") ||
		r.Cache != (cacheReport{Folder: dir}) {
		t.Errorf("%s%+v", text, r.Cache)
	}
	file := write(t, in(dir)("file"), nil)
	for folder, says := range map[string]string{"off": "TANDEM_CACHE is off", file: "not a directory"} {
		t.Setenv("TANDEM_CACHE", folder)
		if text, r := report(); !strings.Contains(text, "compiled kernels are not kept: ") ||
			!strings.Contains(text, says) || !strings.Contains(r.Cache.Error, says) {
			t.Errorf("%s: %s%+v", folder, text, r.Cache)
		}
	}
}

// What cannot be chosen is an error, and the devices are listed all the same.
func TestDevicesOfUnknownBackend(t *testing.T) {
	for spec, says := range map[string]string{"abacus": "unknown driver", "cpu:7": "there are only the devices"} {
		code, stdout, stderr := tandem("devices", "--backend", spec)
		if code != exitError || !strings.Contains(stderr, says) || !strings.Contains(stdout, "cpu:0") ||
			strings.Contains(stdout, "*") {
			t.Errorf("%s: exit code %d\n%s%s", spec, code, stdout, stderr)
		}
		var r deviceReport
		code, stdout, _ = tandem("devices", "--backend", spec, "--json")
		if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != exitError ||
			!strings.Contains(r.Error, says) || r.Chosen != "" {
			t.Errorf("%s: exit code %d, %v, %+v", spec, code, err, r)
		}
	}
}

// A driver without devices says why, and what to install.
func TestDevicesWithoutOpenCL(t *testing.T) {
	err := &backend.Error{
		Driver: "opencl", Op: "dlopen", Err: backend.ErrNoDevice,
		Detail: "lib.so: not found; install a driver",
	}
	e := backend.Explanation{
		Specs:   []backend.Spec{{Driver: "auto"}},
		Drivers: []backend.DriverReport{{Name: "opencl", Err: err}},
	}
	var b strings.Builder
	a := &app{stdout: &b}
	if err := a.printDevices(newDeviceReport(&e)); err != nil ||
		!strings.Contains(b.String(), "- opencl: dlopen: no device: lib.so: not found\n    install a driver\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
	a.style = true
	b.Reset()
	if err := a.printDevices(newDeviceReport(&e)); err != nil || !strings.Contains(b.String(), "\x1b[31m-\x1b[0m") {
		t.Errorf("%v\n%q", err, b.String())
	}
}

func TestVersion(t *testing.T) {
	text := must(t, "version")
	if !strings.HasPrefix(text, "tandem ") ||
		!strings.Contains(text, runtime.Version()+" "+runtime.GOOS+"/"+runtime.GOARCH) {
		t.Error(text)
	}
	var v versionInfo
	if err := json.Unmarshal([]byte(must(t, "version", "--json")), &v); err != nil || v.Go != runtime.Version() ||
		v.Version == "" {
		t.Errorf("%v %+v", err, v)
	}
	v = versionInfo{
		Version: "v1.2.3", Revision: "abc", Time: "2026-01-02T03:04:05Z", Modified: true, Go: "go1",
		Platform: "a/b",
	}
	if got, want := v.String(),
		"tandem v1.2.3\ngo1 a/b\nrevision abc of 2026-01-02T03:04:05Z, with changes\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Every command has a help text with an example.
func TestHelp(t *testing.T) {
	for _, name := range []string{
		"", "devices", "matmul", "transpose", "map", "map exp", "add", "scale", "run", "version",
	} {
		args := strings.Fields(name + " --help")
		text := must(t, args...)
		if !strings.Contains(text, "Examples:\n  tandem "+name) {
			t.Errorf("%s: no example\n%s", name, text)
		}
		for _, line := range strings.Split(text, "\n") {
			if !strings.Contains(line, "--") && len(line) > 82 {
				t.Errorf("%s: line of %d bytes: %s", name, len(line), line)
			}
		}
	}
	if text := must(t); !strings.Contains(text, "\nMatrices:\n  add ") || !strings.Contains(text, "\nDevices:\n") {
		t.Error(text)
	}
}

func TestCompletion(t *testing.T) {
	complete := func(args ...string) string {
		t.Helper()
		code, stdout, _ := tandem(append([]string{"__complete"}, args...)...)
		if code != exitOK {
			t.Errorf("__complete %q: exit code %d", args, code)
		}
		return stdout
	}
	const byExtension = ":8\n"
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"matmul", ""}, "npy\n" + byExtension},
		{[]string{"matmul", "a.npy", "b.npy", ""}, ":4\n"},
		{[]string{"scale", "a.npy", "-o", ""}, "npy\n" + byExtension},
		{[]string{"run", ""}, "cl\ngo\n" + byExtension},
		{[]string{"run", "my.cl", "--arg", ""}, "npy\n" + byExtension},
		{[]string{"run", "my.cl", "-o", ""}, "npy\n" + byExtension},
		{[]string{"bench", "--only", ""}, "products\ntransposes\n"},
		{[]string{"bench", "--only", "blas,la"}, "blas,products\nblas,transposes\n"},
		{[]string{"trans"}, "transpose\tTranspose a matrix\n:4\n"},
	} {
		if got := complete(test.args...); !strings.HasPrefix(got, test.want) {
			t.Errorf("%q: %q, want %q", test.args, got, test.want)
		}
	}
	got := complete("devices", "--backend", "")
	for _, want := range append(backend.Names(), "auto\t", "cpu:0\t") {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if text := must(t, "completion", shell); !strings.Contains(text, "tandem") {
			t.Errorf("%s: %s", shell, text)
		}
	}
}
