// Package amdtest has tests alone: of what AMD's compilers make of the kernels. It is apart from
// the tests that run kernels, as AMD's compiler and PoCL would share LLVM in one process.
package amdtest

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/ptxgen/ptxtest"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/kernels/tuning"
)

//go:generate go test -count=1 -run ^Test(Clang|Comgr)$ . -update

var update = flag.Bool("update", false, "rewrite testdata")

// A compiler makes assembly for an AMD GPU of a kernel's text, as the driver for OpenCL writes it.
type compiler struct {
	tool    string // as TANDEM_REQUIRE names it
	version string
	archs   []string
	types   []element.Type
	compile func(dir, text, arch string) (assembly string, err error)
}

func TestClang(t *testing.T) {
	t.Parallel()
	version, err := exec.Command("clang-19", "--version").Output()
	if err != nil {
		ptxtest.Missing(t, "clang", fmt.Sprintf("%v: install Debian's package clang-19, or run make setup", err))
	}
	c := &compiler{
		tool: "clang", types: element.Types(),
		archs: []string{"gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1100"},
	}
	c.version = regexp.MustCompile(`clang version [\d.]+`).FindString(string(version))
	c.compile = func(dir, text, arch string) (string, error) {
		in, out := filepath.Join(dir, "kernel.cl"), filepath.Join(dir, "kernel.s")
		if err := os.WriteFile(in, []byte(text), 0o644); err != nil {
			return "", err
		}
		log, err := exec.Command("clang-19", "-x", "cl", "-cl-std=CL1.2", "-O3", "-ffp-contract=off", "-Wall",
			"-Wextra", "-Werror", "--target=amdgcn-amd-amdhsa", "-mcpu="+arch, "-nogpulib", "-S",
			"-include", "prelude_amdgcn.h", "-o", out, in).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("%w\n%s", err, log)
		}
		assembly, err := os.ReadFile(out)
		return string(assembly), err
	}
	if testing.Short() {
		c.archs = []string{"gfx90a"}
	}
	c.check(t)
}

// AMD's own compiler, which AMD's OpenCL compiles with, and its device libraries. int32 takes time
// and tells nothing that clang does not.
func TestComgr(t *testing.T) {
	if testing.Short() {
		t.Skip("a quarter of a minute in AMD's compiler; left out by -short")
	}
	t.Parallel()
	g, err := openComgr()
	if err != nil {
		ptxtest.Missing(t, "comgr", fmt.Sprintf("%v: run make setup", err))
	}
	var one sync.Mutex // LLVM's options are the process's
	c := &compiler{
		tool: "comgr", version: "comgr " + g.version(), types: []element.Type{element.Float32, element.Float64},
		archs: []string{"gfx900", "gfx90a", "gfx1030"},
	}
	c.compile = func(_, text, arch string) (string, error) {
		one.Lock()
		defer one.Unlock()
		return g.assembly(text, arch)
	}
	c.check(t)

	// What has no float mode for subnormal numbers: the driver's probe refuses it.
	code, err := c.compile("", text(t, kernels.Add.Source(element.Float32)), "gfx803")
	if r := parse(code); err != nil || r["FloatMode"] != "192" {
		t.Errorf("gfx803 has float mode %s, want 192: %v", r["FloatMode"], err)
	}
}

// check compiles every kernel that GPUs of each architecture are offered. None may use memory for
// registers, or flush subnormal numbers; what else they take is in a table. Scalar registers may
// spill to lanes of a vector register: the product of 128x256 elements does so outside its loop.
func (c *compiler) check(t *testing.T) {
	local, registers := map[string]string{}, map[string][]string{}
	var mu sync.Mutex
	t.Run("compile", func(t *testing.T) {
		for i, arch := range c.archs {
			for _, s := range sources(&backend.Info{GPU: true, Arch: arch}, c.types) {
				name := kernels.PTXName(s)
				t.Run(arch+"/"+name, func(t *testing.T) {
					t.Parallel()
					assembly, err := c.compile(t.TempDir(), text(t, s), arch)
					if err != nil {
						t.Fatal(err)
					}
					r := parse(assembly)
					for _, want := range []struct{ name, value string }{
						{"private_segment_fixed_size", "0"},
						{"vgpr_spill_count", "0"},
						{"FloatMode", "240"}, // round to nearest, keep subnormal numbers
					} {
						if r[want.name] != want.value {
							t.Errorf("%s is %q, want %s, with %s registers", want.name, r[want.name], want.value,
								r["vgpr_count"])
						}
					}
					mu.Lock()
					defer mu.Unlock()
					if local[name] == "" {
						local[name] = r["group_segment_fixed_size"]
						registers[name] = slices.Repeat([]string{"-"}, len(c.archs))
					}
					if local[name] != r["group_segment_fixed_size"] {
						t.Errorf("%s bytes of local memory, on others %s", r["group_segment_fixed_size"], local[name])
					}
					registers[name][i] = r["vgpr_count"]
				})
			}
		}
	})
	if testing.Short() {
		return // the table has more
	}
	var table strings.Builder
	row := func(name, local string, registers []string) {
		fmt.Fprintf(&table, "%-58s %5s", name, local)
		for _, r := range registers {
			fmt.Fprintf(&table, " %7s", r)
		}
		table.WriteString("\n")
	}
	table.WriteString("Vector registers of a work-item, and bytes of local memory of a group. No kernel spills " +
		"them or uses scratch memory; the float mode is 0xF0 in all, which keeps subnormal numbers.\n\n")
	row("kernel", "local", c.archs)
	for _, name := range slices.Sorted(maps.Keys(local)) {
		row(name, local[name], registers[name])
	}
	title := "// Code generated by go generate from the kernels' text, with " + c.version + ". DO NOT EDIT."
	ptxtest.Committed(t, c.tool, "testdata/"+c.tool+".txt", title, table.String(), *update)
}

// sources is the kernels that a GPU is offered.
func sources(info *backend.Info, types []element.Type) (all []*backend.Source) {
	for _, t := range types {
		for _, o := range kernels.Elementwises() {
			all = append(all, o.Source(t))
		}
		all = append(all, kernels.MatMulNaive(t), kernels.MatMulTiled(t), kernels.TransposeNaive(t))
		for _, p := range append(tuning.OfferedMatMul(info, t), tuning.ThinMatMul(info, t)...) {
			all = append(all, kernels.MatMul(t, p))
		}
		for _, p := range tuning.OfferedTranspose(info, t) {
			all = append(all, kernels.Transpose(t, p))
		}
	}
	return all
}

func text(t *testing.T, s *backend.Source) string {
	t.Helper()
	prelude, err := os.ReadFile("../../../backend/opencl/prelude.h")
	if err != nil {
		t.Fatal(err)
	}
	return driverkit.Text(string(prelude), s)
}

var facts = regexp.MustCompile(`(?m)^ +\.(group_segment_fixed_size|private_segment_fixed_size|` +
	`vgpr_spill_count|vgpr_count): +(\d+)$|^; (FloatMode): (\d+)$`)

// parse reads what the compiler says of a kernel in its assembly.
func parse(assembly string) map[string]string {
	found := map[string]string{}
	for _, m := range facts.FindAllStringSubmatch(assembly, -1) {
		found[m[1]+m[3]] = m[2] + m[4]
	}
	return found
}
