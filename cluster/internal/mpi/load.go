package mpi

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"github.com/tandem-gpu/tandem/backend/driverkit/dl"
)

// EnvLibrary names the environment variable that chooses the MPI library. Where it is set, no other
// is tried.
const EnvLibrary = "TANDEM_MPI"

// A Library is a loaded MPI library.
type Library struct {
	ABI
	*Table
	Name    string // that it was loaded by
	Version string // as it tells it itself, in one line

	lib *dl.Library // nil in tests
}

// Load loads the MPI library: the one that EnvLibrary names, or the first of those that the program
// may have been started for. The error names every library that was tried, why each failed, and
// what to do.
func Load() (*Library, error) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		return nil, errors.New("MPI on processors that store the upper byte first is not supported")
	}
	defer dl.KeepSignals()()
	lib, err := dl.OpenGlobal(libraries()...)
	if err != nil {
		return nil, fmt.Errorf("no MPI library: %w", dl.Advise(err, hint()))
	}
	l := &Library{Table: new(Table), Name: lib.Name(), lib: lib}
	if err := dl.Bind(lib, l.Table); err != nil {
		return nil, fmt.Errorf("%s is no MPI library of version 3 or later: %w; %s", lib.Name(), err, hint())
	}
	bindTest(lib, l.Table)
	if l.Version, err = l.version(); err != nil {
		return nil, fmt.Errorf("%s: %w; %s", lib.Name(), err, hint())
	}
	if err := l.setABI(); err != nil {
		return nil, err
	}
	return l, nil
}

// Start starts MPI, which takes signals too.
func (l *Library) Start() int32 {
	defer dl.KeepSignals()()
	return l.InitThread(nil, nil, l.Funneled, new(int32))
}

// bindTest makes Test, which is called again and again, the fast way, which allocates nothing.
func bindTest(lib *dl.Library, t *Table) {
	test, err := lib.Symbol("MPI_Test")
	if err != nil {
		return // Bind has found it
	}
	t.Test = func(r *Request, done *int32, status uintptr) int32 {
		code := dl.Call(test, uintptr(unsafe.Pointer(r)), uintptr(unsafe.Pointer(done)), status)
		runtime.KeepAlive(r)
		runtime.KeepAlive(done)
		return int32(code)
	}
}

// A family is the names of libraries that keep one binary interface, best first.
type family []string

var (
	familyOpenMPI = family{"libmpi.so.40"}
	familyMPICH   = family{"libmpi.so.12", "libmpich.so.12", "libmpi_cray.so.12"}
	familyABI     = family{"libmpi_abi.so.1", "libmpi_abi.so.0"}
)

// libraries lists the names to try: first those of the library whose launcher started the program.
func libraries() []string {
	if name := os.Getenv(EnvLibrary); name != "" {
		return []string{name}
	}
	switch runtime.GOOS {
	case "windows":
		return []string{"impi.dll"}
	case "darwin": // dyld takes whole paths alone: those of Homebrew
		return []string{"/opt/homebrew/lib/libmpi.40.dylib", "/opt/homebrew/lib/libmpi.12.dylib"}
	}
	order := []family{familyOpenMPI, familyMPICH, familyABI}
	if os.Getenv("OMPI_COMM_WORLD_SIZE") == "" && os.Getenv("PMI_SIZE") != "" { // MPICH's started the program
		order = []family{familyMPICH, familyABI, familyOpenMPI}
	}
	var names []string
	for _, f := range order {
		names = append(names, f...)
	}
	return names
}

// Launched is the number of processes that a launcher has started together with this one, or 0
// where it does not tell. Where MPI then knows of one process alone, launcher and library do not
// belong together.
func Launched() int { return firstNumber("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS") }

// LaunchedAs is the number of this process among those, by the launcher; 0 where it does not tell.
func LaunchedAs() int { return firstNumber("OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID") }

// firstNumber is the value of the first environment variable that holds a number, and 0 without.
func firstNumber(variables ...string) int {
	for _, v := range variables {
		if n, err := strconv.Atoi(os.Getenv(v)); err == nil {
			return n
		}
	}
	return 0
}

// hint says what to do where the library is missing, or not the right one.
func hint() string {
	if os.Getenv(EnvLibrary) != "" {
		return EnvLibrary + " names it, so no other was tried"
	}
	return "install Open MPI or MPICH (Debian: openmpi-bin, or mpich), or name the library in " + EnvLibrary
}

// maxVersion is the most that a version may take in any binary interface.
const maxVersion = 8192

// version asks the library what it is. MPI need not have been initialized.
func (l *Library) version() (string, error) {
	text, n := make([]byte, maxVersion), new(int32)
	if code := l.GetLibraryVersion(&text[0], n); code != 0 {
		return "", fmt.Errorf("MPI_Get_library_version: code %d", code)
	}
	if *n < 0 || *n > maxVersion {
		return "", fmt.Errorf("MPI_Get_library_version gives %d characters", *n)
	}
	return shortVersion(string(text[:*n])), nil
}

// shortVersion is the first line of a version, without what follows the number.
func shortVersion(text string) string {
	line, _, _ := strings.Cut(strings.TrimRight(text, "\x00"), "\n")
	line, _, _ = strings.Cut(line, ",")
	return strings.Join(strings.Fields(line), " ")
}

// descendants are the beginnings of the versions of those libraries that keep MPICH's binary
// interface.
var descendants = []string{"MPICH ", "Intel(R) MPI", "MVAPICH", "CRAY MPICH", "MPI VERSION : CRAY MPICH"}

// setABI finds out which binary interface the library has.
func (l *Library) setABI() error {
	base := filepath.Base(l.Name)
	switch {
	case strings.HasPrefix(base, "libmpi_abi."):
		l.ABI = standard
		return nil
	case strings.HasPrefix(l.Version, "Open MPI"):
		return l.setOpenMPI()
	}
	for _, d := range descendants {
		if strings.HasPrefix(l.Version, d) {
			l.ABI = mpich
			return nil
		}
	}
	return fmt.Errorf("%s calls itself %q, whose binary interface is not known: there are those of Open MPI, of "+
		"MPICH and its descendants, and of MPI 5 (libmpi_abi); %s", l.Name, l.Version, hint())
}

func (l *Library) setOpenMPI() error {
	l.ABI = openMPI
	for i, h := range []*Handle{&l.World, &l.Byte, &l.InfoNull, &l.ErrorsReturn} {
		address, err := l.lib.Symbol(openMPISymbols[i])
		if err != nil {
			return fmt.Errorf("%s: %w", l.Version, err)
		}
		*h = Handle(address)
	}
	return nil
}

// String names the library and its version.
func (l *Library) String() string { return l.Version + " (" + l.Name + ")" }
