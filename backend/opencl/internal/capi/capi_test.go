package capi

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend/driverkit/dl"
)

// cSize is the size of a C parameter or result on a 64-bit system.
func cSize(declaration string) uintptr {
	name := regexp.MustCompile(`cl_\w+|size_t|void`).FindString(declaration)
	switch {
	case strings.ContainsAny(declaration, "*["):
		return 8
	case name == "size_t":
		return 8
	case strings.HasSuffix(name, "_flags"), name == "cl_device_type", name == "cl_command_queue_properties":
		return 8
	case strings.HasSuffix(name, "_info"), strings.HasSuffix(name, "_type"), name == "cl_uint", name == "cl_int",
		name == "cl_bool":
		return 4
	}
	return 8 // a handle
}

// Every entry has the parameters of the C header, in number and size. A callback counts as a
// pointer.
func TestTableIsTheHeaders(t *testing.T) {
	if reflect.TypeFor[uintptr]().Size() != 8 {
		t.Skip("the sizes are those of 64-bit systems")
	}
	header, err := os.ReadFile("/usr/include/CL/cl.h")
	if err != nil {
		t.Skipf("the OpenCL headers are not installed: %v", err)
	}
	callback := regexp.MustCompile(`void \(CL_CALLBACK \*\s*pfn_notify\)\([^)]*\)`)
	text := callback.ReplaceAllString(string(header), "void * pfn_notify")
	table := reflect.TypeFor[Table]()
	for i := range table.NumField() {
		f := table.Field(i)
		name := dl.SymbolNames(f)[0]
		prototype := `(?s)extern\s+CL_API_ENTRY\s+(?:CL_API_PREFIX__VERSION\w+\s+)?([\w *]+?)\s*CL_API_CALL\s+` + name +
			`\((.*?)\)\s*CL_API`
		m := regexp.MustCompile(prototype).FindStringSubmatch(text)
		if m == nil {
			t.Errorf("%s is not in the header", name)
			continue
		}
		if name != "cl"+f.Name {
			t.Errorf("field %s holds %s", f.Name, name)
		}
		params := strings.Split(m[2], ",")
		if len(params) != f.Type.NumIn() {
			t.Errorf("%s has %d parameters, not %d", name, len(params), f.Type.NumIn())
			continue
		}
		for j, p := range params {
			if got, want := f.Type.In(j).Size(), cSize(p); got != want {
				t.Errorf("%s: parameter %d, %s, has %d bytes, not %d", name, j, strings.TrimSpace(p), want, got)
			}
		}
		if got, want := f.Type.Out(0).Size(), cSize(m[1]); got != want {
			t.Errorf("%s: the result, %s, has %d bytes, not %d", name, m[1], want, got)
		}
	}
}

func TestLibraries(t *testing.T) {
	t.Setenv(EnvLibrary, "/opt/opencl/libOpenCL.so")
	if got := libraries(); !reflect.DeepEqual(got, []string{"/opt/opencl/libOpenCL.so"}) {
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
	if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "clGetPlatformIDs") {
		t.Errorf("the C library as OpenCL: %v", err)
	}
	if Current() != nil {
		t.Error("there is a table all the same")
	}
}

func TestCodeName(t *testing.T) {
	for code, want := range map[int32]string{
		Success: "CL_SUCCESS", DeviceNotFound: "CL_DEVICE_NOT_FOUND", InvalidValue: "CL_INVALID_VALUE",
		PlatformNotFoundKHR: "CL_PLATFORM_NOT_FOUND_KHR", -12345: "", 1: "",
	} {
		if got := CodeName(code); got != want {
			t.Errorf("%d is %q, not %q", code, got, want)
		}
	}
}
