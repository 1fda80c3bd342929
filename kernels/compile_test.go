package kernels_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/kernels/tuning"
)

// need skips a test where a program is missing, or fails it where TANDEM_REQUIRE asks for clang.
func need(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err == nil {
		return path
	}
	if slices.Contains(strings.Split(os.Getenv("TANDEM_REQUIRE"), ","), "clang") {
		t.Fatalf("TANDEM_REQUIRE asks for clang: %v", err)
	}
	t.Skipf("%v: install Debian's packages clang-19 and llvm-19, or run make setup", err)
	return ""
}

// compile compiles b for a GPU with the driver's prelude and one of this package's, with all
// warnings as errors, and returns the output file.
func compile(t *testing.T, b built, prelude, ext string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	text, out := filepath.Join(dir, b.src.FileName()), filepath.Join(dir, "kernel"+ext)
	if err := os.WriteFile(text, []byte(b.src.Text), 0o644); err != nil {
		t.Fatal(err)
	}
	args := slices.Concat([]string{
		"-x", "cl", "-cl-std=CL1.2", "-O3", "-ffp-contract=off", "-Wall", "-Wextra",
		"-Werror",
	}, flags,
		[]string{
			"-include", filepath.Join("..", "backend", "opencl", "prelude.h"), "-include", prelude, "-o", out,
			text,
		})
	for _, d := range b.src.Defines() {
		args = append(args, "-D"+d)
	}
	if log, err := exec.Command(need(t, "clang-19"), args...).CombinedOutput(); err != nil {
		t.Fatalf("%s does not compile: %v\n%s", b.name, err, log)
	}
	return out
}

// gpuSources is every kernel as GPUs of an architecture get it.
func gpuSources(arch string) []built {
	info := &backend.Info{GPU: true, Arch: arch}
	return everySource(
		func(t kernels.Type) []kernels.MatMulParams {
			return append(tuning.OfferedMatMul(info, t), tuning.ThinMatMul(info, t)...)
		},
		func(t kernels.Type) []kernels.TransposeParams { return tuning.OfferedTranspose(info, t) })
}

// On AMD's GPUs no kernel spills registers or uses scratch memory.
func TestAMD(t *testing.T) {
	need(t, "clang-19")
	readelf := need(t, "llvm-readelf-19")
	numbers := regexp.MustCompile(
		`\.(private_segment_fixed_size|sgpr_spill_count|vgpr_spill_count|vgpr_count):\s+(\d+)`)
	archs := []string{"gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1100"}
	if testing.Short() {
		archs = archs[1:2]
	}
	for _, arch := range archs {
		for _, b := range gpuSources("gfx") {
			t.Run(arch+"/"+b.name, func(t *testing.T) {
				t.Parallel()
				object := compile(t, b, "prelude_amdgcn.h", ".o", "--target=amdgcn-amd-amdhsa", "-mcpu="+arch,
					"-nogpulib", "-c")
				notes, err := exec.Command(readelf, "--notes", object).Output()
				if err != nil {
					t.Fatal(err)
				}
				found := map[string]string{}
				for _, m := range numbers.FindAllStringSubmatch(string(notes), -1) {
					found[m[1]] = m[2]
				}
				if len(found) != 4 {
					t.Fatalf("the notes name only %v:\n%s", found, notes)
				}
				for _, name := range []string{"private_segment_fixed_size", "sgpr_spill_count", "vgpr_spill_count"} {
					if found[name] != "0" {
						t.Errorf("%s is %s, with %s registers", name, found[name], found["vgpr_count"])
					}
				}
			})
		}
	}
}
