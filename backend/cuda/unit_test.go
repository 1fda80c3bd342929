package cuda

import (
	"math"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/cudasim/ptxsim"
)

// The probe accepts the matrix instructions, which the simulated device computes as the chain, and
// none that differs a little.
func TestMatrixUnits(t *testing.T) {
	d := openSim(t, simulator(ptxsim.Config{Arch: 90}))
	q := must[*backend.Queue](t)(d.NewQueue())
	defer q.Close()
	for i := range matrixUnits {
		u := &matrixUnits[i]
		if !must[bool](t)(u.isChain(d, q, u.ptx())) {
			t.Errorf("%s is not the chain", u.name)
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
			if must[bool](t)(u.isChain(d, q, []byte(strings.Replace(text, wrong[0], wrong[1], 1)))) {
				t.Errorf("%s with %s is taken for the chain", u.name, wrong[1])
			}
		}
	}
}

// The products of the probe are of every kind.
func TestMatrixUnitSamples(t *testing.T) {
	for i := range matrixUnits {
		_, want := matrixUnits[i].samples()
		var subnormal, large, nan int
		for _, w := range want {
			switch a := math.Abs(w); {
			case w != w:
				nan++
			case a > 0 && a < 0x1p-1022:
				subnormal++
			case a > 0x1p200:
				large++
			}
		}
		if len(want) < 4096 || subnormal < 100 || large < 20 || nan < 100 {
			t.Errorf("%d products: %d subnormal, %d large, %d NaN", len(want), subnormal, large, nan)
		}
	}
}
