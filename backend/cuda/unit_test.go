package cuda

import (
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/cudasim/ptxsim"
	"github.com/tandem-gpu/tandem/backend/driverkit"
)

// The probe accepts the matrix instructions, which the simulated device computes as the chain, or
// exactly, and none that differs a little.
func TestMatrixUnits(t *testing.T) {
	d := openSim(t, simulator(ptxsim.Config{Arch: 90}))
	q := must[*backend.Queue](t)(d.NewQueue())
	defer q.Close()
	accepts := func(u *matrixUnit, ptx []byte) bool {
		f := new(driverkit.Arithmetic)
		examine := driverkit.ExamineUnit[float64]
		if u.a != "" {
			examine = func(f *driverkit.Arithmetic, d *backend.Device, q *backend.Queue, unit *driverkit.Unit,
				s *backend.Source,
			) (string, error) {
				return driverkit.ExamineByteUnit(f, d, q, unit, u.a == "s8", u.b == "s8", s)
			}
		}
		right := must[string](t)(examine(f, d, q, &u.Unit, u.source(ptx))) == u.Name
		if right != (f.Notes == nil) {
			t.Errorf("%s: right %v, notes %q", u.Name, right, f.Notes)
		}
		return right
	}
	check := func(u *matrixUnit, wrong [][2]string) {
		text := string(u.ptx())
		if !accepts(u, []byte(text)) {
			t.Errorf("%s is refused", u.Name)
		}
		for _, w := range wrong {
			if !strings.Contains(text, w[0]) {
				t.Fatalf("the probe has no %s", w[0])
			}
			if accepts(u, []byte(strings.Replace(text, w[0], w[1], 1))) {
				t.Errorf("%s with %s is accepted", u.Name, w[1])
			}
		}
	}
	for i := range matrixUnits {
		check(&matrixUnits[i], [][2]string{
			{"mov.f64 %c0, 0d0000000000000000;", "mov.f64 %c0, 0d0000000000000001;"},
			{"mov.f64 %c0, 0d0000000000000000;", "mov.f64 %c0, 0d8000000000000000;"},
			{"[%a];", "[%a];\n\tfma.rz.f64 %a0, %a0, %a0, %a0;"},
			{"st.global.f64 [%out+8], %c1;", "add.f64 %c1, %c1, %c1;\n\tst.global.f64 [%out+8], %c1;"},
			{"[%out], %c0", "[%out], %c1"},
		})
	}
	for i := range byteUnits {
		u := &byteUnits[i]
		types := u.a + "." + u.b
		check(u, [][2]string{
			{types, map[string]string{"s8": "u8", "u8": "s8"}[u.a] + "." + u.b},
			{types, u.a + "." + map[string]string{"s8": "u8", "u8": "s8"}[u.b]},
			{"st.global.b32 [%out+4], %c1;", "max.s32 %c1, %c1, 0;\n\tst.global.b32 [%out+4], %c1;"}, // as if saturated
			{"{%a0,%a1,%a2,%a3}", "{%a0,%a2,%a1,%a3}"},
			{"{%b0,%b1}", "{%b1,%b0}"},
			{"[%out+256], %c2", "[%out+256], %c3"},
		})
	}
}
