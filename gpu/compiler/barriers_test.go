package compiler

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/gpu/compiler/internal/front"
	"github.com/tandem-gpu/tandem/internal/racetest"
)

const barriersMain = `package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/tandem-gpu/tandem/backend"
	_ "github.com/tandem-gpu/tandem/backend/cudasim"
	"github.com/tandem-gpu/tandem/linalg"
)

func main() {
	x := make([]float32, 128)
	for i := range x {
		x[i] = float32(i)
	}
	run := func(name string, launch func(*linalg.Session, backend.Grid, []float32, []float32) error) {
		s, err := linalg.Open(os.Args[1])
		if errors.Is(err, backend.ErrNoDevice) {
			fmt.Println("no device")
			os.Exit(0)
		}
		if err == nil {
			err = launch(s, backend.Grid1(4, 32), make([]float32, 128), x)
			s.Close() // a race ends what the simulated GPU can do
		}
		fmt.Printf("%s: %v\n", name, err)
	}
RUNS}
`

// withoutBarriers is the kernels of text, and each without one of its barriers: "sum_1" is sum
// without the first. names is all of them.
func withoutBarriers(text string) (all string, names []string) {
	const barrier = "it.Barrier()\n"
	head, _, _ := strings.Cut(text, "//tandem:kernel")
	all = head + "\n"
	for _, k := range strings.Split(text, "//tandem:kernel\n")[1:] {
		k, _, _ = strings.Cut(k, "\n}\n")
		name, _, _ := strings.Cut(strings.TrimPrefix(k, "func "), "(")
		parts := strings.Split(k, barrier)
		for i := range parts {
			list, variant := parts, name
			if i > 0 { // the parts around barrier i become one
				variant = fmt.Sprintf("%s_%d", name, i)
				list = append(append([]string{}, parts[:i-1]...), parts[i-1]+"\n"+parts[i])
				list = append(list, parts[i+1:]...)
			}
			k := strings.Join(list, barrier)
			all += "//tandem:kernel\n" + strings.Replace(k, "func "+name, "func "+variant, 1) + "\n}\n\n"
			names = append(names, variant)
		}
	}
	return all, names
}

// withMissingBarriers makes a program of kernels with all their barriers and without one.
func withMissingBarriers(t *testing.T, clang func(root, name, text string) ([]byte, error)) (
	dir string, names []string,
) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "barriers", "kernels.go"))
	if err != nil {
		t.Fatal(err)
	}
	all, names := withoutBarriers(string(text))
	runs := ""
	for _, n := range names {
		runs += fmt.Sprintf("\trun(%q, %s[[]float32, []float32])\n", n, front.LaunchName(n))
	}
	dir = newModule(t, map[string]string{
		"kernels.go": all, "main.go": strings.Replace(barriersMain, "RUNS", runs, 1),
	})
	if err := Write(dir, Options{PTX: clang}); err != nil {
		t.Fatal(err)
	}
	return dir, names
}

// checkBarriers compares what was found with what is missing.
func checkBarriers(t *testing.T, names []string, found func(name string) bool) {
	t.Helper()
	for _, n := range names {
		if missing := strings.Contains(n, "_"); found(n) != missing {
			t.Errorf("%s: found %t", n, !missing)
		}
	}
}

// A barrier that is missing is found, whichever it is, by the simulated GPU, and by oclgrind; where
// none is missing, none of them finds anything.
func TestMissingBarriers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds programs")
	}
	clang := Clang()
	dir, names := withMissingBarriers(t, clang)
	binary := filepath.Join(dir, "program")
	if out, err := goTool(t, dir, "build", "-o", binary, "."); err != nil {
		t.Fatal(err, out)
	}
	t.Run("cudasim", func(t *testing.T) {
		if clang == nil {
			backendtest.Require(t, "clang", errors.New("the simulated GPU needs PTX"))
		}
		out, err := exec.Command(binary, "cudasim").CombinedOutput()
		if err != nil {
			t.Fatal(err, string(out))
		}
		checkBarriers(t, names, func(name string) bool {
			_, rest, _ := strings.Cut("\n"+string(out), "\n"+name+": ")
			result, _, _ := strings.Cut(rest, "\n")
			if result != "<nil>" && !strings.Contains(result, "race") && !strings.Contains(result, "UNINITIALISED") {
				t.Errorf("%s: %s", name, result)
			}
			return result != "<nil>"
		})
	})
	t.Run("oclgrind", func(t *testing.T) {
		const icd = "/usr/lib/oclgrind/liboclgrind-rt-icd.so"
		if _, err := os.Stat(icd); err != nil {
			backendtest.Require(t, "oclgrind", err)
		}
		cmd := exec.Command(binary, "opencl")
		cmd.Env = append(os.Environ(), "OCL_ICD_VENDORS="+icd, "OCLGRIND_DATA_RACES=1",
			"OCLGRIND_MAX_ERRORS=1000000", "OCLGRIND_NUM_THREADS=1", "TANDEM_CACHE=off")
		out, err := cmd.CombinedOutput()
		if err != nil || strings.Contains(string(out), "no device") {
			t.Fatal(err, string(out))
		}
		checkBarriers(t, names, func(name string) bool {
			return strings.Contains(string(out), "Kernel: "+name+"_kernel\n")
		})
		if t.Failed() {
			t.Logf("%.3000s", out)
		}
	})
}

// The race detector finds it, too, on the cpu device: where the tests run under it, since all that
// the program needs is built for it.
func TestMissingBarriersRace(t *testing.T) {
	if !racetest.Enabled {
		t.Skip("make race runs it")
	}
	dir, names := withMissingBarriers(t, nil)
	binary := filepath.Join(dir, "program")
	if out, err := goTool(t, dir, "build", "-race", "-o", binary, "."); err != nil {
		t.Fatal(err, out)
	}
	out, _ := exec.Command(binary, "cpu").CombinedOutput() // exit code 66 after races
	checkBarriers(t, names, func(name string) bool { return strings.Contains(string(out), "main."+name+"(") })
	if t.Failed() {
		t.Logf("%.3000s", out)
	}
}

// PoCL needs a barrier around jumps past one, and where they lead; and none around others.
func TestJoins(t *testing.T) {
	dir := newModule(t, map[string]string{"kernels.go": `package main

import "github.com/tandem-gpu/tandem/gpu"

func main() {}

//tandem:kernel
func joins(it gpu.Item, n int, x []float32) {
	i := n
	for {
		if i /= 2; i == 0 {
			break
		}
		x[it.Global(0)]++
	}
	pick := func() float32 {
		if n > 5 {
			return 1
		}
		return 2
	}
	x[it.Global(0)] += pick()
	early(it, n, x)
	x[it.Global(0)]++
}

func early(it gpu.Item, n int, x []float32) {
	if n > 3 {
		return
	}
	it.Barrier()
	if x[it.Global(0)] > 1 {
		return
	}
	x[it.Global(0)] = 2
}
`})
	if err := Write(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "kernels_tandem.go"))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(string(text)), " ")
	for _, want := range []string{
		"JOIN; if (n2_ > ((i64)3)) { JOIN; goto l2; } barrier(",
		"l2:; JOIN; STORE(",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the text has no %q", want)
		}
	}
	if n := strings.Count(got, "JOIN;"); n != 3 {
		t.Errorf("%d more barriers, want 3", n)
	}
}
