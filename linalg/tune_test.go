package linalg

import (
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/internal/tuning"
	"github.com/tandem-gpu/tandem/kernels"
)

// Parameters of the user's tuning file that do not compile on the device break nothing: those that
// come with the program are used.
func TestTunedParametersThatDoNotCompile(t *testing.T) {
	device, err := backend.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	var source *backend.Source
	var refused atomic.Int32
	s, err := NewSession(backendtest.Hook(device, &backendtest.Hooks{
		Compile: func(s *backend.Source) *backend.Source { source = s; return s },
		Call: func(name string, call func() error) error {
			if name == "Device.Compile" && source.Macros["BM"] == "24" {
				refused.Add(1)
				return &backend.Error{Op: "compile", Err: backend.ErrUnsupported}
			}
			return call()
		},
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	info := s.Info()
	name := filepath.Join(t.TempDir(), "tune.json")
	p := kernels.MatMulParams{CPU: true, BM: 24, BN: 16, BK: 8, TM: 4, TN: 4, KU: 1, VW: 4}
	t.Cleanup(tuning.Reload) // after the environment is as it was
	t.Setenv(tuning.Env, name)
	if err := tuning.Keep(&tuning.Record{
		Device: tuning.DeviceIDOf(&info),
		MatMul: []tuning.Tuned[kernels.MatMulParams]{{Type: "int32", N: 32, Params: p}},
	}); err != nil {
		t.Fatal(err)
	}

	m := NewMatrix[int32](32, 32, nil)
	for i := range 32 {
		m.Set(i, i, 3)
	}
	for range 2 {
		c, err := MatMul(m, m, On(s), WithContext(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range c.Data {
			if want := m.Data[i] * 3; v != want {
				t.Fatalf("element %d is %d, want %d", i, v, want)
			}
		}
	}
	if n := refused.Load(); n != 1 {
		t.Errorf("%d kernels were refused, want the tuned one, once", n)
	}
}
