package ptxtest

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// PTXAS is the path of the real assembler: the file that TANDEM_PTXAS names, or that in PATH, or
// that of the package nvidia-cuda-nvcc that make keeps in the user's cache folder. Without it,
// PTXAS ends the test.
func PTXAS(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("TANDEM_PTXAS"); path != "" {
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("TANDEM_PTXAS: %v", err)
		}
		return path
	}
	if path, err := exec.LookPath("ptxas"); err == nil {
		return path
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		Missing(t, "ptxas", err.Error())
	}
	pattern := filepath.Join(cache, "tandem-test", "nvidia-cuda-nvcc-*", "nvidia", "cu*", "bin", "ptxas")
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		Missing(t, "ptxas", "no ptxas in PATH or at "+pattern+": set TANDEM_PTXAS, or run make setup")
	}
	return paths[len(paths)-1]
}

// Assembler is a ptxas and the architectures to assemble for.
type Assembler struct {
	Path    string
	Version string
	Archs   []int // 75, 80, 90 for sm_75, sm_80, sm_90, and the newest that it knows
}

var (
	release   = regexp.MustCompile(`release [\d.]+, V([\d.]+)`)
	realArchs = regexp.MustCompile(`'sm_(\d+)'`)
	resources = regexp.MustCompile(
		`entry function '(\w+)' for '\w+'[^']*?(\d+) bytes stack frame, ` +
			`(\d+) bytes spill stores, (\d+) bytes spill loads` +
			`[^']*?Used (\d+) registers(?:[^'\n]*? (\d+) bytes smem)?`)
)

// NewAssembler asks ptxas what it is.
func NewAssembler(t *testing.T) *Assembler {
	t.Helper()
	a := &Assembler{Path: PTXAS(t)}
	ask := func(flag string) string {
		out, err := exec.Command(a.Path, flag).Output()
		if err != nil {
			t.Fatalf("%s %s: %v", a.Path, flag, err)
		}
		return string(out)
	}
	version := release.FindStringSubmatch(ask("--version"))
	if version == nil {
		t.Fatalf("%s does not say its version", a.Path)
	}
	newest := 0
	for _, m := range realArchs.FindAllStringSubmatch(ask("--help"), -1) {
		n, _ := strconv.Atoi(m[1])
		newest = max(newest, n)
	}
	a.Version, a.Archs = version[1], []int{75, 80, 90, newest}
	return a
}

// Resources is what a kernel takes of a GPU.
type Resources struct {
	Registers int // of a work-item
	Shared    int // bytes of a group
}

// Assemble assembles PTX for arch and returns what each kernel takes. A kernel that spills, or has
// a stack, is an error, and so is any warning.
func (a *Assembler) Assemble(ptx []byte, arch int) (map[string]Resources, error) {
	dir, err := os.MkdirTemp("", "ptxtest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "kernel.ptx")
	if err := os.WriteFile(file, ptx, 0o644); err != nil {
		return nil, err
	}
	cmd := exec.Command(a.Path, "--verbose", "--warning-as-error", "--gpu-name", fmt.Sprint("sm_", arch),
		"--output-file", os.DevNull, file)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("ptxas %s for sm_%d: %w\n%s", a.Version, arch, err, out)
	}
	found, err := parseResources(string(out))
	if err != nil {
		return nil, fmt.Errorf("ptxas %s for sm_%d: %w", a.Version, arch, err)
	}
	return found, nil
}

// parseResources reads what ptxas says of each kernel.
func parseResources(out string) (map[string]Resources, error) {
	found := map[string]Resources{}
	for _, m := range resources.FindAllStringSubmatch(out, -1) {
		if m[2] != "0" || m[3] != "0" || m[4] != "0" {
			return nil, fmt.Errorf("%s has a stack of %s bytes, and spills: %s bytes of stores, %s of loads",
				m[1], m[2], m[3], m[4])
		}
		registers, _ := strconv.Atoi(m[5]) // digits, by the expression
		shared, _ := strconv.Atoi(cmp.Or(m[6], "0"))
		found[m[1]] = Resources{registers, shared}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("it says nothing of any kernel:\n%s", out)
	}
	return found, nil
}

// A PTX makes the PTX for a GPU of an architecture, of all that Of has, or nil where there is none
// for it.
type PTX struct {
	Make func(arch int) ([]byte, error)
	Of   []any
}

// Table assembles all PTX for all architectures, but what committed has, and returns a table of
// what the kernels take, one line each. What Assemble refuses fails t.
func (a *Assembler) Table(t *testing.T, makers map[string]PTX, committed *Committed) string {
	names := slices.Sorted(maps.Keys(makers))
	rows := make([]string, len(names))
	t.Run("assemble", func(t *testing.T) {
		for i, name := range names {
			key := Key(name, a.Archs, makers[name].Of)
			if rows[i] = committed.Lines(key); rows[i] != "" {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				rows[i] = a.rows(t, name, key, makers[name])
			})
		}
	})
	head := "Registers of a work-item on each GPU, in eights as GPUs allot them, and bytes of shared memory " +
		"of a group. No kernel spills registers or has a stack.\n\n" +
		fmt.Sprintf("%-42s %-15s %7s", "PTX", "kernel", "shared")
	for _, arch := range a.Archs {
		head += fmt.Sprintf(" %6s", fmt.Sprint("sm_", arch))
	}
	return head + " key\n" + strings.Join(rows, "")
}

// rows is the lines of the table for one PTX.
func (a *Assembler) rows(t *testing.T, name, key string, ptx PTX) string {
	registers, shared, before := map[string]string{}, map[string]int{}, ""
	for _, arch := range a.Archs {
		text, err := ptx.Make(arch)
		if err != nil {
			t.Fatal(err)
		}
		if text == nil {
			before += fmt.Sprintf(" %6s", "-")
			continue
		}
		found, err := a.Assemble(text, arch)
		if err != nil {
			t.Error(err)
			continue
		}
		for kernel, r := range found {
			known := registers[kernel] != ""
			if !known {
				registers[kernel] = before
			}
			registers[kernel] += fmt.Sprintf(" %6d", (r.Registers+7)/8*8)
			if known && shared[kernel] != r.Shared {
				t.Errorf("kernel %s takes %d bytes of shared memory on sm_%d, and not on others",
					kernel, r.Shared, arch)
			}
			shared[kernel] = r.Shared
		}
	}
	var lines strings.Builder
	for _, kernel := range slices.Sorted(maps.Keys(registers)) {
		fmt.Fprintf(&lines, "%-42s %-15s %7d%s %s\n", name, kernel, shared[kernel], registers[kernel], key)
	}
	return lines.String()
}
