// Package exampletest runs the example programs on every backend that the machine has.
package exampletest

import (
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	_ "github.com/tandem-gpu/tandem/backend/cudasim"
)

// Each calls f for every backend, with -short not for the simulated GPU.
func Each(t *testing.T, f func(t *testing.T, spec string)) {
	for _, d := range backend.Drivers() {
		t.Run(d.Name(), func(t *testing.T) {
			if testing.Short() && d.Name() == "cudasim" {
				t.Skip("the simulated GPU is slow")
			}
			_, err := d.Devices()
			backendtest.Require(t, d.Name(), err)
			f(t, d.Name())
		})
	}
}

// Run runs a program on every backend and compares what it prints with want, in which a * stands
// for any text within a line.
func Run(t *testing.T, run func(w io.Writer, spec string) error, want string) {
	Each(t, func(t *testing.T, spec string) { Check(t, run, spec, want) })
}

// Check is Run on one backend.
func Check(t *testing.T, run func(w io.Writer, spec string) error, spec, want string) {
	t.Helper()
	var out strings.Builder
	err := run(&out, spec)
	if (spec == "cuda" || spec == "cudasim") && errors.Is(err, backend.ErrUnsupported) {
		backendtest.Require(t, "nvrtc", err) // a kernel of the program's own comes as text
	}
	if err != nil {
		t.Fatal(err)
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(want), `\*`, `.*`)
	if !regexp.MustCompile(`^` + pattern + `$`).MatchString(out.String()) {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
}
