package compiler

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ir"
	"github.com/tandem-gpu/tandem/internal/ptxgen"
	"github.com/tandem-gpu/tandem/internal/racetest"
)

var wantRE = regexp.MustCompile(`// want "(.*)"`)

// Each line that is marked has a problem, no other has, and one run tells them all, each with what
// to do instead.
func TestRefusals(t *testing.T) {
	name := filepath.Join("testdata", "refused", "refused.go")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Compile(filepath.Dir(name), Options{})
	var problems ir.Problems
	if !errors.As(err, &problems) {
		t.Fatalf("Compile gives %v", err)
	}
	found := map[int]string{}
	for _, p := range problems {
		if p.Pos.Column == 0 {
			t.Errorf("%v: %s has no column", p.Pos, p.Text)
		}
		found[p.Pos.Line] += p.Text + "\n"
	}
	for i, line := range strings.Split(string(text), "\n") {
		m := wantRE.FindStringSubmatch(line)
		got := found[i+1]
		switch {
		case m == nil && got != "":
			t.Errorf("line %d: %s\n%s", i+1, line, got)
		case m != nil && !regexp.MustCompile(m[1]).MatchString(got):
			t.Errorf("line %d: %s\ngot %q", i+1, line, got)
		case m != nil && !strings.Contains(got, "; ") && !strings.Contains(got, "satisfy"):
			t.Errorf("line %d does not say what to do instead: %s", i+1, got)
		}
	}
}

// A package that looks at each corner of the language gives what plain Go gives, or what
// docs/kernels.md says where Go leaves it open.
func TestSemantics(t *testing.T) {
	if testing.Short() {
		t.Skip("runs programs on the simulated GPU")
	}
	files := map[string]string{}
	for _, name := range []string{"kernels.go", "main.go"} {
		text, err := os.ReadFile(filepath.Join("testdata", "semantics", name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	dir := newModule(t, files)
	clang := Clang()
	if err := Write(dir, Options{PTX: clang, NoPTX: clang == nil}); err != nil {
		t.Fatal(err)
	}
	if clang != nil {
		withoutPacked(t, dir)
	}
	for _, nvrtc := range []string{"", "1"} {
		if t.Setenv("NVRTC", nvrtc); (clang == nil || nvrtc != "") && os.Getenv("TANDEM_NVRTC") == "" {
			continue // without PTX the simulated GPU needs NVRTC
		}
		if out, err := goTool(t, dir, "run", "."); err != nil || out != "done\n" {
			t.Errorf("compiled by NVRTC %q: %v\n%s", nvrtc, err, out)
		}
	}
	if out, err := goTool(t, dir, "vet", "."); err != nil {
		t.Error(err, out)
	}
}

// withoutPacked lets the program in dir have no PTX where NVRTC is set in its environment.
func withoutPacked(t *testing.T, dir string) {
	t.Helper()
	name := filepath.Join(dir, FileName)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, name, strings.ReplaceAll(string(text), "Packed: kernelsPTX(", "Packed: packed("))
	writeFile(t, filepath.Join(dir, "packed.go"), `package main

import (
	"os"

	"github.com/tandem-gpu/tandem/backend"
)

func packed(name string) *backend.PackedPTX {
	if os.Getenv("NVRTC") != "" {
		return nil
	}
	return kernelsPTX(name)
}
`)
}

const sumKernel = `package main

import (
	"fmt"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
)

// sum adds the 64 numbers of a group.
//
//tandem:kernel
func sum(it gpu.Item, out, x []int32) {
	s := gpu.Local[[64]int32](it)
	l := it.Local(0)
	s[l] = x[it.Global(0)]
	for n := 32; n > 0; n /= 2 {
		it.Barrier()
		if l < n {
			s[l] += s[l+n]
		}
	}
	if l == 0 {
		out[it.Group(0)] = s[0]
	}
}

func main() {
	s, err := linalg.Open("cpu")
	if err != nil {
		panic(err)
	}
	x, out := make([]int32, 128), make([]int32, 2)
	for i := range x {
		x[i] = int32(i)
	}
	fmt.Println(launchSum(s, backend.Grid1(2, 64), out, x), out)
}
`

// The same package gives the same bytes, Check tells drift, and a package without kernels, or that
// does not parse or type-check, is an error that says where.
func TestCompile(t *testing.T) {
	t.Parallel()
	dir := newModule(t, map[string]string{"main.go": sumKernel})
	if err := Check(dir, Options{}); err == nil || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Check without a file: %v", err)
	}
	for range 2 {
		if err := Write(dir, Options{}); err != nil {
			t.Fatal(err)
		}
		if err := Check(dir, Options{}); err != nil {
			t.Error(err)
		}
	}
	for _, c := range []struct{ from, to, want string }{
		{"s[l+n]", "s[l+n+1]", "is stale: run go generate"},
		{"//tandem:kernel\n", "", "has no kernels: mark a function"},
		{"l < n", "l <", "main.go:20:10: "},
		{"l < n", "l < m", "main.go:20:10: undefined: m"},
		{"it.Local(0)", "it.Local(3)", "main.go:16:16: a dimension"},
		{"out, x)", "out, y)", "main.go:38:54: undefined: y"},
		{
			"s[l] = x[it.Global(0)]", "var f [1]float32; gpu.AtomicAdd(&f[0], 1)",
			"main.go:17:20: float32 does not satisfy gpu.Atomic",
		},
		{"s[l] = x[it.Global(0)]", "var f [1]float64; gpu.AtomicMax(&f[0], 1)", "let each group sum in local memory"},
		{"s[l] = x[it.Global(0)]", "var f [1]int16; gpu.AtomicAdd(&f[0], 1)", "integers of 32 and 64 bits"},
		{
			"func main()", "func launchSum(...any) error { return nil }\n\nfunc main()",
			"main.go:29:6: the generated file declares launchSum",
		},
	} {
		if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(strings.Replace(sumKernel, c.from, c.to,
			1)), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := Check(dir, Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.to, err, c.want)
		}
	}
	if _, err := Compile(t.TempDir(), Options{}); err == nil {
		t.Error("a folder without a package is no error")
	}
}

// A launch with a type that the kernel does not list does not compile; that with another does.
func TestUnlistedType(t *testing.T) {
	const kernels = `package main

import (
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/gpu"
)

//tandem:kernel float32 uint8
func twice[T gpu.Number](it gpu.Item, x []T) { x[it.Global(0)] *= 2 }

func use() error { return launchTwice[uint8](nil, backend.Grid{}, []uint8{1}) }
`
	m := newMutator(t, kernels)
	m.compile(t, kernels, Options{})
	unlisted := strings.NewReplacer("launchTwice[uint8]", "launchTwice[int32]", "[]uint8{", "[]int32{").Replace(kernels)
	errs := m.errors(t, unlisted, Options{})
	const want = "int32 does not satisfy interface{float32 | uint8}"
	if m.good != 2 || len(errs) == 0 || !strings.Contains(errs[0].Error(), want) {
		t.Errorf("with a type that is not listed: %v", errs)
	}
}

// The generated files of the repository are those that the compiler makes today.
func TestNoDrift(t *testing.T) {
	racetest.Skip(t, "one goroutine does it")
	t.Parallel()
	clang := Clang()
	if clang == nil {
		backendtest.Require(t, "clang", fmt.Errorf("%s is not installed", ptxgen.Clang))
	}
	for _, dir := range []string{
		"../../array/internal/moves",
		"../../array/internal/random",
		"../../array/internal/sorting",
		"../../array/internal/sums",
		"../../examples/kernels",
		"../../examples/scripts",
		"../../examples/seeds",
		"../../linalg/batched",
	} {
		o := Options{PTX: clang, Pack: dir != "../../examples/kernels"}
		if strings.HasSuffix(dir, "seeds") && !testing.Short() {
			o.Native = Machine() // which is known to be of today's text in the others
		}
		if err := Check(dir, o); err != nil {
			t.Error(err)
		}
	}
	if err := Check("../../array", Options{Pack: true}); err != nil { // its PTX takes clang half a minute
		t.Error(err)
	}
	if err := Check("mistakes", Options{NoPTX: true}); err != nil {
		t.Error(err)
	}
	if err := Check("../../kernels", Options{PTX: clang, NoLaunch: true, Pack: true}); err != nil {
		t.Error(err)
	}
	o := Options{PTX: clang, NoLaunch: true, NoNative: true, Pack: true}
	if err := Check("../../internal/panels", o); err != nil {
		t.Error(err)
	}
}

// What go generate takes for the seeds, without clang: 8 kernels in 14 instances. Ten kernels in
// three types are to take less than 3 s.
func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := Compile("../../examples/seeds", Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// A package that only strings and comments name is not imported.
func TestQualifiers(t *testing.T) {
	got, _ := qualifiers("// add is a sum of bits.\nvar x = `math.Pi` + support.Head // unsafe.Pointer\n")
	if len(got) != 1 || !got["support"] {
		t.Errorf("found %v, want support", got)
	}
}
