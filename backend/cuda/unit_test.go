package cuda

import (
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/cudasim/ptxsim"
	"github.com/tandem-gpu/tandem/backend/driverkit"
)

// The probe accepts the matrix instructions, which the simulated device computes as the chain, and
// none that differs a little.
func TestMatrixUnits(t *testing.T) {
	d := openSim(t, simulator(ptxsim.Config{Arch: 90}))
	q := must[*backend.Queue](t)(d.NewQueue())
	defer q.Close()
	isChain := func(u *matrixUnit, ptx []byte) bool {
		f := new(driverkit.Arithmetic)
		exact := must[string](t)(driverkit.ExamineUnit[float64](f, d, q, &u.Unit, u.source(ptx))) == u.Name
		if exact != (f.Notes == nil) {
			t.Errorf("%s: chain %v, notes %q", u.Name, exact, f.Notes)
		}
		return exact
	}
	for i := range matrixUnits {
		u := &matrixUnits[i]
		if !isChain(u, u.ptx()) {
			t.Errorf("%s is not the chain", u.Name)
		}
		text := string(u.ptx())
		for _, wrong := range [][2]string{
			{"mov.f64 %c0, 0d0000000000000000;", "mov.f64 %c0, 0d0000000000000001;"},
			{"mov.f64 %c0, 0d0000000000000000;", "mov.f64 %c0, 0d8000000000000000;"},
			{"[%a];", "[%a];\n\tfma.rz.f64 %a0, %a0, %a0, %a0;"},
			{"st.global.f64 [%out+8], %c1;", "add.f64 %c1, %c1, %c1;\n\tst.global.f64 [%out+8], %c1;"},
			{"[%out], %c0", "[%out], %c1"},
		} {
			if !strings.Contains(text, wrong[0]) {
				t.Fatalf("the probe has no %s", wrong[0])
			}
			if isChain(u, []byte(strings.Replace(text, wrong[0], wrong[1], 1))) {
				t.Errorf("%s with %s is taken for the chain", u.Name, wrong[1])
			}
		}
	}
}
