// Package archtest holds the repository to its own rules: which package may import which, how
// generated files are marked, and that no file tells where it was built.
package archtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/tandem-gpu/tandem"

// A rule says what the files of a package may import, apart from the standard library. Packages of
// the module are named from its root. "x/..." is x and all below it.
type rule struct {
	pkg  string
	may  []string // packages of the module
	mods []string // packages of other modules
}

// rules are the arrows of the design, from the bottom up. The last rule that fits a package holds,
// and every package needs one.
var rules = []rule{
	{pkg: "element"}, // what an element type is called
	{pkg: "backend"}, // the contract imports the standard library alone
	{pkg: "internal/asmtext"},
	// generators
	{pkg: "internal/host/...", may: []string{"internal/asmtext", "internal/nativegen", "internal/ptxgen"}},
	// the bits that every device must produce
	{
		pkg: "internal/host", may: []string{"element", "internal/parallel"},
		mods: []string{"golang.org/x/sys/cpu"},
	},
	// what drivers are made of
	{pkg: "backend/driverkit", may: []string{"backend", "backend/driverkit/diskcache", "internal/host"}},
	{pkg: "backend/driverkit/diskcache", may: []string{"backend"}},
	// the only importer of purego
	{pkg: "backend/driverkit/dl/...", mods: []string{"github.com/ebitengine/purego", "golang.org/x/sys/windows"}},
	{pkg: "backend/driverkit/dl/dltest", may: []string{"backend/driverkit/dl"}},
	{pkg: "internal/tiles"},
	{pkg: "internal/hugepage", mods: []string{"golang.org/x/sys/unix"}},
	{pkg: "internal/clock", mods: []string{"golang.org/x/sys/windows"}},
	{
		pkg: "internal/parallel", may: []string{"internal/clock"},
		mods: []string{"golang.org/x/sys/unix"}, // which core one is on
	},
	{pkg: "internal/archtest"},
	{pkg: "scripts/..."},
	// for generators and tests
	{pkg: "internal/ptxgen/...", may: []string{
		"backend", "backend/driverkit", "backend/driverkit/diskcache", "internal/packed", "internal/ptxgen",
	}},
	{pkg: "internal/nativegen", may: []string{"gpu/support", "internal/packed", "internal/ptxgen"}},
	{pkg: "internal/packed"},

	// What kernels written in Go use, and what makes them into text. A program links gpu and
	// gpu/support, never the compiler.
	{pkg: "gpu", may: []string{"backend", "internal/host", "rmath", "rmath/f32"}},
	{pkg: "gpu/support", may: []string{"backend", "gpu", "internal/host"}},
	// what generated code launches with
	{pkg: "gpu/launch", may: []string{
		"backend", "kernels", "linalg", "internal/arglist", "internal/inside", "internal/strided",
	}},
	{pkg: "gpu/compile", may: []string{"gpu/compiler"}},
	{pkg: "gpu/compiler", may: []string{
		"backend", "gpu/support", "gpu/compiler/internal/...", "internal/nativegen", "internal/ptxgen",
	}},
	{pkg: "gpu/compiler/internal/front", may: []string{"gpu/compiler/internal/ir", "internal/nativegen"}},
	{pkg: "gpu/compiler/internal/ir"},
	{pkg: "gpu/compiler/internal/ctext", may: []string{"gpu/compiler/internal/ir"}},
	{pkg: "gpu/compiler/internal/gotext", may: []string{"gpu/compiler/internal/ir"}},
	{pkg: "gpu/compiler/internal/lanes", may: []string{"gpu/compiler/internal/ctext", "gpu/compiler/internal/ir"}},
	// for tests
	{pkg: "gpu/compiler/mistakes", may: []string{
		"backend", "gpu", "gpu/launch", "gpu/support", "gpu/compiler/mistakes/nativecode", "linalg",
	}},
	{pkg: "gpu/compiler/mistakes/nativecode", may: []string{"gpu/support"}},

	// Elementary functions, and their generator and proof.
	{pkg: "rmath/...", may: []string{"rmath/internal/mp"}},
	// kernels call them
	{pkg: "rmath"},
	{pkg: "rmath/f32", may: []string{"internal/parallel"}},
	{pkg: "rmath/rcmplx", may: []string{"rmath"}},

	// Exact sums, in plain Go and in kernels.
	{pkg: "exact", may: []string{"internal/superacc"}},
	{pkg: "internal/superacc"},

	// Drivers never import each other, kernels or linalg. They alone import driverkit.
	{
		pkg: "backend/cpu/...",
		may: []string{
			"backend", "backend/driverkit", "backend/driverkit/dl", "internal/clock", "internal/host",
			"internal/hugepage", "internal/parallel",
		},
		mods: []string{"golang.org/x/sys/..."},
	},
	{
		pkg:  "backend/opencl/...",
		may:  []string{"backend", "backend/driverkit/...", "backend/opencl/...", "internal/hugepage"},
		mods: []string{"golang.org/x/sys/cpu"}, // code for CPUs depends on it
	},
	// of use without the rest
	{pkg: "backend/opencl/cl", may: []string{"backend/driverkit/dl", "backend/opencl/internal/..."}},
	{
		pkg: "backend/opencl/internal/...",
		may: []string{"backend", "backend/opencl/internal/...", "backend/driverkit/dl/..."},
	},
	{pkg: "backend/cuda", may: []string{"backend", "backend/driverkit/...", "backend/internal/cuda/capi"}},
	// CUDA's functions, and the same over the simulator: cudasim is CUDA's driver over these
	{
		pkg: "backend/internal/cuda/capi/...",
		may: []string{"backend", "backend/internal/cuda/capi", "backend/driverkit/dl/..."},
	},
	{
		pkg: "backend/internal/cuda/simapi",
		may: []string{"backend/internal/cuda/capi", "backend/cudasim/ptxsim", "internal/clock"},
	},
	{pkg: "backend/cudasim", may: []string{
		"backend", "backend/cuda", "backend/cudasim/ptxsim",
		"backend/internal/cuda/...",
	}},
	{pkg: "backend/cudasim/ptxsim", may: []string{"internal/host"}},

	{
		pkg: "backend/backendtest",
		may: []string{"backend", "element", "conformance", "internal/faulttest/fault"},
	},
	{pkg: "backend/backendtest/internal/ptxgen", may: []string{"backend", "internal/ptxgen"}},
	{pkg: "kernels", may: []string{
		"backend", "element", "gpu", "gpu/support", "internal/host", "kernels/nativecode",
	}},
	{pkg: "kernels/nativecode", may: []string{"gpu/support"}}, // machine code
	{
		pkg: "internal/tuning",
		may: []string{
			"backend", "backend/driverkit/diskcache", "element", "kernels", "internal/clock", "internal/host",
		},
		mods: []string{"golang.org/x/sys/windows"}, // to lock a file
	},
	{pkg: "kernels/tuning", may: []string{"backend", "element", "kernels", "internal/tuning"}},
	{pkg: "kernels/internal/ptxgen", may: []string{"backend", "internal/tuning", "internal/ptxgen"}},
	{pkg: "kernels/internal/amdtest"}, // tests
	{pkg: "conformance", may: []string{
		"backend", "conformance/internal/functions", "element", "kernels", "internal/host", "internal/solve",
		"internal/tuning",
	}},
	{pkg: "conformance/internal/functions", may: []string{"gpu"}},
	{pkg: "conformance/arrays", may: []string{"array", "backend", "conformance", "linalg"}},

	{pkg: "internal/strided"}, // geometry
	{pkg: "internal/arglist", may: []string{"backend"}},
	{pkg: "internal/panels", may: []string{"backend", "element", "gpu", "gpu/support"}}, // of factorizations
	{pkg: "internal/solve", may: []string{"internal/host", "internal/parallel"}},        // factorizations
	{pkg: "internal/npy", may: []string{"backend", "element", "internal/host", "internal/parallel"}},
	// any operation, by its regions: it knows nothing of arrays and sessions
	{pkg: "internal/outofcore", may: []string{
		"backend", "element", "internal/npy", "internal/parallel", "internal/tiles",
	}},
	// what linalg does for packages beside it, which it fills in itself
	{pkg: "internal/inside/hooks", may: []string{"backend", "internal/outofcore", "internal/solve", "kernels"}},
	{pkg: "internal/inside", may: []string{
		"backend", "internal/inside/hooks", "internal/outofcore", "internal/solve", "internal/strided", "linalg",
	}},
	{
		pkg: "linalg",
		may: []string{
			"internal/inside/hooks",
			"backend", "element", "kernels", "internal/arglist", "internal/host", "internal/hugepage", "internal/npy",
			"internal/outofcore", "internal/panels", "internal/solve", "internal/strided", "internal/tiles",
			"internal/tuning",
		},
		mods: []string{"gonum.org/v1/gonum/..."},
	},
	{
		pkg: "linalg/files",
		may: []string{
			"backend", "element", "internal/inside/...", "internal/npy", "internal/outofcore", "kernels", "linalg",
		},
		mods: []string{"gonum.org/v1/gonum/blas"},
	},
	{
		pkg: "linalg/gonumblas",
		may: []string{
			"backend", "element", "kernels", "linalg", "internal/host", "internal/inside", "internal/solve",
			"internal/tuning",
		},
		mods: []string{"gonum.org/v1/gonum/..."},
	},
	{pkg: "linalg/batched", may: []string{
		"backend", "gpu", "gpu/launch", "gpu/support", "internal/inside", "linalg", "linalg/batched/nativecode",
	}},
	{pkg: "linalg/batched/nativecode", may: []string{"gpu/support"}},
	// what NumPy has for arrays
	{
		pkg: "array",
		may: []string{
			"array/internal/...", "array/nativecode", "backend", "element", "gpu", "gpu/launch", "gpu/support",
			"internal/inside", "internal/parallel", "kernels", "linalg", "linalg/files", "rmath", "rmath/f32",
		},
		mods: []string{"gonum.org/v1/gonum/..."},
	},
	{
		pkg: "array/np", may: []string{"array", "backend", "internal/inside", "linalg"},
		mods: []string{"gonum.org/v1/gonum/blas"},
	},
	{pkg: "array/nativecode", may: []string{"gpu/support"}},
	{pkg: "array/internal/moves", may: []string{
		"array/internal/moves/nativecode", "backend", "gpu", "gpu/launch", "gpu/support", "linalg",
	}},
	{pkg: "array/internal/moves/nativecode", may: []string{"gpu/support"}},
	{pkg: "array/internal/random", may: []string{
		"array/internal/random/nativecode", "backend", "gpu", "gpu/launch", "gpu/support", "linalg", "rmath",
		"rmath/f32",
	}},
	{pkg: "array/internal/sorting", may: []string{
		"array/internal/sorting/nativecode", "backend", "gpu", "gpu/launch", "gpu/support", "internal/inside",
		"kernels", "linalg",
	}},
	{pkg: "array/internal/sorting/nativecode", may: []string{"gpu/support"}},
	{pkg: "array/internal/random/nativecode", may: []string{"gpu/support"}},
	{pkg: "array/internal/sums", may: []string{
		"array/internal/sums/nativecode", "backend", "gpu", "gpu/launch", "gpu/support", "internal/inside",
		"internal/superacc",
		"linalg",
	}},
	{pkg: "array/internal/sums/nativecode", may: []string{"gpu/support"}},
	// MPI's functions, and matrices over them
	{pkg: "cluster/internal/mpi", may: []string{"backend/driverkit/dl"}},
	{
		pkg: "cluster",
		may: []string{
			"array", "backend", "cluster/internal/mpi", "element", "kernels", "linalg", "internal/host",
			"internal/inside", "internal/npy",
		},
		mods: []string{"gonum.org/v1/gonum/..."},
	},
	// for tests
	{pkg: "internal/racetest"},
	{pkg: "internal/mpitest", may: []string{"backend/backendtest"}},
	{pkg: "internal/model", may: []string{"backend", "backend/driverkit"}},
	{
		pkg: "internal/faulttest",
		may: []string{
			"backend", "backend/backendtest", "backend/driverkit/diskcache", "kernels", "linalg",
			"internal/faulttest/fault",
		},
		mods: []string{"gonum.org/v1/gonum/blas"},
	},
	{pkg: "internal/faulttest/fault"},

	{
		pkg: "bench/...",
		may: []string{
			"array", "backend", "element", "exact", "gpu", "kernels", "linalg/...", "backend/driverkit/dl",
			"bench/internal/measure", "internal/clock", "internal/host", "internal/inside", "internal/tuning",
		},
		mods: []string{"gonum.org/v1/gonum/...", "gonum.org/v1/plot/..."},
	},
	{
		pkg: "cmd/...",
		may: []string{
			"array", "backend", "element", "kernels", "conformance/...", "linalg/...", "bench/...", "cluster",
			"internal/clock", "internal/inside", "internal/npy", "gpu/compiler", "internal/tuning",
			"backend/driverkit/diskcache",
			"cmd/tandem/internal/...",
		},
		mods: []string{"github.com/spf13/cobra", "golang.org/x/term"},
	},
	{
		pkg: "examples/...",
		may: []string{
			"array", "array/np", "backend/...", "cluster", "kernels", "linalg/...", "gpu", "gpu/launch", "gpu/support",
			"rmath", "rmath/f32", "examples/...",
		},
		mods: []string{"gonum.org/v1/gonum/...", "gonum.org/v1/plot/..."},
	},
}

// fileRules give single files what their package must not have: linalg pulls in the drivers at one
// place, and the command the simulated one.
var fileRules = map[string][]string{
	"linalg/drivers.go":  {"backend/cpu", "backend/cuda", "backend/opencl"},
	"cmd/tandem/main.go": {"backend/cudasim"},
}

// Tests may import what they need, drivers too, except the tests of these packages.
var strictTests = []string{"backend"}

// A source is a Go file and what it imports.
type source struct {
	pkg, file string // from the root of the module, with slashes
	imports   []string
}

func (s source) test() bool { return strings.HasSuffix(s.file, "_test.go") }

// matches tells whether a pattern of a rule stands for an import path.
func matches(pattern, importPath string) bool {
	if base, below := strings.CutSuffix(pattern, "/..."); below {
		return importPath == base || strings.HasPrefix(importPath, base+"/")
	}
	return importPath == pattern
}

func anyMatches(patterns []string, importPath string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, importPath) })
}

func find(pkg string) *rule {
	for i := len(rules) - 1; i >= 0; i-- {
		if matches(rules[i].pkg, pkg) {
			return &rules[i]
		}
	}
	return nil
}

// violations lists what the files import against the rules.
func violations(files []source) []string {
	var bad []string
	for _, f := range files {
		r := find(f.pkg)
		if r == nil {
			bad = append(bad, fmt.Sprintf("%s: package %s has no rule here: say what it may import", f.file, f.pkg))
			continue
		}
		for _, imp := range f.imports {
			if why := refuse(f, r, imp); why != "" {
				bad = append(bad, fmt.Sprintf("%s imports %s: %s", f.file, imp, why))
			}
		}
	}
	return bad
}

// refuse says why file f of a package with rule r must not import imp; "" if it may.
func refuse(f source, r *rule, imp string) string {
	own, ours := strings.CutPrefix(imp, module+"/")
	standard := !ours && !strings.Contains(strings.Split(imp, "/")[0], ".")
	switch {
	case imp == "C":
		return "there is no cgo here; use backend/driverkit/dl"
	case matches("github.com/ebitengine/purego/...", imp) && !matches("backend/driverkit/dl/...", f.pkg):
		return "backend/driverkit/dl alone imports purego"
	case standard:
		return ""
	case f.test() && !anyMatches(strictTests, f.pkg):
		return ""
	case ours && (anyMatches(r.may, own) || anyMatches(fileRules[f.file], own)):
		return ""
	case ours && own == f.pkg && f.test(): // an external test of its own package
		return ""
	case !ours && anyMatches(r.mods, imp):
		return ""
	}
	return fmt.Sprintf("the rule of %s does not have it", r.pkg)
}

func TestImports(t *testing.T) {
	for _, v := range violations(sources(t)) {
		t.Error(v)
	}
}

// A permission that no file uses is taken back: it would let in what nobody decided.
func TestPermissionsAreUsed(t *testing.T) {
	files := sources(t)
	used := func(r *rule, pattern string) bool {
		return slices.ContainsFunc(files, func(f source) bool {
			return !f.test() && find(f.pkg) == r && slices.ContainsFunc(f.imports, func(imp string) bool {
				own, ours := strings.CutPrefix(imp, module+"/")
				return matches(pattern, imp) || ours && matches(pattern, own)
			})
		})
	}
	for i := range rules {
		for _, pattern := range slices.Concat(rules[i].may, rules[i].mods) {
			if !used(&rules[i], pattern) {
				t.Errorf("the rule of %s permits %s, which it does not import", rules[i].pkg, pattern)
			}
		}
	}
}

// root is the directory of go.mod.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err == nil {
		_, err = os.Stat(filepath.Join(dir, "go.mod"))
	}
	if err != nil {
		t.Fatalf("the test must run in its own directory: %v", err)
	}
	return dir
}

// sources reads the imports of all Go files of all packages, whatever system and tags they are for.
func sources(t *testing.T) []source {
	t.Helper()
	dir := root(t)
	cmd := exec.Command("go", "list", "-e",
		"-json=ImportPath,Dir,GoFiles,CgoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles", "./...")
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, &stderr)
	}
	var files []source
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p struct {
			ImportPath, Dir                                              string
			GoFiles, CgoFiles, IgnoredGoFiles, TestGoFiles, XTestGoFiles []string
		}
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		pkg := strings.TrimPrefix(p.ImportPath, module+"/")
		if matches("build/...", pkg) {
			continue
		}
		for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles, p.TestGoFiles, p.XTestGoFiles) {
			f := source{pkg: pkg, file: path.Join(pkg, name)}
			parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, spec := range parsed.Imports {
				imp, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				f.imports = append(f.imports, imp)
			}
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		t.Fatalf("%v lists no files", cmd)
	}
	return files
}

// The simulator is a sixth of the module: a program links it by importing cudasim, and not with
// linalg.
func TestSimulatorIsNotLinked(t *testing.T) {
	for pkg, want := range map[string]bool{"linalg": false, "linalg/gonumblas": false, "cmd/tandem": true} {
		cmd := exec.Command("go", "list", "-deps", "./"+pkg)
		cmd.Dir = root(t)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v", cmd, err)
		}
		deps := strings.Fields(string(out))
		for _, dep := range []string{"backend/cudasim/ptxsim", "backend/internal/cuda/simapi"} {
			if got := slices.Contains(deps, module+"/"+dep); got != want {
				t.Errorf("%s links %s: %v, want %v", pkg, dep, got, want)
			}
		}
	}
}

// The checker must see what it is for: each of these made-up files breaks a rule, or none.
func TestRules(t *testing.T) {
	const m = module + "/"
	for _, c := range []struct {
		pkg, name string
		imp       string
		want      string // part of the complaint; "" if the import is fine
	}{
		{"backend", "a.go", "crypto/sha256", ""},
		{"backend", "a.go", m + "internal/host", "the rule of backend"},
		{"backend", "a.go", "golang.org/x/sys/cpu", "the rule of backend"},
		{"backend", "a_test.go", m + "backend", ""},
		{"backend", "a_test.go", m + "backend/cpu", "the rule of backend"},
		{"backend/cpu", "a.go", m + "backend", ""},
		{"backend/cpu", "a.go", m + "backend/opencl", "the rule of backend/cpu"},
		{"backend/cpu", "a.go", m + "kernels", "the rule of backend/cpu"},
		{"backend/cpu", "a.go", m + "linalg", "the rule of backend/cpu"},
		{"backend/cpu", "a_test.go", m + "backend/backendtest", ""},
		{"gpu", "a.go", m + "backend", ""},
		{"gpu", "a.go", m + "linalg", "the rule of gpu"},
		{"gpu/support", "a.go", m + "gpu/compiler", "the rule of gpu/support"},
		{"gpu/compiler", "a.go", m + "linalg", "the rule of gpu/compiler"},
		{"gpu/compiler", "a.go", "golang.org/x/tools/go/packages", "the rule of gpu/compiler"},
		{"backend/opencl", "a.go", m + "backend/opencl/cl", ""},
		{"backend/opencl", "a.go", m + "backend/driverkit/diskcache", ""},
		{"backend/opencl", "a.go", m + "backend/cpu", "the rule of backend/opencl"},
		{"backend/opencl", "a.go", m + "backend/cuda", "the rule of backend/opencl"},
		{"backend/opencl", "a.go", m + "linalg", "the rule of backend/opencl"},
		{"backend/opencl", "a.go", "github.com/ebitengine/purego", "backend/driverkit/dl alone"},
		{"backend/opencl", "a_test.go", "github.com/ebitengine/purego", "backend/driverkit/dl alone"},
		{"backend/opencl/cl", "a.go", m + "backend", "the rule of backend/opencl/cl"},
		{"backend/cuda", "a.go", m + "backend/internal/cuda/capi", ""},
		{"backend/cuda", "a.go", m + "backend/internal/cuda/simapi", "the rule of backend/cuda"},
		{"backend/cuda", "a.go", m + "backend/cudasim/ptxsim", "the rule of backend/cuda"},
		{"backend/cuda", "a.go", m + "backend/opencl", "the rule of backend/cuda"},
		{"backend/cuda", "a.go", m + "kernels", "the rule of backend/cuda"},
		{"backend/internal/cuda/simapi", "a.go", m + "backend/cuda", "the rule of backend/internal/cuda/simapi"},
		{"backend/cudasim", "a.go", m + "backend/cuda", ""},
		{"backend/cudasim", "a.go", m + "backend/opencl", "the rule of backend/cudasim"},
		{"backend/cudasim/ptxsim", "a.go", m + "internal/host", ""},
		{"backend/cudasim/ptxsim", "a.go", m + "backend/cuda", "the rule of backend/cudasim/ptxsim"},
		{"backend/backendtest", "a.go", m + "conformance", ""},
		{"backend/backendtest", "a.go", m + "backend/cpu", "the rule of backend/backendtest"},
		{"backend/backendtest", "a_test.go", m + "backend/cpu", ""},
		{"backend/new", "a.go", "fmt", "has no rule"},
		{"backend/driverkit/dl", "a.go", "github.com/ebitengine/purego", ""},
		{"backend/driverkit/dl", "a.go", m + "backend", "the rule of backend/driverkit/dl"},
		{"internal/host", "a.go", m + "backend", "the rule of internal/host"},
		{"backend/driverkit/diskcache", "a.go", m + "backend/driverkit/dl", "the rule of backend/driverkit/diskcache"},
		{"backend/driverkit", "a.go", m + "backend/driverkit/dl", "the rule of backend/driverkit"},
		{"kernels", "a.go", m + "internal/host", ""},
		{"kernels", "a.go", m + "linalg", "the rule of kernels"},
		{"kernels", "a.go", m + "internal/tuning", "the rule of kernels"},
		{"internal/tuning", "a.go", m + "kernels", ""},
		{"kernels", "a.go", m + "backend/cpu", "the rule of kernels"},
		{"kernels", "a.go", m + "backend/driverkit/diskcache", "the rule of kernels"},
		{"cluster", "a.go", m + "linalg", ""},
		{"cluster", "a.go", m + "backend/driverkit/dl", "the rule of cluster"},
		{"cluster/internal/mpi", "a.go", m + "backend/driverkit/dl", ""},
		{"cluster/internal/mpi", "a.go", m + "backend", "the rule of cluster/internal/mpi"},
		{"linalg", "session.go", m + "cluster", "the rule of linalg"},
		{"conformance", "a.go", "testing", ""},
		{"conformance", "a.go", m + "linalg", "the rule of conformance"},
		{"linalg", "drivers.go", m + "backend/opencl", ""},
		{"linalg", "drivers.go", m + "backend/cudasim", "the rule of linalg"},
		{"linalg", "session.go", m + "backend/opencl", "the rule of linalg"},
		{"linalg", "session.go", m + "backend/driverkit/diskcache", "the rule of linalg"},
		{"linalg", "session.go", m + "linalg/gonumblas", "the rule of linalg"},
		{"linalg", "npy.go", m + "internal/npy", ""},
		{"internal/npy", "a.go", m + "linalg", "the rule of internal/npy"},
		{"linalg/gonumblas", "a.go", m + "linalg", ""},
		{"linalg/gonumblas", "drivers.go", m + "backend/cpu", "the rule of linalg/gonumblas"},
		{"cmd/tandem", "a.go", m + "conformance", ""},
		{"cmd/tandem", "a.go", m + "backend/cpu", "the rule of cmd"},
		{"cmd/tandem", "main.go", m + "backend/cudasim", ""},
		{"cmd/tandem", "a.go", m + "backend/driverkit/dl", "the rule of cmd"},
		{"cmd/tandem", "a.go", "example.com/other", "the rule of cmd"},
		{"examples/driver", "a.go", m + "backend/opencl", ""},
		{"kernels", "a.go", "C", "no cgo"},
		{"kernels", "a_test.go", "C", "no cgo"},
	} {
		got := violations([]source{{pkg: c.pkg, file: c.pkg + "/" + c.name, imports: []string{"fmt", c.imp}}})
		switch {
		case c.want == "" && len(got) > 0:
			t.Errorf("%s/%s may import %s, but: %q", c.pkg, c.name, c.imp, got)
		case c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)):
			t.Errorf("%s/%s imports %s: complaints %q, want one with %q", c.pkg, c.name, c.imp, got, c.want)
		}
	}
}

// walk calls f for every text file of the repository, with its path from the root.
func walk(t *testing.T, f func(name string, text []byte)) {
	t.Helper()
	walkAll(t, func(name string, text []byte) {
		if !bytes.Contains(text[:min(len(text), 8000)], []byte{0}) {
			f(name, text)
		}
	})
}

// walkAll calls f for every file of the repository.
func walkAll(t *testing.T, f func(name string, text []byte)) {
	t.Helper()
	dir := root(t)
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if name == ".git" || name == "build" {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil // .git is a file in a work tree
		}
		if !d.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(p)
		if os.IsNotExist(err) {
			return nil // a test of another package cleaned up after itself
		}
		if err != nil {
			return err
		}
		f(name, text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The words are put together here, so that this file is not found by its own test.
var (
	generatedWords = "Code " + "generated"
	marker         = regexp.MustCompile(`(?m)^// ` + generatedWords + ` .* DO NOT EDIT\.$`)
	claim          = regexp.MustCompile(`(?m)^[ \t]*(//|/\*|#|;)[ \t]*` + generatedWords)
	buildPath      = regexp.MustCompile(`(^|[^\w.-])/(` + "wor" + `k|` + "roo" + `t)/`)
)

// unmarked tells whether a file says that it is generated, but not in the line that tools look for,
// before its code.
func unmarked(name string, text []byte) bool {
	if path.Ext(name) == ".go" {
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
		if err != nil {
			return false // the compiler will say so
		}
		for _, group := range f.Comments {
			for _, c := range group.List {
				if claim.MatchString(c.Text) {
					return !ast.IsGenerated(f)
				}
			}
		}
		return false
	}
	said := claim.FindIndex(text)
	return said != nil && !marker.Match(text[:endOfLine(text, said[0])])
}

// endOfLine is where the line of text that starts at i ends.
func endOfLine(text []byte, i int) int {
	if n := bytes.IndexByte(text[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(text)
}

func TestGeneratedFiles(t *testing.T) {
	walk(t, func(name string, text []byte) {
		if unmarked(name, text) {
			t.Errorf("%s: the marker must be a line of its own before the code: // %s by PROGRAM. DO NOT EDIT.",
				name, generatedWords)
		}
	})
}

func TestUnmarked(t *testing.T) {
	good := "// " + generatedWords + " by x. DO NOT EDIT.\n"
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"a.go", "package a\n", false},
		{"a.go", good + "\npackage a\n", false},
		{"a.go", "//go:build x\n\n" + good + "\npackage a\n", false},
		{"a.go", "// " + generatedWords + " by x; do not edit.\n\npackage a\n", true},
		{"a.go", "package a\n\n" + good, true},
		{"a.go", "/* " + generatedWords + " by x. DO NOT EDIT. */\n\npackage a\n", true},
		{"a.go", "package a\n\nconst head = `\n" + good + "`\n", false}, // a generator
		{"a.ptx", good + ".version 4.2\n", false},
		{"a.ptx", "// " + generatedWords + "\n.version 4.2\n", true},
		{"a.s", "# " + generatedWords + " by x. DO NOT EDIT.\n", true},
	} {
		if got := unmarked(c.name, []byte(c.text)); got != c.want {
			t.Errorf("%s with %q: %t, want %t", c.name, c.text, got, c.want)
		}
	}
}

func TestNoBuildPaths(t *testing.T) {
	walk(t, func(name string, text []byte) {
		if at := buildPath.FindIndex(text); at != nil {
			line := 1 + bytes.Count(text[:at[0]], []byte("\n"))
			t.Errorf("%s:%d: %q names a directory of the machine that it was made on",
				name, line, bytes.TrimSpace(text[at[0]:endOfLine(text, at[1])]))
		}
	})
}

func TestBuildPath(t *testing.T) {
	for text, want := range map[string]bool{
		"see /wor" + "k/main": true, "\"/roo" + "t/go\"": true, "a\n/roo" + "t/x": true,
		"net/wor" + "k/x": false, "https://example.com/roo" + "t/": false, "/works/": false, "wor" + "k/": false,
	} {
		if got := buildPath.MatchString(text); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
}
