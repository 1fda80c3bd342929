package backend

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestParseSpec(t *testing.T) {
	for in, want := range map[string]Spec{
		"gpus":            {Driver: "gpus"},
		"auto":            {Driver: "auto"},
		"AUTO":            {Driver: "auto"},
		"cpu":             {Driver: "cpu"},
		"OpenCL":          {Driver: "opencl"},
		"cuda:1":          {Driver: "cuda", Device: "1"},
		"opencl:gfx90a":   {Driver: "opencl", Device: "gfx90a"},
		"opencl:a:b":      {Driver: "opencl", Device: "a:b"},
		"opencl:MI 210 X": {Driver: "opencl", Device: "MI 210 X"},
		"cudasim":         {Driver: "cudasim"},
	} {
		t.Setenv(EnvBackend, "metal") // an explicit choice is stronger
		got, err := ParseSpec(in)
		if err != nil || !slices.Equal(got, []Spec{want}) {
			t.Errorf("ParseSpec(%q) is %+v, %v; want %+v", in, got, err, want)
		}
		t.Setenv(EnvBackend, in)
		if got, err := ParseSpec(""); err != nil || !slices.Equal(got, []Spec{want}) {
			t.Errorf("ParseSpec of %s=%q is %+v, %v; want %+v", EnvBackend, in, got, err, want)
		}
		if again, err := ParseSpec(want.String()); err != nil || !slices.Equal(again, got) {
			t.Errorf("ParseSpec(%q) is %+v, %v; want %+v back", got, again, err, got)
		}
	}
	t.Setenv(EnvBackend, "")
	if got, err := ParseSpec(""); err != nil || !slices.Equal(got, []Spec{{Driver: "auto"}}) {
		t.Errorf("ParseSpec of nothing is %+v, %v; want auto", got, err)
	}
}

func TestParseSpecErrors(t *testing.T) {
	for in, want := range map[string]string{
		"vulkan":   "there are auto, gpus, cpu, cuda, cudasim, metal, opencl",
		"vulkan:0": "unknown driver; there are auto",
		"gpu":      "unknown driver (did you mean gpus?); there are auto",
		"Nvidia:0": "(did you mean cuda?)",
		"AMD":      "(did you mean opencl:amd?)",
		"rocm":     "(did you mean opencl:amd?)",
		"pocl":     "(did you mean opencl:pocl?)",
		"auto:0":   "auto takes no device",
		"cuda:":    "no device after the colon",
		":0":       "unknown driver",
		" cpu":     "unknown driver",
	} {
		_, err := ParseSpec(in)
		if !errors.Is(err, ErrNoDevice) || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), `"`+in+`"`) {
			t.Errorf("ParseSpec(%q): %v, want an ErrNoDevice with %q", in, err, want)
		}
		if strings.Contains(err.Error(), EnvBackend) {
			t.Errorf("ParseSpec(%q): %v blames the environment", in, err)
		}
		t.Setenv(EnvBackend, in)
		if _, err := ParseSpec(""); err == nil || !strings.Contains(err.Error(), EnvBackend) {
			t.Errorf("ParseSpec of %s=%q: %v, want an error that names the variable", EnvBackend, in, err)
		}
	}
}

// A driver of this module that the program does not import is told from one that does not exist.
func TestParseSpecOfMissingDriver(t *testing.T) {
	defer func(all []Driver) { registry.drivers = all }(registry.drivers)
	registry.drivers = nil
	for _, name := range []string{"cudasim", "opencl"} {
		want := `import _ "github.com/tandem-gpu/tandem/backend/` + name + `"`
		if _, err := Open(name + ":0"); !errors.Is(err, ErrNoDevice) || !strings.Contains(err.Error(), want) {
			t.Errorf("without the driver %s: %v, want an ErrNoDevice with %s", name, err, want)
		}
	}
	if _, err := Open("vulkan"); err == nil || strings.Contains(err.Error(), "import") {
		t.Errorf("a driver that does not exist: %v", err)
	}
}

// open opens spec and returns the device as driver:name.
func open(t *testing.T, spec string) string {
	t.Helper()
	d, err := Open(spec)
	if err != nil {
		t.Errorf("Open(%q): %v", spec, err)
		return ""
	}
	return d.Info().Driver + ":" + d.Info().Name
}

// Several devices open in the order of their names, all or none; gpus are all GPUs, each once.
func TestOpenAll(t *testing.T) {
	machine{"cuda": {nvidia, nvidia}, "opencl": {pocl, nvidiaCL, radeon2, radeon}, "cpu": {goCPU}}.set(t)
	const gpus = "cuda:0 cuda:1 opencl:2 opencl:3"
	for spec, want := range map[string]string{
		"cpu":                    "cpu:0",
		"cpu+opencl:portable":    "cpu:0 opencl:0",
		"cuda:1+cuda:0+cpu":      "cuda:1 cuda:0 cpu:0",
		"gpus":                   gpus,
		"gpus+cpu":               gpus + " cpu:0",
		"auto+cpu":               "cuda:0 cpu:0",
		"":                       "opencl:0 cpu:0",
		"opencl:gfx906+cuda:h20": "opencl:2 cuda:0",
	} {
		t.Setenv(EnvBackend, "opencl:0+cpu")
		devices, err := OpenAll(spec)
		var got []string
		for _, d := range devices {
			got = append(got, fmt.Sprintf("%s:%d", d.Info().Driver, d.Info().Index))
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("OpenAll(%q) is %v, %v; want %s", spec, got, err, want)
		}
		e := Explain(spec)
		if e.Err != nil || len(e.Chosen) != len(got) || !strings.HasPrefix(e.Why(e.Chosen[0]), "chosen by ") {
			t.Errorf("Explain(%q): %v, %v; want %s", spec, e.Chosen, e.Err, want)
		}
		first := open(t, spec)
		if i := devices[0].Info(); first != i.Driver+":"+i.Name {
			t.Errorf("Open(%q) is %s, want the first of %v", spec, first, got)
		}
	}
	for spec, want := range map[string]string{
		"cpu+cpu": "cpu:0 (AMD EPYC) is asked for twice", "gpus+cuda:1": "cuda:1 (NVIDIA H200) is asked for twice",
		"cpu+": "plus sign", "cpu+vulkan": `"vulkan"`, "gpus:0": "gpus takes no device",
	} {
		if _, err := OpenAll(spec); !errors.Is(err, ErrNoDevice) || !strings.Contains(err.Error(), want) {
			t.Errorf("OpenAll(%q): %v, want an ErrNoDevice with %s", spec, err, want)
		}
		if e := Explain(spec); !errors.Is(e.Err, ErrNoDevice) || e.Chosen != nil {
			t.Errorf("Explain(%q): %v, %v", spec, e.Chosen, e.Err)
		}
	}
	closed = nil
	fakes["opencl"].openErr = map[int]error{3: errBusy}
	if _, err := OpenAll("cpu+gpus"); !errors.Is(err, errBusy) ||
		!slices.Equal(closed, []string{"AMD EPYC", "NVIDIA H200", "NVIDIA H200", "Radeon VII"}) {
		t.Errorf("one of several does not open: %v; closed %q, want all that were open", err, closed)
	}
	machine{"opencl": {pocl}, "cpu": {goCPU}}.set(t)
	if _, err := OpenAll("gpus"); !errors.Is(err, ErrNoDevice) || !strings.Contains(err.Error(), "no library of cuda") {
		t.Errorf("gpus without any: %v", err)
	}
}

// auto takes the first of: a CUDA GPU, an OpenCL GPU (AMD first), the CPU device.
func TestAuto(t *testing.T) {
	for _, c := range []struct {
		name string
		m    machine
		want string
	}{
		{"everything", machine{"cuda": {nvidia}, "opencl": {nvidiaCL, radeon}, "cpu": {goCPU}}, "cuda:NVIDIA H200"},
		{"no cuda", machine{"opencl": {pocl, nvidiaCL, radeon, radeon2}, "cpu": {goCPU}}, "opencl:Instinct MI210"},
		{"AMD by the short name", machine{"opencl": {nvidiaCL, radeon2, radeon}, "cpu": {goCPU}}, "opencl:Radeon VII"},
		{"no AMD", machine{"opencl": {pocl, nvidiaCL}, "cpu": {goCPU}}, "opencl:NVIDIA H200"},
		{"OpenCL on a CPU alone", machine{"opencl": {pocl}, "cpu": {goCPU}}, "cpu:AMD EPYC"},
		{"cpu alone", machine{"cpu": {goCPU}}, "cpu:AMD EPYC"},
		{"a simulation is not chosen", machine{"cudasim": {sim}, "metal": {nvidia}, "cpu": {goCPU}}, "cpu:AMD EPYC"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.m.set(t)
			for _, spec := range []string{"auto", ""} {
				if got := open(t, spec); got != c.want {
					t.Errorf("Open(%q) is %s, want %s", spec, got, c.want)
				}
			}
			if e := Explain(""); e.Err != nil || e.Chosen[0].Driver+":"+e.Chosen[0].Name != c.want {
				t.Errorf("Explain says %+v, %v; want %s", e.Chosen, e.Err, c.want)
			}
		})
	}
}

func TestAutoGoesOn(t *testing.T) {
	machine{"cuda": {nvidia, nvidia}, "opencl": {nvidiaCL, radeon}, "cpu": {goCPU}}.set(t)
	fakes["cuda"].openErr = map[int]error{0: errBusy, 1: errBusy}
	if got := open(t, ""); got != "opencl:Instinct MI210" {
		t.Errorf("auto takes %s when CUDA does not open, want opencl:Instinct MI210", got)
	}
	fakes["opencl"].openErr = map[int]error{1: errBusy}
	if got := open(t, ""); got != "opencl:NVIDIA H200" {
		t.Errorf("auto takes %s when the AMD GPU does not open, want the other GPU", got)
	}
	fakes["opencl"].openErr[0] = errBusy
	if got := open(t, ""); got != "cpu:AMD EPYC" {
		t.Errorf("auto takes %s when no GPU opens, want cpu:AMD EPYC", got)
	}
	fakes["cpu"].openErr = map[int]error{0: errBusy}
	_, err := Open("")
	if !errors.Is(err, ErrNoDevice) {
		t.Fatalf("auto with nothing that opens: %v, want ErrNoDevice", err)
	}
	for _, want := range []string{"cuda:0", "cuda:1", "opencl:0", "opencl:1", "cpu:0", errBusy.Error()} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("auto with nothing that opens: %v, which does not name %s", err, want)
		}
	}
}

func TestAutoNothing(t *testing.T) {
	machine{}.set(t)
	_, err := Open("auto")
	if !errors.Is(err, ErrNoDevice) || !strings.Contains(err.Error(), "no library of cuda") ||
		!strings.Contains(err.Error(), "no library of opencl") {
		t.Errorf("auto without devices: %v, want an ErrNoDevice with the reason of each driver", err)
	}
	if e := Explain("auto"); e.Chosen != nil || !errors.Is(e.Err, ErrNoDevice) {
		t.Errorf("Explain without devices: chosen %+v, %v", e.Chosen, e.Err)
	}
	machine{"cpu": {goCPU}}.set(t)
	fakes["cpu"].openErr = map[int]error{0: Failure("cpu", "Driver.Open", ErrArgument, "a bad setting")}
	if _, err := Open("auto"); !errors.Is(err, ErrArgument) || strings.Contains(err.Error(), "no library") {
		t.Errorf("with a bad setting: %v, want that alone", err)
	}
}

// An explicit choice works, or fails with the driver's reasons: it never falls back.
func TestExplicit(t *testing.T) {
	machine{"cuda": {nvidia}, "cpu": {goCPU}}.set(t)
	fakes["cuda"].openErr = map[int]error{0: errBusy}
	if _, err := Open("cuda"); !errors.Is(err, errBusy) {
		t.Errorf("Open of a busy device: %v, want the driver's error", err)
	}
	if _, err := Open("opencl"); !errors.Is(err, ErrNoDevice) ||
		!strings.Contains(err.Error(), "no library of opencl") {
		t.Errorf("Open without OpenCL: %v, want the driver's reasons", err)
	}
	t.Setenv(EnvBackend, "opencl")
	if _, err := Open(""); !errors.Is(err, ErrNoDevice) {
		t.Errorf("Open of %s=opencl without OpenCL: %v, want ErrNoDevice", EnvBackend, err)
	}
	t.Setenv(EnvBackend, "cpu")
	if got := open(t, ""); got != "cpu:AMD EPYC" {
		t.Errorf("%s=cpu opens %s", EnvBackend, got)
	}
	fakes["metal"].err = nil // a driver that breaks its contract: no devices and no error
	if _, err := Open("metal"); !errors.Is(err, ErrNoDevice) {
		t.Errorf("Open of a driver that lists nothing: %v, want ErrNoDevice", err)
	}
}

func TestOpenByName(t *testing.T) {
	machine{"opencl": {pocl, nvidiaCL, radeon, radeon2}, "cudasim": {sim}, "cpu": {goCPU}}.set(t)
	for spec, want := range map[string]string{
		"opencl":          "opencl:Instinct MI210", // the driver's best
		"opencl:0":        "opencl:pthread-AMD EPYC",
		"opencl:1":        "opencl:NVIDIA H200",
		"opencl:3":        "opencl:Radeon VII",
		"OPENCL:gfx906":   "opencl:Radeon VII", // architecture
		"opencl:GFX90A":   "opencl:Instinct MI210",
		"opencl:gfx90":    "opencl:Instinct MI210", // two fit: the first of the best
		"opencl:portable": "opencl:pthread-AMD EPYC",
		"opencl:rocm":     "opencl:Radeon VII", // platform
		"opencl:h200":     "opencl:NVIDIA H200",
		"opencl:amd":      "opencl:Instinct MI210", // the platform AMD APP; a GPU comes before pthread-AMD EPYC
		"cudasim":         "cudasim:simulated",
		"cpu:epyc":        "cpu:AMD EPYC",
		"cpu:0":           "cpu:AMD EPYC",
	} {
		if got := open(t, spec); got != want {
			t.Errorf("Open(%q) is %s, want %s", spec, got, want)
		}
	}
	for spec, want := range map[string][]string{
		"opencl:4":    {"opencl:0  pthread-AMD EPYC", "opencl:3  Radeon VII"},
		"opencl:-1":   {"opencl:0  pthread-AMD EPYC"},
		"opencl:fury": {`"fury"`, "opencl:2  Instinct MI210 (AMD APP, gfx90a)"},
		"cpu:1":       {"cpu:0  AMD EPYC"},
	} {
		_, err := Open(spec)
		if !errors.Is(err, ErrNoDevice) {
			t.Errorf("Open(%q): %v, want ErrNoDevice", spec, err)
			continue
		}
		for _, w := range append(want, spec) {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("Open(%q): %v, which lacks %s", spec, err, w)
			}
		}
	}
}

func TestExplain(t *testing.T) {
	machine{"opencl": {pocl, nvidiaCL, radeon}, "cudasim": {sim}, "cpu": {goCPU}}.set(t)
	fakes["cuda"].err = errNoCUDA
	auto := Explain("")
	for i, want := range map[Info]string{
		fakes["opencl"].infos[0]:  "not a GPU; only when asked for",
		fakes["opencl"].infos[1]:  "a device before it was chosen",
		fakes["opencl"].infos[2]:  "chosen by auto",
		fakes["cudasim"].infos[0]: "only when asked for",
		fakes["cpu"].infos[0]:     "a device before it was chosen",
	} {
		if got := auto.Why(i); got != want {
			t.Errorf("auto: %s:%d %s, want %s", i.Driver, i.Index, got, want)
		}
	}
	text := auto.String()
	for _, want := range []string{
		"cuda: cuda: dlopen", "libcuda.so.1",
		"opencl:2  Instinct MI210 (AMD APP, gfx90a): chosen by auto", "metal: ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the explanation lacks %q:\n%s", want, text)
		}
	}
	if len(auto.Drivers) != len(fakes) || auto.Drivers[1].Name != "cuda" ||
		!errors.Is(auto.Drivers[1].Err, ErrNoDevice) {
		t.Errorf("drivers %+v, want all, sorted, cuda with its error", auto.Drivers)
	}

	explicit := Explain("opencl:0")
	if explicit.Err != nil || explicit.Chosen[0].Index != 0 ||
		explicit.Why(fakes["opencl"].infos[0]) != "chosen by opencl:0" {
		t.Errorf("opencl:0: %+v, %v", explicit.Chosen, explicit.Err)
	}
	if got := explicit.Why(fakes["cpu"].infos[0]); got != "not asked for" {
		t.Errorf("opencl:0: the cpu device is %s", got)
	}
	for spec, want := range map[string]string{
		"cuda": "libcuda.so.1", "vulkan": "unknown driver",
		"cpu:7": "only the devices",
	} {
		e := Explain(spec)
		if e.Chosen != nil || !errors.Is(e.Err, ErrNoDevice) || !strings.Contains(e.String(), want) ||
			len(e.Drivers) != len(fakes) {
			t.Errorf("Explain(%q): chosen %+v, %v; want an error with %q and all drivers:\n%s",
				spec, e.Chosen, e.Err, want, &e)
		}
	}
}
