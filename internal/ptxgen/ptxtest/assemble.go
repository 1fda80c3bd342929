package ptxtest

import (
	"bytes"
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

// Assemble assembles all PTX files in dir and returns a table of what their kernels take. It needs
// ptxas.
func Assemble(t *testing.T, dir string) string {
	a := NewAssembler(t)
	files, err := filepath.Glob(filepath.Join(dir, "*.ptx"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no PTX in %s: %v", dir, err)
	}
	makers := map[string]PTX{}
	for _, file := range files {
		makers[strings.TrimSuffix(filepath.Base(file), ".ptx")] = func(int) ([]byte, error) { return os.ReadFile(file) }
	}
	return a.Table(t, makers)
}

// PTX makes the PTX for a GPU of an architecture.
type PTX func(arch int) ([]byte, error)

// Table assembles all PTX for all architectures and returns a table of what the kernels take, one
// line each. What Assemble refuses fails t.
func (a *Assembler) Table(t *testing.T, makers map[string]PTX) string {
	names := slices.Sorted(maps.Keys(makers))
	rows := make([]string, len(names))
	t.Run("assemble", func(t *testing.T) {
		for i, name := range names {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				rows[i] = a.rows(t, name, makers[name])
			})
		}
	})
	head := "Registers of a work-item on each GPU, in eights as GPUs allot them, and bytes of shared memory " +
		"of a group. No kernel spills registers or has a stack.\n\n" +
		fmt.Sprintf("%-42s %-15s %7s", "PTX", "kernel", "shared")
	for _, arch := range a.Archs {
		head += fmt.Sprintf(" %6s", fmt.Sprint("sm_", arch))
	}
	return head + "\n" + strings.Join(rows, "")
}

// rows is the lines of the table for one PTX.
func (a *Assembler) rows(t *testing.T, name string, ptx PTX) string {
	registers, shared := map[string]string{}, map[string]int{}
	for i, arch := range a.Archs {
		text, err := ptx(arch)
		if err != nil {
			t.Fatal(err)
		}
		found, err := a.Assemble(text, arch)
		if err != nil {
			t.Error(err)
			continue
		}
		for kernel, r := range found {
			registers[kernel] += fmt.Sprintf(" %6d", (r.Registers+7)/8*8)
			if i > 0 && shared[kernel] != r.Shared {
				t.Errorf("kernel %s takes %d bytes of shared memory on sm_%d, and not on others",
					kernel, r.Shared, arch)
			}
			shared[kernel] = r.Shared
		}
	}
	var lines strings.Builder
	for _, kernel := range slices.Sorted(maps.Keys(registers)) {
		fmt.Fprintf(&lines, "%-42s %-15s %7d%s\n", name, kernel, shared[kernel], registers[kernel])
	}
	return lines.String()
}

// Committed compares a table with the one in file, whose first line is title, which names the
// tools; update writes it instead where they differ. The numbers of other tools are others: then
// the test is skipped, or fails where TANDEM_REQUIRE asks for tool, so that the tools and the file
// change together.
func Committed(t *testing.T, tool, file, title, table string, update bool) {
	t.Helper()
	got, err := os.ReadFile(file)
	if err != nil && !update {
		t.Fatal(err)
	}
	got = bytes.ReplaceAll(got, []byte("\r\n"), []byte("\n")) // a checkout on Windows
	first, committed, _ := strings.Cut(string(got), "\n")
	diff := changed(committed, table)
	if update && !t.Failed() && (first != title || diff != "") {
		if err := os.WriteFile(file, []byte(title+"\n"+table), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if first != title {
		Missing(t, tool, fmt.Sprintf(
			"%s is by other tools: it begins with %q, and these are %q; run make generate", file, first, title))
	}
	if diff != "" {
		t.Errorf("the kernels take other resources than %s says; run make generate, "+
			"and see by git diff whether they may:\n%s", file, diff)
	}
}

// changed is the lines of either table that have no line like them in the other.
func changed(old, now string) string {
	var b strings.Builder
	for _, side := range []struct{ mark, text, other string }{{"-", old, now}, {"+", now, old}} {
		others := strings.Split(side.other, "\n")
		for _, line := range strings.Split(side.text, "\n") {
			if !slices.ContainsFunc(others, func(other string) bool { return alike(line, other) }) {
				b.WriteString(side.mark + line + "\n")
			}
		}
	}
	return b.String()
}

// sharedColumn is the last column of the table before those of registers.
const sharedColumn = 2

// alike reports whether two lines of tables say the same, but for one allotment of registers on a
// GPU. NVIDIA's compilers do not decide alike on every machine: the same versions have made 64
// registers and 72 of one kernel.
func alike(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i] == y[i] {
			continue
		}
		m, err1 := strconv.Atoi(x[i])
		n, err2 := strconv.Atoi(y[i])
		if i <= sharedColumn || err1 != nil || err2 != nil || max(m-n, n-m) > 8 {
			return false
		}
	}
	return true
}
