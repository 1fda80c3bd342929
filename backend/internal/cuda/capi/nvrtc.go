package capi

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tandem-gpu/tandem/backend/driverkit/dl"
)

// EnvNVRTC names the environment variable that chooses the NVRTC library: a file, or a folder that
// holds it, such as pip's --target. Where it is set, no other is tried.
const EnvNVRTC = "TANDEM_NVRTC"

// Program is nvrtcProgram.
type Program uintptr

// NVRTC holds the functions of the compiler. Results are its status codes.
type NVRTC struct {
	Version       func(major, minor *int32) int32 `sym:"nvrtcVersion"`
	GetNumArchs   func(n *int32) int32            `sym:"nvrtcGetNumSupportedArchs"`
	GetArchs      func(archs *int32) int32        `sym:"nvrtcGetSupportedArchs"`
	CreateProgram func(p *Program, text, name *byte, n int32, headers,
		names **byte) int32 `sym:"nvrtcCreateProgram"`
	DestroyProgram func(p *Program) int32 `sym:"nvrtcDestroyProgram"`
	CompileProgram func(p Program, n int32,
		options **byte) int32 `sym:"nvrtcCompileProgram"`
	GetProgramLogSize func(p Program,
		n *uintptr) int32 `sym:"nvrtcGetProgramLogSize"`
	GetProgramLog func(p Program,
		log *byte) int32 `sym:"nvrtcGetProgramLog"`
	GetPTXSize func(p Program, n *uintptr) int32 `sym:"nvrtcGetPTXSize"`
	GetPTX     func(p Program, ptx *byte) int32  `sym:"nvrtcGetPTX"`
}

// NVRTCOutOfMemory is NVRTC's status code of a lack of memory.
const NVRTCOutOfMemory int32 = 1

var nvrtcNames = []string{
	"NVRTC_SUCCESS", "NVRTC_ERROR_OUT_OF_MEMORY", "NVRTC_ERROR_PROGRAM_CREATION_FAILURE", "NVRTC_ERROR_INVALID_INPUT",
	"NVRTC_ERROR_INVALID_PROGRAM", "NVRTC_ERROR_INVALID_OPTION", "NVRTC_ERROR_COMPILATION",
	"NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
	"NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION", "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
	"NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID", "NVRTC_ERROR_INTERNAL_ERROR", "NVRTC_ERROR_TIME_FILE_WRITE_FAILED",
	"NVRTC_ERROR_NO_PCH_CREATE_ATTEMPTED", "NVRTC_ERROR_PCH_CREATE_HEAP_EXHAUSTED", "NVRTC_ERROR_PCH_CREATE",
	"NVRTC_ERROR_CANCELLED",
	"NVRTC_ERROR_TIME_TRACE_FILE_WRITE_FAILED", "NVRTC_ERROR_BUSY",
}

// NVRTCName is the name of one of NVRTC's status codes, and "" for a code that has none.
func NVRTCName(code int32) string {
	if code < 0 || int(code) >= len(nvrtcNames) {
		return ""
	}
	return nvrtcNames[code]
}

// A Compiler is a table of NVRTC that is in use, as an API is one of the driver.
type Compiler = atomic.Pointer[NVRTC]

var (
	compiler   Compiler
	compilerMu sync.Mutex
)

// LoadNVRTC loads NVRTC, unless it is loaded already. driver is the CUDA version of the driver, as
// cuDriverGetVersion has it: an older driver takes no PTX of a newer NVRTC, so that the NVRTC of
// the driver's own major version is tried first. Zero is any. The error names everything that was
// tried; the next call tries again.
func LoadNVRTC(driver int) (*Compiler, error) {
	compilerMu.Lock()
	defer compilerMu.Unlock()
	if compiler.Load() != nil {
		return &compiler, nil
	}
	lib, err := openNVRTC(nvrtcFiles(driver))
	if err != nil {
		return nil, err
	}
	t := new(NVRTC)
	if err := dl.Bind(lib, t); err != nil {
		return nil, fmt.Errorf("%s is no NVRTC of CUDA 11.2 or later: %w", lib.Name(), err)
	}
	compiler.Store(t)
	return &compiler, nil
}

// nvrtcFiles lists the file names of NVRTC, that of the driver's version first.
func nvrtcFiles(driver int) []string {
	files := []string{"libnvrtc.so.13", "libnvrtc.so.12"}
	if runtime.GOOS == "windows" {
		files = []string{"nvrtc64_130_0.dll", "nvrtc64_120_0.dll"}
	}
	if driver > 0 && driver < 13000 {
		files[0], files[1] = files[1], files[0]
	}
	return files
}

// openNVRTC opens the first of the files that can be: as the system finds it, in the CUDA toolkit,
// in the packages of pip.
func openNVRTC(files []string) (*dl.Library, error) {
	folders, names := toolkitFolders(), files
	for _, site := range siteFolders() {
		folders = append(folders, wheelFolders(site)...)
	}
	if chosen := os.Getenv(EnvNVRTC); chosen != "" {
		if info, err := os.Stat(chosen); err != nil || !info.IsDir() {
			return dl.Open(chosen)
		}
		folders, names = append([]string{chosen}, wheelFolders(chosen)...), nil
	}
	for _, f := range files {
		for _, dir := range folders {
			if name := filepath.Join(dir, f); exists(name) {
				names = append(names, name)
			}
		}
	}
	missing := fmt.Errorf("no NVRTC could be loaded: %s not found in %s", strings.Join(files, " or "),
		strings.Join(folders, ", "))
	if len(names) == 0 {
		return nil, missing
	}
	lib, err := dl.Open(names...)
	if err != nil {
		return nil, fmt.Errorf("%w; %w", missing, err)
	}
	return lib, nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// toolkitFolders is where the CUDA toolkit keeps its libraries.
func toolkitFolders() []string {
	below := []string{"lib64"}
	if runtime.GOOS == "windows" {
		below = []string{`bin\x64`, "bin"}
	}
	var folders []string
	for _, root := range []string{os.Getenv("CUDA_PATH"), os.Getenv("CUDA_HOME"), "/usr/local/cuda"} {
		if filepath.IsAbs(root) {
			for _, b := range below {
				folders = append(folders, filepath.Join(root, b))
			}
		}
	}
	return folders
}

// siteFolders is where Python keeps packages: of the active environment, of the user, of the
// system. A pattern without a folder stays in the list, so that messages show it.
func siteFolders() []string {
	home, _ := os.UserHomeDir()
	below := "lib/python3*/site-packages"
	if runtime.GOOS == "windows" {
		below = `Lib\site-packages`
	}
	var folders []string
	add := func(pattern string) {
		found, _ := filepath.Glob(pattern)
		if len(found) == 0 {
			found = []string{pattern}
		}
		folders = append(folders, found...)
	}
	for _, root := range []string{
		os.Getenv("VIRTUAL_ENV"), os.Getenv("CONDA_PREFIX"), filepath.Join(home, ".local"),
		"/usr/local", "/usr",
	} {
		if filepath.IsAbs(root) {
			add(filepath.Join(root, below))
		}
		if strings.HasPrefix(root, "/usr") {
			add(filepath.Join(root, "lib/python3*/dist-packages"))
		}
	}
	return folders
}

// wheelFolders is where the packages nvidia-cuda-nvrtc and nvidia-cuda-nvrtc-cu12 put the library
// below a folder of packages.
func wheelFolders(site string) []string {
	if runtime.GOOS == "windows" {
		return []string{filepath.Join(site, `nvidia\cu13\bin\x86_64`), filepath.Join(site, `nvidia\cuda_nvrtc\bin`)}
	}
	return []string{filepath.Join(site, "nvidia/cu13/lib"), filepath.Join(site, "nvidia/cuda_nvrtc/lib")}
}
