package element

import (
	"math"
	"testing"
)

// Every number of 16 bits comes back from float32 as it was, numbers between two go to the nearer
// one, and those in the middle to the even one.
func TestHalves(t *testing.T) {
	type conversion struct {
		to       func(float32) uint16
		from     func(uint16) float32
		inf      uint16
		mantissa int // bits
		least    float64
	}
	for name, c := range map[string]conversion{
		"float16": {
			func(x float32) uint16 { return uint16(ToFloat16(x)) },
			func(h uint16) float32 { return Float16(h).Float32() }, 0x7c00, 10, 0x1p-24,
		},
		"bfloat16": {
			func(x float32) uint16 { return uint16(ToBFloat16(x)) },
			func(h uint16) float32 { return BFloat16(h).Float32() }, 0x7f80, 7, 0x1p-133,
		},
	} {
		if got := c.from(1); float64(got) != c.least {
			t.Errorf("%s: the least number is %v", name, got)
		}
		if one := uint16(c.inf>>c.mantissa/2) << c.mantissa; c.from(one) != 1 || c.from(one|1<<15) != -1 {
			t.Errorf("%s: 1 is %v", name, c.from(one))
		}
		for h := range uint16(1 << 15) {
			x := c.from(h)
			switch back := c.to(x); {
			case h > c.inf: // NaN, which becomes quiet
				if x == x || back != h|1<<(c.mantissa-1) {
					t.Fatalf("%s: the NaN %#x is %v, and comes back as %#x", name, h, x, back)
				}
				continue
			case back != h || c.to(-x) != h|1<<15 || c.from(h|1<<15) != -x:
				t.Fatalf("%s: %#x is %v, and comes back as %#x", name, h, x, back)
			case h >= c.inf-1:
				continue
			}
			next := c.from(h + 1)
			middle := float32((float64(x) + float64(next)) / 2)
			for y, want := range map[float32]uint16{
				middle: h + h&1, math.Nextafter32(middle, 0): h, math.Nextafter32(middle, next): h + 1,
			} {
				if got := c.to(y); x < next && middle != x && got != want {
					t.Fatalf("%s: %v between %v and %v is %#x, want %#x", name, y, x, next, got, want)
				}
			}
		}
		largest := c.from(c.inf - 1)
		half := float64(largest) - float64(c.from(c.inf-2))
		over := float32(float64(largest) + half/2)
		if got := c.to(over); got != c.inf {
			t.Errorf("%s: %v is %#x", name, over, got)
		}
		if got := c.to(math.Nextafter32(over, 0)); got != c.inf-1 {
			t.Errorf("%s: just below %v is %#x", name, over, got)
		}
	}
}
