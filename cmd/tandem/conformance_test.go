package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/internal/racetest"
)

func TestConformance(t *testing.T) {
	racetest.Skip(t, "it is of bits")
	out := must(t, "conformance", "--quick", "--backend", "cpu")
	if !strings.Contains(out, "cpu:0") || !strings.Contains(out, "  golden\n") {
		t.Errorf("it prints\n%s", out)
	}
}

// The devices of one machine print one digest.
func TestConformanceAll(t *testing.T) {
	racetest.Skip(t, "it is of bits")
	out := must(t, "conformance", "--quick", "--backend", "all", "--json")
	var reports []struct {
		Pass   bool
		Digest string
		Cases  int
		Device struct{ Driver string }
	}
	if err := json.Unmarshal([]byte(out), &reports); err != nil {
		t.Fatal(err)
	}
	drivers := map[string]bool{}
	for _, r := range reports {
		drivers[r.Device.Driver] = true
		if !r.Pass || r.Cases == 0 || r.Digest != reports[0].Digest {
			t.Errorf("%+v", r)
		}
	}
	onBackends(t, func(t *testing.T, name string) {
		if !drivers[name] {
			t.Error("it was not asked")
		}
	})
}

func TestConformanceErrors(t *testing.T) {
	code, stdout, stderr := tandem("conformance", "--backend", "nonsense")
	if code != exitError || stdout != "" || !strings.Contains(stderr, `"nonsense"`) {
		t.Errorf("unknown backend: exit code %d\n%s%s", code, stdout, stderr)
	}
	for _, args := range [][]string{{"extra"}, {"--mpi", "--backend", "all"}} {
		if code, _, _ := tandem(append([]string{"conformance"}, args...)...); code != exitUsage {
			t.Errorf("%q: exit code %d", args, code)
		}
	}
}
