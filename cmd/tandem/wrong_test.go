package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/internal/racetest"
)

// envWrong makes the test program be tandem itself, with the driver "wrong" beside the others.
const envWrong = "TANDEM_TEST_WRONG"

// wrong is the cpu driver but for sums, whose first element has a wrong bit.
type wrong struct{ backend.Driver }

func (wrong) Name() string { return "wrong" }

func (w wrong) Open(i int) (*backend.Device, error) {
	d, err := w.Driver.Open(i)
	if err != nil {
		return nil, err
	}
	return backendtest.Hook(d, &backendtest.Hooks{Compile: wrongSource}), nil
}

func wrongSource(s *backend.Source) *backend.Source {
	if !strings.HasPrefix(s.Name, "add_") {
		return s
	}
	w := *s
	w.Native = nil
	w.Go = func(g backend.Grid, lo, hi int, args []backend.Arg) error {
		err := s.Go(g, lo, hi, args)
		z := args[:5] // the result, its offset, rows, columns, leading dimension
		size := 4
		if s.Name == "add_float64" {
			size = 8
		}
		if mem := backend.Mem[byte](z[0]); err == nil && lo == 0 && hi > 0 && z[2].Int64()*z[3].Int64() > 0 {
			mem[int(z[1].Int64())*size] ^= 1
		}
		return err
	}
	return &w
}

// mainWrong runs the program with the driver.
func mainWrong() {
	backend.Register(wrong{backend.Lookup("cpu")})
	main()
}

// Wrong bits are named case by case, and make the exit code 1.
func TestConformanceDiffers(t *testing.T) {
	racetest.Skip(t, "it is of bits")
	conformance := func(args ...string) (code int, stdout, stderr string) {
		t.Helper()
		cmd := exec.Command(executable(t), append([]string{"conformance", "--quick", "--backend", "wrong"}, args...)...)
		cmd.Env = append(os.Environ(), envWrong+"=1")
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), out.String(), errs.String()
	}
	code, stdout, stderr := conformance()
	if code != exitError || !strings.Contains(stdout, "differs  add") || !strings.Contains(stdout, "not golden") ||
		!strings.Contains(stderr, "differ from golden") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	code, stdout, _ = conformance("--json")
	var reports []conformanceReport
	if err := json.Unmarshal([]byte(stdout), &reports); err != nil || len(reports) != 1 {
		t.Fatalf("%v: %.300s", err, stdout)
	}
	r := reports[0]
	if code != exitError || r.Pass || len(r.Failures) == 0 || len(r.Failures) == r.Cases || r.Digest == r.Golden {
		t.Errorf("exit code %d, pass %t, %d failures of %d cases", code, r.Pass, len(r.Failures), r.Cases)
	}
	for _, f := range r.Failures {
		if !strings.HasPrefix(f.Case, "add") || f.Digest == f.Golden {
			t.Errorf("%+v", f)
		}
	}
}
