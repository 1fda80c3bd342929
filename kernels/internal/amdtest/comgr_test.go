package amdtest

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/tandem-gpu/tandem/backend/driverkit/dl"
)

// A handle is a struct of one uint64 in C, which is passed as that.
type handle uint64

// comgr is AMD's Code Object Manager 2. Results are its status codes.
type comgr struct {
	GetVersion   func(major, minor *uint64)                             `sym:"amd_comgr_get_version"`
	CreateData   func(kind int32, d *handle) int32                      `sym:"amd_comgr_create_data"`
	ReleaseData  func(d handle) int32                                   `sym:"amd_comgr_release_data"`
	SetData      func(d handle, n uint64, bytes string) int32           `sym:"amd_comgr_set_data"`
	SetName      func(d handle, name string) int32                      `sym:"amd_comgr_set_data_name"`
	GetData      func(d handle, n *uint64, bytes *byte) int32           `sym:"amd_comgr_get_data"`
	CreateSet    func(s *handle) int32                                  `sym:"amd_comgr_create_data_set"`
	DestroySet   func(s handle) int32                                   `sym:"amd_comgr_destroy_data_set"`
	Add          func(s, d handle) int32                                `sym:"amd_comgr_data_set_add"`
	Get          func(s handle, kind int32, i uint64, d *handle) int32  `sym:"amd_comgr_action_data_get_data"`
	CreateAction func(a *handle) int32                                  `sym:"amd_comgr_create_action_info"`
	SetGPU       func(a handle, name string) int32                      `sym:"amd_comgr_action_info_set_isa_name"`
	SetLanguage  func(a handle, language int32) int32                   `sym:"amd_comgr_action_info_set_language"`
	SetOptions   func(a handle, options **byte, n uint64) int32         `sym:"amd_comgr_action_info_set_option_list"`
	SetLogging   func(a handle, on bool) int32                          `sym:"amd_comgr_action_info_set_logging"`
	Do           func(kind int32, a handle, input, result handle) int32 `sym:"amd_comgr_do_action"`
}

// Values of its enumerations.
const (
	dataText, dataLog                                   = 1, 5
	languageCL12                                        = 1
	actionAddHeaders, actionCompile, actionMakeAssembly = 1, 15, 7
)

// openComgr loads the library: the system's, or that of make setup.
func openComgr() (*comgr, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	const name = "libamd_comgr.so.2"
	ours, err := filepath.Glob(filepath.Join(cache, "tandem-test", "libamd-comgr2", "usr", "lib", "*", name))
	if err != nil {
		return nil, err
	}
	lib, err := dl.Open(append(ours, name)...)
	if err != nil {
		return nil, err
	}
	g := new(comgr)
	return g, dl.Bind(lib, g)
}

func (g *comgr) version() string {
	var major, minor uint64
	g.GetVersion(&major, &minor)
	return fmt.Sprintf("%d.%d", major, minor)
}

// assembly is what AMD's OpenCL makes of a kernel's text, but for the last step, the assembler.
func (g *comgr) assembly(text, arch, option string) (string, error) {
	var err error
	try := func(what string, status int32) {
		if status != 0 && err == nil {
			err = fmt.Errorf("comgr: %s: status %d", what, status)
		}
	}
	var d, action handle
	var sets [4]handle // the text, with AMD's headers, LLVM's code, assembly
	for i := range sets {
		try("create_data_set", g.CreateSet(&sets[i]))
		defer g.DestroySet(sets[i])
	}
	try("create_data", g.CreateData(dataText, &d))
	try("set_data", g.SetData(d, uint64(len(text)), text))
	try("set_data_name", g.SetName(d, "kernel.cl"))
	try("data_set_add", g.Add(sets[0], d))
	g.ReleaseData(d)
	try("create_action_info", g.CreateAction(&action))
	try("set_isa_name", g.SetGPU(action, "amdgcn-amd-amdhsa--"+arch))
	try("set_language", g.SetLanguage(action, languageCL12))
	options := append([]byte(option), 0)
	first := &options[0]
	try("set_option_list", g.SetOptions(action, &first, 1))
	try("set_logging", g.SetLogging(action, true))
	for i, kind := range []int32{actionAddHeaders, actionCompile, actionMakeAssembly} {
		if err != nil {
			return "", err
		}
		try(fmt.Sprintf("action %d", kind), g.Do(kind, action, sets[i], sets[i+1]))
		if err != nil {
			return "", fmt.Errorf("%w\n%s", err, g.first(sets[i+1], dataLog))
		}
	}
	return g.first(sets[3], dataText), nil
}

// first is the first piece of data of a kind in a set, "" without one.
func (g *comgr) first(set handle, kind int32) string {
	var d handle
	var n uint64
	if g.Get(set, kind, 0, &d) != 0 || g.GetData(d, &n, nil) != 0 || n == 0 {
		return ""
	}
	defer g.ReleaseData(d)
	b := make([]byte, n)
	g.GetData(d, &n, &b[0])
	return string(b)
}
