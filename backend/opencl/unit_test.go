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
	const differs, inexact = "is not used: it is not the chain", "is not used: its sums are not exact"
	for _, c := range []struct {
		old, new, note string
		floats, int8   bool // whether it stays
	}{
		{"", "", "", true, true},
		{"#define MFMA(", "#define fma(a, b, c) ((a) * (b) + (c))\n#define MFMA(", differs, false, true},
		{"p_ * 16 +", "(3 - p_) * 16 +", differs, false, true}, // k descends
		{"sums_ = (c)", "sums_ = (c) * (c)", differs, false, true},
		{"lane_ / 16 * 4 + e_", "lane_ / 16 + e_ * 4", differs, false, false},
		{"sums_[e_] += (uint)(x_ * y_)", "sums_[e_] = (uint)add_sat((int)sums_[e_], x_ * y_)", inexact, true, false},
		{"const char x_", "const uchar x_", inexact, true, false},
		{"__has_builtin(x) 1", "__has_builtin(x) 0", "no matrix instruction", false, false},
	} {
		t.Run(c.new, func(t *testing.T) {
			if !strings.Contains(backendtest.MFMA, c.old) {
				t.Fatalf("no %s", c.old)
			}
			withPrelude(t, strings.ReplaceAll(backendtest.MFMA, c.old, c.new)+mfmaPrelude)
			for _, amd := range []bool{true, false} {
				var f findings
				f.Float32, f.Float64 = true, c.floats
				own(d).amd = amd
				check(t, own(d).examineUnits(&f, d, q))
				own(d).amd = false
				want32, want64, want8 := "", "", ""
				if amd && c.floats {
					want32, want64 = mfma32.Name, mfma64.Name
				}
				if amd && c.int8 {
					want8 = mfma8.Name
				}
				if f.Float32Unit != want32 || f.Float64Unit != want64 || f.Int8Unit != want8 ||
					(f.Notes != nil) != (amd && c.note != "") ||
					!strings.Contains(strings.Join(f.Notes, ""), c.note) && amd {
					t.Errorf("AMD's %v: %q, %q, %q, notes %q", amd, f.Float32Unit, f.Float64Unit, f.Int8Unit, f.Notes)
				}
				var info backend.Info
				t.Setenv(backend.EnvMatrix, "off")
				if f.apply(&info); info.Float32Unit+info.Float64Unit+info.Int8Unit != "" {
					t.Errorf("used, though they are off: %+v", info)
				}
			}
		})
	}
}
