package driverkit

import (
	"math"
	"testing"
)

// The products of the probes of units are of every kind.
func TestUnitSamples(t *testing.T) {
	for _, u := range []Unit{{Rows: 16, Cols: 16}, {Rows: 16, Cols: 8}, {Rows: 8, Cols: 8}} {
		testUnitSamples[float32](t, &u, 0x1p-126, 0x1p30)
		testUnitSamples[float64](t, &u, 0x1p-1022, 0x1p200)
	}
}

func testUnitSamples[T float32 | float64](t *testing.T, u *Unit, normal, far float64) {
	_, want := unitSamples[T](u)
	var subnormal, large, nan int
	for _, w := range want {
		switch a := math.Abs(float64(w)); {
		case w != w:
			nan++
		case a > 0 && a < normal:
			subnormal++
		case a > far && !math.IsInf(a, 0):
			large++
		}
	}
	if len(want) != 4096 || subnormal < 100 || large < 20 || nan < 100 {
		t.Errorf("%T, %+v: %d products: %d subnormal, %d large, %d NaN", want, u, len(want), subnormal, large, nan)
	}
}
