package mpi

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend/driverkit/dl"
)

// header is the prototypes of an installed MPI library.
func header(t *testing.T) string {
	t.Helper()
	for _, pattern := range []string{
		"/usr/include/*/mpich/mpi*.h", "/usr/lib/*/openmpi/include/mpi.h", "/usr/include/mpich-*/mpi*.h",
		"/usr/include/openmpi-*/mpi.h", "/opt/homebrew/include/mpi*.h",
	} {
		names, _ := filepath.Glob(pattern)
		var text strings.Builder
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(b)
		}
		if strings.Contains(text.String(), "MPI_Ibcast(") {
			return text.String()
		}
	}
	t.Skip("no MPI header is installed")
	return ""
}

// Every entry has the parameters of the C header, in number and size. A handle counts as an
// address.
func TestTableIsTheHeaders(t *testing.T) {
	if reflect.TypeFor[uintptr]().Size() != 8 {
		t.Skip("the sizes are those of 64-bit systems")
	}
	text := header(t)
	table := reflect.TypeFor[Table]()
	for i := range table.NumField() {
		f := table.Field(i)
		name := dl.SymbolNames(f)[0]
		if want := "MPI_" + strings.ToLower(f.Name); strings.ReplaceAll(strings.ToLower(name), "_", "") !=
			strings.ReplaceAll(strings.ToLower(want), "_", "") {
			t.Errorf("field %s holds %s", f.Name, name)
		}
		m := regexp.MustCompile(`(?s)\bint\s+` + name + `\((.*?)\)`).FindStringSubmatch(text)
		if m == nil {
			t.Errorf("%s is not in the header", name)
			continue
		}
		var params []string
		if m[1] != "void" {
			params = strings.Split(m[1], ",")
		}
		if len(params) != f.Type.NumIn() {
			t.Errorf("%s has %d parameters, not %d", name, len(params), f.Type.NumIn())
			continue
		}
		for j, p := range params {
			want := uintptr(8)
			if regexp.MustCompile(`^\s*int\s+\w+\s*$`).MatchString(p) {
				want = 4
			}
			if got := f.Type.In(j).Size(); got != want {
				t.Errorf("%s: parameter %d, %s, has %d bytes, not %d", name, j, strings.TrimSpace(p), want, got)
			}
		}
		if f.Type.NumOut() != 1 || f.Type.Out(0).Kind() != reflect.Int32 {
			t.Errorf("%s does not return a status", name)
		}
	}
}

// clean unsets what launchers set.
func clean(t *testing.T) {
	for _, env := range []string{
		EnvLibrary, "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_SIZE", "PMI_RANK", "SLURM_STEP_NUM_TASKS",
		"SLURM_PROCID",
	} {
		t.Setenv(env, "")
	}
}

func TestLibraries(t *testing.T) {
	clean(t)
	t.Setenv(EnvLibrary, "/opt/mpi/libmpi.so")
	if got := libraries(); !slices.Equal(got, []string{"/opt/mpi/libmpi.so"}) {
		t.Errorf("%s is set, and the candidates are %v", EnvLibrary, got)
	}
	t.Setenv(EnvLibrary, "")
	if len(libraries()) == 0 {
		t.Error("no candidate")
	}
}

// The launcher says which library comes first, and how many processes there are.
func TestLauncher(t *testing.T) {
	clean(t)
	first := func(f family) bool { return runtime.GOOS != "linux" || libraries()[0] == f[0] }
	if !first(familyOpenMPI) || Launched() != 0 || LaunchedAs() != 0 {
		t.Errorf("a launcher without one: %q, %d, %d", libraries(), Launched(), LaunchedAs())
	}
	t.Setenv("PMI_SIZE", "3")
	t.Setenv("PMI_RANK", "2")
	if !first(familyMPICH) || Launched() != 3 || LaunchedAs() != 2 {
		t.Errorf("mpich: %q, %d, %d", libraries(), Launched(), LaunchedAs())
	}
	t.Setenv("OMPI_COMM_WORLD_SIZE", "4")
	t.Setenv("OMPI_COMM_WORLD_RANK", "1")
	if !first(familyOpenMPI) || Launched() != 4 || LaunchedAs() != 1 {
		t.Errorf("openmpi: %q, %d, %d", libraries(), Launched(), LaunchedAs())
	}
}

// A library that is missing, or is not MPI's, is an error with a remedy.
func TestLoadFails(t *testing.T) {
	clean(t)
	for _, c := range []struct{ name, want string }{
		{"/no/such/libmpi.so", "/no/such/libmpi.so"},
		{"libmpi-of-nobody.so.1", EnvLibrary + " names it"},
		{"./libmpi.so", "absolute path"},
		{"libc.so.6", "is no MPI library"},
		{"libc.so.6", "MPI_Init_thread"},
	} {
		if _, err := dl.Open("libc.so.6"); err != nil && c.name == "libc.so.6" {
			continue
		}
		t.Setenv(EnvLibrary, c.name)
		if _, err := Load(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// What a library calls itself decides about the binary interface, and a stranger is refused.
func TestABI(t *testing.T) {
	clean(t)
	const intel, cray = "Intel(R) MPI Library 2021.19 for Linux* OS", "CRAY MPICH version 8.1.28 (ANL base 3.4a2)"
	for _, c := range []struct {
		name, text, version string
		abi                 *ABI
	}{
		{"libmpi.so.12", "MPICH Version:      4.0.2\nMPICH Release date: x\n\x00", "MPICH Version: 4.0.2", &mpich},
		{"/m/libmpi.so.12", intel + "\n", intel, &mpich},
		{"libmpi_cray.so.12", "MPI VERSION    : " + cray + "\n", "MPI VERSION : " + cray, &mpich},
		{"/m/libmpi_abi.so.1", "MPICH Version:      5.0.2\n", "MPICH Version: 5.0.2", &standard},
		{"libmpi.so.1", "Other MPI 1.0", "Other MPI 1.0", nil},
	} {
		l := &Library{Name: c.name, Version: shortVersion(c.text)}
		err := l.setABI()
		if l.Version != c.version {
			t.Errorf("%q is shown as %q, not %q", c.text, l.Version, c.version)
		}
		switch {
		case c.abi == nil && (err == nil || !strings.Contains(err.Error(), "is not known")):
			t.Errorf("%s, %s: %v", c.name, c.version, err)
		case c.abi != nil && (err != nil || l.ABI != *c.abi):
			t.Errorf("%s, %s: %+v, %v", c.name, c.version, l.ABI, err)
		}
	}
	if got := shortVersion("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"); got != "Open MPI v4.1.4" {
		t.Errorf("Open MPI is shown as %q", got)
	}
}

// A library that fails to say what it is.
func TestVersionFails(t *testing.T) {
	l := &Library{Table: &Table{GetLibraryVersion: func(*byte, *int32) int32 { return 16 }}}
	if _, err := l.version(); err == nil || !strings.Contains(err.Error(), "code 16") {
		t.Error(err)
	}
	l.GetLibraryVersion = func(_ *byte, n *int32) int32 { *n = maxVersion + 1; return 0 }
	if _, err := l.version(); err == nil {
		t.Error("a version longer than its memory was taken")
	}
}

// What the machine has loads, and tells its version.
func TestLoad(t *testing.T) {
	clean(t)
	for _, names := range [][]string{familyOpenMPI, familyMPICH, familyABI} {
		for _, name := range names {
			t.Setenv(EnvLibrary, name)
			l, err := Load()
			if err != nil && strings.Contains(err.Error(), "no library could be loaded") {
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			t.Log(l)
			if l.Version == "" || l.World == 0 || l.Byte == 0 || !strings.Contains(l.String(), l.Name) {
				t.Errorf("%s: %+v", l, l.ABI)
			}
		}
	}
}
