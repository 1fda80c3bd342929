package conformance_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	_ "github.com/tandem-gpu/tandem/backend/cpu"
	"github.com/tandem-gpu/tandem/conformance"
	"github.com/tandem-gpu/tandem/conformance/arrays"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/tuning"
)

var update = flag.Bool("update", false, "rewrite golden.json from the plain reference")

// golden.json is what the plain reference computes, for exactly the cases that there are.
func TestGolden(t *testing.T) {
	reference, golden := map[string]string{}, conformance.Golden()
	for _, c := range conformance.Cases() {
		if _, twice := reference[c.Name()]; twice {
			t.Errorf("two cases are named %s", c.Name())
		}
		if testing.Short() && !c.Quick && !*update {
			reference[c.Name()] = golden[c.Name()]
			continue
		}
		reference[c.Name()] = c.Reference()
	}
	if *update {
		data, err := json.MarshalIndent(reference, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("golden.json", append(data, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !maps.Equal(golden, reference) {
		t.Errorf("golden.json has %d digests, the reference %d, and they differ: go test ./conformance -update "+
			"rewrites it; BITS in CHANGELOG.md if results change", len(golden), len(reference))
	}
}

// reproduce.py, which shares nothing with this program but the description of the package, finds
// the golden digests of small products in every type, of every kind of values, packed and not, with
// every alpha and beta, of factorizations, and of small arrays.
func TestReproduce(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip(err)
	}
	args := []string{"reproduce.py"}
	for _, c := range conformance.Cases() {
		if reproducible(c) {
			args = append(args, c.Name())
		}
	}
	out, err := exec.Command(python, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	golden, lines := conformance.Golden(), strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(args)-1 || len(lines) < 50 {
		t.Errorf("%d digests of %d cases", len(lines), len(args)-1)
	}
	for _, line := range lines {
		if name, digest, _ := strings.Cut(line, " "); digest != golden[name] {
			t.Errorf("%s: %s, want %s", name, digest, golden[name])
		}
	}
}

func reproducible(c *conformance.Case) bool {
	switch c.Kernel {
	case "matmul", "addmul", "matmul_int8", "matmul_uint8":
		return c.M*c.N*c.K <= 1000
	case "lu", "cholesky":
		return c.M <= 20 && strings.Contains(c.Name(), "/uniform/")
	}
	return strings.HasPrefix(c.Kernel, "array.") && c.Kernel != "array.Normal" && c.M == 5
}

// Every set of parameters runs where that is asked for, and only the cases that match.
func TestOptions(t *testing.T) {
	dev := open(t, "cpu")
	match := func(c *conformance.Case) bool {
		return strings.HasPrefix(c.Name(), "matmul/float32/uniform/33x31x65/packed/")
	}
	some := run(t, dev, conformance.Options{Match: match})
	every := run(t, dev, conformance.Options{Match: match, Every: true})
	info := dev.Info()
	want := len(tuning.TunedMatMul(&info, element.Float32))
	if some.Cases != 1 || every.Cases != 1 || some.Variants <= 1 || every.Variants < want ||
		some.Variants >= every.Variants {
		t.Errorf("%d and %d cases, %d and %d variants of %d",
			some.Cases, every.Cases, some.Variants, every.Variants, want)
	}
	if !some.Passed() || !every.Passed() {
		t.Errorf("%+v %+v", some.Failures, every.Failures)
	}
}

// A full run on an NVIDIA GPU takes every kernel that comes with PTX.
func TestEveryPTX(t *testing.T) {
	taken := map[*backend.Source]bool{}
	for _, unit := range []string{"m8n8k4", "m16n8k4"} {
		maps.Copy(taken, conformance.SourcesOf(&backend.Info{
			Driver: "cuda", GPU: true, Arch: "sm_90", Float32: true, Float64: true, Float64Unit: unit,
			Int8Unit: "m16n8k32", ComputeUnits: 132, LocalMemory: 48 << 10, MaxGroup: 1024,
		}))
	}
	for name, s := range tuning.PTXSources() {
		if !taken[s] {
			t.Errorf("no case takes %s", name)
		}
	}
}

// Functions for float32 are left to devices with float64, and all to those who ask for them.
func TestElementary(t *testing.T) {
	match := func(c *conformance.Case) bool { return strings.HasPrefix(c.Name(), "gpu.") }
	dev := open(t, "cpu")
	all := run(t, dev, conformance.Options{Match: match, Elementary: array.Elementary})
	if all.Cases < 300 || !all.Passed() {
		t.Errorf("%d cases: %+v", all.Cases, all.Failures)
	}
	if r := run(t, dev, conformance.Options{Match: match}); r.Cases != 0 {
		t.Errorf("%d cases without their kernels", r.Cases)
	}
	without := backendtest.Hook(dev, &backendtest.Hooks{Info: func(i *backend.Info) { i.Float64 = false }})
	r := run(t, without, conformance.Options{Match: match, Elementary: array.Elementary})
	if r.Cases != 0 || r.Skipped != all.Cases {
		t.Errorf("without float64 %d cases of %d are run, %d skipped", r.Cases, all.Cases, r.Skipped)
	}
}

func run(t *testing.T, dev *backend.Device, o conformance.Options) *conformance.Report {
	t.Helper()
	r, err := conformance.Run(context.Background(), dev, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func open(t *testing.T, spec string) *backend.Device {
	t.Helper()
	dev, err := backend.Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dev.Close() })
	return dev
}

func TestCPU(t *testing.T) {
	dev := open(t, "cpu")
	quick := run(t, dev, conformance.Options{Quick: true, Elementary: array.Elementary, Arrays: arrays.On})
	full := quick
	if !testing.Short() {
		full = run(t, dev, conformance.Options{Elementary: array.Elementary, Arrays: arrays.On})
		if full.Cases != len(conformance.Cases()) || quick.Cases >= full.Cases {
			t.Errorf("%d and %d cases run of %d", full.Cases, quick.Cases, len(conformance.Cases()))
		}
		// as the package describes it
		golden, overall := conformance.Golden(), sha256.New()
		for _, name := range slices.Sorted(maps.Keys(golden)) {
			fmt.Fprintf(overall, "%s %s\n", name, golden[name])
		}
		if want := hex.EncodeToString(overall.Sum(nil)); full.Digest != want {
			t.Errorf("the overall digest is %s, of golden.json %s", full.Digest, want)
		}
	}
	for _, r := range []*conformance.Report{full, quick} {
		for _, f := range r.Failures {
			t.Errorf("%+v", f)
		}
		if !r.Passed() || r.Skipped > 0 {
			t.Errorf("digest %s, golden %s, %d skipped", r.Digest, r.Golden, r.Skipped)
		}
	}
	if quick.Cases == 0 {
		t.Error("no cases in a quick run")
	}
}

// A device that computes almost right must fail in the cases that show it.
func TestBrokenDevice(t *testing.T) {
	faults := map[string]struct {
		break_ func(g backend.Grid, args []backend.Arg)
		kernel string
	}{
		"an element too many": {func(g backend.Grid, args []backend.Arg) {
			out := lastBuffer(args)
			mem := backend.Mem[byte](out)
			mem[len(mem)-1] = 0
		}, "scale/"},
		"a source overwritten": {func(g backend.Grid, args []backend.Arg) {
			for _, a := range args {
				if a.Buffer != nil {
					backend.Mem[byte](a)[0] ^= 1
					return
				}
			}
		}, "transpose/"},
		"one bit wrong": {func(g backend.Grid, args []backend.Arg) {
			off := args[len(args)-3].Int64()
			if m := backend.Mem[int32](lastBuffer(args)); args[0].Int32() > 0 && args[1].Int32() > 0 && len(m) > 300 {
				m[off] ^= 1
			}
		}, "matmul/int32"},
	}
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			kernel, _, _ := strings.Cut(f.kernel, "/")
			r := run(t, breaking(open(t, "cpu"), kernel, f.break_), conformance.Options{Quick: true})
			if r.Passed() {
				t.Fatal("it passes")
			}
			found := false
			for _, failure := range r.Failures {
				found = found || strings.HasPrefix(failure.Case, f.kernel)
			}
			if !found {
				t.Errorf("no case of %s fails: %+v", f.kernel, r.Failures[0])
			}
		})
	}
}

func lastBuffer(args []backend.Arg) (last backend.Arg) {
	for _, a := range args {
		if a.Buffer != nil {
			last = a
		}
	}
	return last
}

// breaking is a device that does something wrong at the end of each launch of one kernel, of those
// that the device chooses by itself.
func breaking(d *backend.Device, kernel string, after func(g backend.Grid, args []backend.Arg)) *backend.Device {
	return backendtest.Hook(d, &backendtest.Hooks{Compile: func(s *backend.Source) *backend.Source {
		if !slices.Contains([]string{kernel, kernel + "_cpu", kernel + "_float32"}, s.Name) {
			return s
		}
		broken := *s
		broken.Native = nil
		var groups atomic.Int64
		broken.Go = func(g backend.Grid, lo, hi int, args []backend.Arg) error {
			err := s.Go(g, lo, hi, args)
			if groups.Add(int64(hi-lo)) == int64(g.Count()) {
				groups.Store(0)
				after(g, args)
			}
			return err
		}
		return &broken
	}})
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	_, err := conformance.Run(ctx, open(t, "cpu"), conformance.Options{Progress: func(done, total int) {
		if done == 3 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want Canceled", err)
	}
}

func TestClosedDevice(t *testing.T) {
	dev := open(t, "cpu")
	dev.Close()
	if _, err := conformance.Run(context.Background(), dev, conformance.Options{}); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("%v, want ErrClosed", err)
	}
}
