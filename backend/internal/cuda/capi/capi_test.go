package capi

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend/driverkit/dl"
)

var fourBytes = regexp.MustCompile(
	`\b(int|CUdevice|CUresult|CUdevice_attribute|CUfunction_attribute|CUjit_option|nvrtcResult)\b`)

// cSize is the size of a C parameter on a 64-bit system.
func cSize(declaration string) uintptr {
	switch {
	case strings.ContainsAny(declaration, "*["):
		return 8
	case regexp.MustCompile(`\bunsigned char\b`).MatchString(declaration):
		return 1
	case fourBytes.MatchString(declaration):
		return 4
	}
	return 8 // a handle, a size, a device pointer
}

// header finds a C header in the CUDA toolkit, or beside the NVRTC that TANDEM_NVRTC names.
func header(t *testing.T, name string) string {
	t.Helper()
	folders := []string{"/usr/local/cuda/include", "/usr/include"}
	if home := os.Getenv("CUDA_HOME"); home != "" {
		folders = append(folders, filepath.Join(home, "include"))
	}
	if chosen := os.Getenv(EnvNVRTC); chosen != "" {
		folders = append(folders, filepath.Join(chosen, "nvidia/cu13/include"))
	}
	for _, dir := range folders {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			return string(text)
		}
	}
	t.Skipf("there is no %s in %v", name, folders)
	return ""
}

// checkTable compares a table with the prototypes of a header: every entry has its parameters, in
// number and size.
func checkTable(t *testing.T, table reflect.Type, text string) {
	t.Helper()
	if reflect.TypeFor[uintptr]().Size() != 8 {
		t.Skip("the sizes are those of 64-bit systems")
	}
	for i := range table.NumField() {
		f := table.Field(i)
		versioned := dl.SymbolNames(f)[0]
		name, _, _ := strings.Cut(versioned, "_v")
		m := regexp.MustCompile(`(?s)(?:CUresult CUDAAPI|nvrtcResult)\s+` + name +
			`\((.*?)\)\s*;`).FindStringSubmatch(text)
		if m == nil {
			t.Errorf("%s is not in the header", name)
			continue
		}
		// The newest version of the function is the table's first choice.
		if d := regexp.MustCompile(`#define ` + name +
			`\s+(?:__CUDA_API_PT\w+\()?(cu\w+)`).FindStringSubmatch(text); d != nil && d[1] != versioned || d == nil &&
			name != versioned {
			t.Errorf("%s is bound as %s, the header has %v", name, versioned, d)
		}
		params := strings.Split(m[1], ",")
		if len(params) != f.Type.NumIn() {
			t.Errorf("%s has %d parameters, not %d", name, len(params), f.Type.NumIn())
			continue
		}
		for j, p := range params {
			if got, want := f.Type.In(j).Size(), cSize(p); got != want {
				t.Errorf("%s: parameter %d, %s, has %d bytes, not %d", name, j, strings.TrimSpace(p), want, got)
			}
		}
		if f.Type.NumOut() != 1 || f.Type.Out(0).Kind() != reflect.Int32 {
			t.Errorf("%s does not return a status", name)
		}
	}
}

func TestTableIsTheHeaders(t *testing.T) {
	checkTable(t, reflect.TypeFor[Table](), header(t, "cuda.h"))
}

func TestNVRTCIsTheHeaders(t *testing.T) {
	checkTable(t, reflect.TypeFor[NVRTC](), header(t, "nvrtc.h"))
}

// Every code has its name in the header.
func TestCodesAreTheHeaders(t *testing.T) {
	names := map[int32]string{}
	for _, m := range regexp.MustCompile(`(?m)^ *(CUDA_(?:SUCCESS|ERROR_\w+)) *= *(\d+)`).FindAllStringSubmatch(
		header(t, "cuda.h"), -1) {
		code, err := strconv.Atoi(m[2])
		if err != nil {
			t.Error(err)
		}
		names[int32(code)] = m[1]
	}
	for code, known := range Codes {
		if names[code] != known.Name {
			t.Errorf("%d is %q, in the header %q", code, known.Name, names[code])
		}
	}
}

func TestLibraries(t *testing.T) {
	t.Setenv(EnvLibrary, "/opt/cuda/libcuda.so")
	if got := libraries(); !reflect.DeepEqual(got, []string{"/opt/cuda/libcuda.so"}) {
		t.Errorf("%s is set, and the candidates are %v", EnvLibrary, got)
	}
	t.Setenv(EnvLibrary, "")
	if len(libraries()) == 0 {
		t.Error("no candidate")
	}
}

func TestLoadOfAnotherLibrary(t *testing.T) {
	var name string
	for _, candidate := range []string{"libc.so.6", "/usr/lib/libSystem.B.dylib", "msvcrt.dll"} {
		if _, err := dl.Open(candidate); err == nil {
			name = candidate
		}
	}
	if name == "" {
		t.Skip("no C library found")
	}
	t.Setenv(EnvLibrary, name)
	err := load()
	if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "cuInit") {
		t.Errorf("the C library as CUDA: %v", err)
	}
	if driver.Load() != nil {
		t.Error("there is a table all the same")
	}
}

func TestNames(t *testing.T) {
	for code, want := range map[int32]string{
		Success: "CUDA_SUCCESS", InvalidValue: "CUDA_ERROR_INVALID_VALUE", IllegalAddress: "CUDA_ERROR_ILLEGAL_ADDRESS",
		LaunchFailed: "CUDA_ERROR_LAUNCH_FAILED", MisalignedAddress: "CUDA_ERROR_MISALIGNED_ADDRESS",
		999: "CUDA_ERROR_UNKNOWN", -1: "", 12345: "",
	} {
		if got := Codes[code].Name; got != want {
			t.Errorf("%d is %q, not %q", code, got, want)
		}
	}
	for code, want := range map[int32]string{
		0: "NVRTC_SUCCESS", 6: "NVRTC_ERROR_COMPILATION", 11: "NVRTC_ERROR_INTERNAL_ERROR", -1: "", 99: "",
	} {
		if got := NVRTCName(code); got != want {
			t.Errorf("NVRTC's %d is %q, not %q", code, got, want)
		}
	}
}

// An older driver takes no PTX of a newer NVRTC.
func TestNVRTCOfTheDriver(t *testing.T) {
	for driver, want := range map[int]string{0: "13", 12040: "12", 13000: "13"} {
		if files := nvrtcFiles(driver); len(files) != 2 || !strings.Contains(files[0], want) || files[0] == files[1] {
			t.Errorf("driver %d: %v", driver, files)
		}
	}
}

// What is not there is named, whether a file or a folder was chosen, and so is every place that was
// looked at.
func TestNoNVRTC(t *testing.T) {
	files := []string{"libtandem_no_nvrtc.so"}
	dir := t.TempDir()
	wheels := wheelFolders(dir)
	t.Setenv("VIRTUAL_ENV", dir)
	t.Setenv("CONDA_PREFIX", "relative/path")
	for chosen, words := range map[string][]string{
		"":                            {files[0], dir, "/usr/local/cuda"},
		dir:                           {files[0], wheels[0], wheels[1]},
		filepath.Join(dir, "nvrtc"):   {filepath.Join(dir, "nvrtc")},
		"libtandem_chosen_nvrtc.so":   {"libtandem_chosen_nvrtc.so"},
		"./libtandem_chosen_nvrtc.so": {"working directory"},
	} {
		t.Setenv(EnvNVRTC, chosen)
		_, err := openNVRTC(files)
		if err == nil {
			t.Fatalf("%q was opened", chosen)
		}
		for _, w := range words {
			if !strings.Contains(err.Error(), w) && runtime.GOOS == "linux" {
				t.Errorf("chosen %q: %v, want it to say %q", chosen, err, w)
			}
		}
		if strings.Contains(err.Error(), "relative/path") {
			t.Errorf("the working directory was searched: %v", err)
		}
	}
}

func TestStrings(t *testing.T) {
	for _, s := range []string{"", "a", "kernel"} {
		if got := GoString(CString(s)); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
	if GoString(nil) != "" {
		t.Error("NULL is not empty")
	}
}
