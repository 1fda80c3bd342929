package kernels

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
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

// compile compiles b for a GPU with the driver's prelude and one of this package's, with all warnings as errors, and returns the output file.
func compile(t *testing.T, b built, prelude, ext string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	text, out := filepath.Join(dir, b.src.FileName()), filepath.Join(dir, "kernel"+ext)
	if err := os.WriteFile(text, []byte(b.src.Text), 0o644); err != nil {
		t.Fatal(err)
	}
	args := slices.Concat([]string{"-x", "cl", "-cl-std=CL1.2", "-O3", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror"}, flags,
		[]string{"-include", filepath.Join("..", "backend", "opencl", "prelude.h"), "-include", prelude, "-o", out, text})
	for _, d := range b.src.Defines() {
		args = append(args, "-D"+d)
	}
	if log, err := exec.Command(need(t, "clang-19"), args...).CombinedOutput(); err != nil {
		t.Fatalf("%s does not compile: %v\n%s", b.name, err, log)
	}
	return out
}

// gpuSources is every kernel of the GPU shape; arch is the architecture that rules for AMD name, "" the default.
func gpuSources(arch string) []built {
	return everySource(
		tuned(builtin.MatMul, func(r *rule[MatMulParams]) bool { return r.Kind == "gpu" && r.Arch == arch }),
		tuned(builtin.Transpose, func(r *rule[TransposeParams]) bool { return r.Kind == "gpu" }))
}

// On AMD's GPUs no kernel spills registers or uses scratch memory.
func TestAMD(t *testing.T) {
	need(t, "clang-19")
	readelf := need(t, "llvm-readelf-19")
	numbers := regexp.MustCompile(`\.(private_segment_fixed_size|sgpr_spill_count|vgpr_spill_count|vgpr_count):\s+(\d+)`)
	archs := []string{"gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1100"}
	if testing.Short() {
		archs = archs[1:2]
	}
	for _, arch := range archs {
		for _, b := range gpuSources("gfx") {
			t.Run(arch+"/"+b.name, func(t *testing.T) {
				t.Parallel()
				object := compile(t, b, "prelude_amdgcn.h", ".o", "--target=amdgcn-amd-amdhsa", "-mcpu="+arch, "-nogpulib", "-c")
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

// In PTX no kernel keeps data in local memory, which is off the chip, calls anything, or flushes subnormals, and products and sums stay apart.
func TestPTX(t *testing.T) {
	need(t, "clang-19")
	forbidden := regexp.MustCompile(`(?m)^.*(\.local\b|\bcall\b|\.ftz\b|\.approx\b|\bmad\.(rn|f)).*$`)
	vectors := regexp.MustCompile(`ld\.global\.nc\.v[24]\.`)
	for _, b := range gpuSources("") {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			ptx, err := os.ReadFile(compile(t, b, "prelude_nvptx.h", ".ptx", "--target=nvptx64-nvidia-cuda", "-march=sm_50", "-S"))
			if err != nil {
				t.Fatal(err)
			}
			if bad := forbidden.Find(ptx); bad != nil {
				t.Errorf("PTX has %s", bad)
			}
			if !strings.Contains(string(ptx), ".entry "+b.src.Name+"(") {
				t.Errorf("PTX has no kernel %s", b.src.Name)
			}
			if product := strings.HasPrefix(b.src.Name, "matmul"); product && b.typ != Int32 && !strings.Contains(string(ptx), "fma.rn.f") {
				t.Error("a product without fma")
			} else if !product && strings.Contains(string(ptx), "fma.rn.f") {
				t.Error("an fma where there is no product")
			}
			if b.src.Name == "matmul" && !vectors.Match(ptx) {
				t.Error("matmul does not read A and B as vectors through the read-only cache")
			}
		})
	}
}
