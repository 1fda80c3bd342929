// Package backendtest is the suite that every driver must pass. A driver's own test is one call:
//
//	func TestSuite(t *testing.T) { backendtest.Run(t, driver{}) }
//
// Each case proves one sentence of the contract in package backend, and a failure quotes it. Cases
// are independent: each opens the device anew. The kernels of the suite are portable OpenCL C with
// an equal implementation in Go for the cpu device.
package backendtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
)

// EnvRequire is the environment variable with the drivers that must have a device, separated by
// commas: "opencl" or "cuda,opencl". "intel-opencl" asks for an OpenCL device of Intel's runtime.
const EnvRequire = "TANDEM_REQUIRE"

// platforms are the OpenCL platforms that TANDEM_REQUIRE may ask for.
var platforms = map[string]string{"intel-opencl": "Intel(R) OpenCL"}

// Require ends the test when err, the reason why the named driver has no device, is not nil. The
// test is skipped with that reason; it fails where TANDEM_REQUIRE names the driver. Of OpenCL's
// devices the first is checked as RequirePlatform does.
func Require(t testing.TB, name string, err error) {
	t.Helper()
	asked := required()
	switch d := backend.Lookup(name); {
	case err == nil && name == "opencl" && d != nil:
		if infos, err := d.Devices(); err == nil {
			RequirePlatform(t, infos[0].Platform)
		}
	case err == nil:
	case slices.Contains(asked, name):
		t.Fatalf("%s=%s asks for %s: %v", EnvRequire, os.Getenv(EnvRequire), name, err)
	default:
		t.Skipf("no %s here (%s=%s would make this a failure): %v", name, EnvRequire, name, err)
	}
}

// RequirePlatform fails the test when the device under test is of that OpenCL platform, and
// TANDEM_REQUIRE names another.
func RequirePlatform(t testing.TB, platform string) {
	t.Helper()
	for _, name := range required() {
		if want := platforms[name]; want != "" && want != platform {
			t.Fatalf("%s=%s asks for %s: the device is of %q", EnvRequire, os.Getenv(EnvRequire), name, platform)
		}
	}
}

// EmptyCache names, in TANDEM_CACHE, a folder that is not there yet, and returns it. A cache makes
// it for this user alone. Others may write to that of t.TempDir under some umasks, as Ubuntu's, and
// then no cache uses it.
func EmptyCache(t testing.TB) string {
	dir := filepath.Join(t.TempDir(), "cache")
	t.Setenv(backend.EnvCache, dir)
	return dir
}

// required is what TANDEM_REQUIRE asks for.
func required() []string {
	return strings.Split(strings.ReplaceAll(os.Getenv(EnvRequire), " ", ""), ",")
}

// An Option changes what Run runs.
type Option func(*options)

type options struct {
	validOnly bool
	skip      map[string]string // reasons by name or prefix
}

// ValidCallsOnly leaves out the cases that make mistakes on purpose, for runs under a checker that
// reports them.
func ValidCallsOnly() Option { return func(o *options) { o.validOnly = true } }

// Skip leaves out the case of that name ("Compile/SyntaxError"), or all of a group ("Concurrency"),
// and reports the reason.
func Skip(name, reason string) Option { return func(o *options) { o.skip[name] = reason } }

// Again is for one more run of the suite on a device that has had one: with -short it leaves out
// the cases of package conformance, which take most of the time on a simulated device.
func Again() Option {
	return func(o *options) {
		if testing.Short() {
			o.skip["Conformance"] = "left out by -short: it has run on this device"
		}
	}
}

// reason says why c is left out; "" if it is not.
func (o *options) reason(c *testCase) string {
	if o.validOnly && c.calls == refused {
		return "makes mistakes on purpose"
	}
	group, _, _ := strings.Cut(c.name, "/")
	if why, ok := o.skip[c.name]; ok {
		return why
	}
	return o.skip[group]
}

// Run tests every device of d, a subtest for each device and case. Without devices it is skipped
// with the driver's reasons, or fails, as Require has it.
func Run(t *testing.T, d backend.Driver, opts ...Option) {
	o := options{skip: map[string]string{}}
	for _, opt := range opts {
		opt(&o)
	}
	infos, err := d.Devices()
	if err != nil && !errors.Is(err, backend.ErrNoDevice) {
		t.Fatalf("Devices: %v, which does not match ErrNoDevice", err)
	}
	Require(t, d.Name(), err)
	if len(infos) == 0 {
		t.Fatal("Devices: no devices and no error")
	}
	for i, info := range infos {
		t.Run(fmt.Sprintf("%d_%s", i, info.Name), func(t *testing.T) {
			// Some drivers set a device up at the first Open and tear it down at the last Close.
			// Holding it open saves that in each case.
			hold, err := d.Open(i)
			if err != nil {
				t.Fatalf("Open(%d): %v", i, err)
			}
			defer hold.Close()
			for _, c := range suite() {
				t.Run(c.name, func(t *testing.T) {
					if why := o.reason(&c); why != "" {
						t.Skip(why)
					}
					err := c.check(d, i)
					if skip := (skipped{}); errors.As(err, &skip) {
						t.Skip(skip.reason)
					}
					if err != nil {
						t.Errorf("the contract: %s\n%v", c.contract, err)
					}
				})
			}
		})
	}
}

// A testCase proves one sentence of the contract on one device.
type testCase struct {
	name     string // "Group/Case"
	calls    calls
	run      func(e *env)
	contract string // the sentence, as package backend has it
}

// calls tells whether a case makes mistakes on purpose.
type calls bool

const (
	valid   calls = false
	refused calls = true
)

// suite is all cases.
func suite() []testCase {
	return slices.Concat(infoCases, memoryCases, hostCases, orderCases, eventCases, launchCases, localCases,
		compileCases,
		numericsCases, conformanceCases, concurrencyCases, closeCases)
}

// skipped is the error of a case that does not apply to the device.
type skipped struct{ reason string }

func (s skipped) Error() string { return "skipped: " + s.reason }

// stop ends a case from the inside. Its failures are noted in the env.
type stop struct{}

// check runs c on device i of d and returns all that went wrong: nil, a skipped, or the failures.
func (c *testCase) check(d backend.Driver, i int) (err error) {
	e := &env{report: &report{driver: d, index: i}}
	defer func() {
		e.close()
		err = errors.Join(e.failures...)
	}()
	defer e.caught()
	c.run(e.open())
	return nil
}
