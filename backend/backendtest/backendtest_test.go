package backendtest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	_ "github.com/tandem-gpu/tandem/backend/cpu" // the sound driver that is broken here
	"github.com/tandem-gpu/tandem/internal/racetest"
)

// failing runs the suite on device 0 and lists the cases that fail. Conformance is left out: nearly
// every fault shows there.
func failing(t *testing.T, d backend.Driver) map[string]error {
	t.Helper()
	failed := map[string]error{}
	for _, c := range suite() {
		if strings.HasPrefix(c.name, "Conformance/") {
			continue
		}
		if err := c.check(d, 0); err != nil && !errors.As(err, &skipped{}) {
			failed[c.name] = err
		}
	}
	return failed
}

// The cases of package conformance fail with a fault that they are to find, and pass without.
func TestConformanceFinds(t *testing.T) {
	racetest.Skip(t, "it is of bits")
	for _, fault := range []string{"", "upper half of scalars lost"} {
		d := &brokenDriver{Driver: backend.Lookup("cpu"), fault: fault}
		for _, c := range conformanceCases {
			if err := c.check(d, 0); (err != nil) != (fault != "") {
				t.Errorf("%s with the fault %q: %v", c.name, fault, err)
			}
		}
	}
}

// Each fault must be caught by the cases that are meant for it, and by no other. The faults that
// package backend alone can have are among those of scripts/mutate.
func TestFaults(t *testing.T) {
	racetest.Skip(t, "others have its goroutines")
	for _, c := range []struct {
		fault string
		cases []string
	}{
		{"", nil},
		{"listing shared with the caller", []string{"Info/Stable"}},
		{"open Info differs", []string{"Info/Probed"}},
		{"Alloc not zeroed", []string{"Memory/Fresh", "Memory/Zero"}},
		{"Alloc(0) panics", []string{"Memory/Empty"}},
		{"Copy in words", []string{"Host/RegisterCopies", "Memory/Copy", "Memory/Random"}},
		{"WriteAsync ignores its host offset", []string{"Host/Async", "Memory/Random"}},
		{"Write overtakes", []string{"Order/Write"}},
		{"Register copies", []string{
			"Close/Waits", "Host/Register", "Host/RegisterAlignment", "Host/RegisterCopies", "Host/RegisterPinned",
		}},
		{"Finish returns early", []string{"Close/Waits", "Order/Async", "Order/Wait"}},
		{"WaitEvent ignored", []string{"Order/TwoQueues"}},
		{"Release while in use", []string{"Order/FreeInFlight"}},
		{"Event.Wait returns early", []string{"Event/Wait"}},
		{"Since without its order", []string{"Event/EmptyQueue", "Event/Since"}},
		{"last group dropped", []string{"Launch/Grids"}},
		{"upper half of scalars lost", []string{"Launch/Doubles", "Launch/Scalars"}},
		{"offsets dropped", []string{"Launch/Offsets"}},
		{"scalar widths not told", []string{
			"Compile/Declared", "Compile/Params", "Launch/Arguments", "Launch/Types",
		}},
		{"types not told", []string{"Launch/Types"}},
		{"group size ignored", []string{"Launch/GroupMismatch"}},
		{"compile cache ignores macros", []string{"Compile/Macros", "Concurrency/Compile", "Order/Chain"}},
		{"ErrBuild without the name", []string{"Compile/NoSuchKernel"}},
		{"float32 fma in float64", []string{"Float32/FMA"}},
		{"a*b + c contracted", []string{"Float64/NoContraction"}},
		{"subnormal products flushed", []string{"Float32/Multiply"}},
		{"-0 lost in sums", []string{"Float64/Add"}},
		{"int32 saturates", []string{"Int32/Wrap"}},
		{"arguments of concurrent launches mixed", []string{
			"Concurrency/Compile", "Concurrency/Launches",
			"Concurrency/OneQueue",
		}},
		{"NewQueue leaks a goroutine", []string{"Close/Goroutines"}},
	} {
		t.Run(strings.ReplaceAll(c.fault, "/", "_"), func(t *testing.T) {
			d := &brokenDriver{Driver: backend.Lookup("cpu"), fault: c.fault, leak: make(chan struct{})}
			defer close(d.leak)
			failed := failing(t, d)
			var names []string
			for name := range failed {
				names = append(names, name)
			}
			slices.Sort(names)
			if !slices.Equal(names, c.cases) {
				t.Errorf("fails in %q, want %q", names, c.cases)
				for _, name := range names {
					if !slices.Contains(c.cases, name) {
						t.Errorf("%s: %v", name, failed[name])
					}
				}
			}
		})
	}
}

func TestCaseNames(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range suite() {
		if seen[c.name] || strings.Count(c.name, "/") != 1 {
			t.Errorf("case %q: the name is taken, or not of the form Group/Case", c.name)
		}
		if c.contract == "" || c.run == nil {
			t.Errorf("case %q has no contract or nothing to run", c.name)
		}
		seen[c.name] = true
	}
}

func TestOptions(t *testing.T) {
	o := options{skip: map[string]string{}}
	ValidCallsOnly()(&o)
	Skip("Concurrency", "one thread")(&o)
	Skip("Launch/Grids", "too slow")(&o)
	for name, want := range map[string]string{
		"Concurrency/Compile": "one thread", "Launch/Grids": "too slow", "Launch/Scalars": "",
		"Launch/Arguments": "makes mistakes on purpose",
	} {
		cases := suite()
		c := &cases[slices.IndexFunc(cases, func(c testCase) bool { return c.name == name })]
		if got := o.reason(c); got != want {
			t.Errorf("%s is left out because %q, want %q", name, got, want)
		}
	}
}

// recorder is a testing.TB that notes how it ended. Its methods return, where those of a real one
// end the goroutine.
type recorder struct {
	testing.TB
	ended string
}

func (r *recorder) Helper()                   {}
func (r *recorder) Fatalf(f string, v ...any) { r.ended = "fatal: " + fmt.Sprintf(f, v...) }
func (r *recorder) Skipf(f string, v ...any)  { r.ended = "skip: " + fmt.Sprintf(f, v...) }
func (r *recorder) is(prefix, within string) bool {
	return strings.HasPrefix(r.ended, prefix) && strings.Contains(r.ended, within)
}

func TestRequire(t *testing.T) {
	none := errors.New("no library anywhere")
	for _, c := range []struct {
		env, name string
		err       error
		want      string
	}{
		{"", "opencl", nil, ""},
		{"opencl", "opencl", nil, ""},
		{"", "opencl", none, "skip: "},
		{"cuda", "opencl", none, "skip: "},
		{"opencl2", "opencl", none, "skip: "},
		{"opencl", "opencl", none, "fatal: "},
		{"cuda, opencl", "opencl", none, "fatal: "},
		{"cuda,opencl", "cuda", none, "fatal: "},
	} {
		t.Setenv(EnvRequire, c.env)
		var r recorder
		Require(&r, c.name, c.err)
		within := ""
		if c.want != "" {
			within = none.Error()
		}
		if !r.is(c.want, within) || (c.want == "") != (r.ended == "") {
			t.Errorf("%s=%q, %s, %v: ended with %q, want %q", EnvRequire, c.env, c.name, c.err, r.ended, c.want)
		}
	}
}

// A device of another platform than TANDEM_REQUIRE names fails the test.
func TestRequirePlatform(t *testing.T) {
	const intel, pocl = "Intel(R) OpenCL", "Portable Computing Language"
	for _, c := range []struct {
		env, platform string
		fails         bool
	}{
		{"", pocl, false},
		{"opencl", pocl, false},
		{"opencl, intel-opencl", intel, false},
		{"opencl, intel-opencl", pocl, true},
	} {
		t.Setenv(EnvRequire, c.env)
		var r recorder
		RequirePlatform(&r, c.platform)
		if (r.ended != "") != c.fails || c.fails && !r.is("fatal: ", c.platform) {
			t.Errorf("%s=%q, %s: ended with %q", EnvRequire, c.env, c.platform, r.ended)
		}
	}
}

// The ids kernel is the measure of grids, so it is checked against loops that number the work-items
// in their own way.
func TestIDs(t *testing.T) {
	g := backend.Grid3(2, 3, 2, 4, 1, 3)
	out := make([]int32, 16*g.Count()*g.Items())
	if err := idsGo(g, 0, g.Count(), []backend.Arg{backend.Buf(backend.HostMemory(backend.Bytes(out)))}); err != nil {
		t.Fatal(err)
	}
	i := 0
	for z := range int32(2 * 3) {
		for y := range int32(3 * 1) {
			for x := range int32(2 * 4) {
				want := []int32{x / 4, y, z / 3, x % 4, 0, z % 3, x, y, z, 2, 3, 2, 4, 1, 3, 1}
				if got := out[16*i : 16*i+16]; !slices.Equal(got, want) {
					t.Fatalf("work-item %d,%d,%d wrote %v, want %v", x, y, z, got, want)
				}
				i++
			}
		}
	}
}

// exactFMA is the measure of the fma of every device.
func TestExactFMA(t *testing.T) {
	f := math.Float32frombits
	for _, c := range [][4]uint32{
		{0x3f800800, 0x3f800800, 0x21800000, 0x3f801001}, // rounding twice gives 0x3f801000
		{0x80000001, 0x3f000000, 0x80000000, 0x80000000}, // underflow to -0
		{0x80000001, 0x00000001, 0x00000000, 0x80000000},
		{0x3f800000, 0x3f800000, 0xbf800000, 0x00000000}, // 1 - 1 is +0
		{0x80000000, 0x3f800000, 0x80000000, 0x80000000}, // -0 + -0
		{0x00800000, 0x3f000000, 0x00000001, 0x00400001}, // subnormals
		{0x7f7fffff, 0x40000000, 0xff7fffff, 0x7f7fffff}, // the product alone overflows
		{0x7f7fffff, 0x40000000, 0xff800000, 0xff800000},
	} {
		if got := math.Float32bits(exactFMA(f(c[0]), f(c[1]), f(c[2]))); got != c[3] {
			t.Errorf("fma(%#x, %#x, %#x) is %#x, want %#x", c[0], c[1], c[2], got, c[3])
		}
	}
	r := random(51)
	for _, v := range slices.Concat(float64Vectors(), near(r, func(r *rand.Rand) float64 { return r.NormFloat64() })) {
		got, want := exactFMA(v[0], v[1], v[2]), math.FMA(v[0], v[1], v[2])
		if bits(got) != bits(want) {
			t.Errorf("fma(%s, %s, %s) is %s, want %s", show(v[0]), show(v[1]), show(v[2]), show(got), show(want))
		}
	}
}
