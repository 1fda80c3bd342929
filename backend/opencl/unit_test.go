package opencl

import (
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
)

// mfmaPrelude has the probe's numbers change hands in its output.
const mfmaPrelude = "#define EXCHANGE out\n"

// The probe accepts AMD's matrix instructions as tests compute them, and none that differs a
// little; where the compiler knows none, or the driver is another's, there is none.
func TestMatrixUnits(t *testing.T) {
	d := open(t)
	q := newQueue(t, d)
	defer q.Close()
	const differs = "is not used: it is not the chain"
	for _, c := range []struct{ old, new, note string }{
		{"", "", ""},
		{"#define MFMA(", "#define fma(a, b, c) ((a) * (b) + (c))\n#define MFMA(", differs},
		{"p_ * 16 +", "(3 - p_) * 16 +", differs}, // k descends
		{"sums_ = (c)", "sums_ = (c) * (c)", differs},
		{"lane_ / 16 * 4 + e_", "lane_ / 16 + e_ * 4", differs},
		{"__has_builtin(x) 1", "__has_builtin(x) 0", "no matrix instruction"},
	} {
		t.Run(c.new, func(t *testing.T) {
			if !strings.Contains(backendtest.MFMA, c.old) {
				t.Fatalf("no %s", c.old)
			}
			withPrelude(t, strings.ReplaceAll(backendtest.MFMA, c.old, c.new)+mfmaPrelude)
			for _, amd := range []bool{true, false} {
				var f findings
				f.Float32, f.Float64 = true, c.old == ""
				own(d).amd = amd
				check(t, own(d).examineUnits(&f, d, q))
				own(d).amd = false
				want32, want64 := "", ""
				if amd && c.old == "" {
					want32, want64 = mfma32.Name, mfma64.Name
				}
				if f.Float32Unit != want32 || f.Float64Unit != want64 || (f.Notes != nil) != (amd && c.note != "") ||
					!strings.Contains(strings.Join(f.Notes, ""), c.note) && amd {
					t.Errorf("AMD's %v: %q, %q, notes %q", amd, f.Float32Unit, f.Float64Unit, f.Notes)
				}
				var info backend.Info
				t.Setenv(backend.EnvMatrix, "off")
				if f.apply(&info); info.Float32Unit != "" || info.Float64Unit != "" {
					t.Errorf("used, though they are off: %+v", info)
				}
			}
		})
	}
}
