package clock

import (
	"testing"
	"time"
)

// The clock goes in steps that are short beside a launch, never back, and as fast as time.Now.
func TestNow(t *testing.T) {
	before, first, begin := time.Now(), Now(), time.Now()
	last, smallest := first, time.Hour
	for time.Since(begin) < 40*time.Millisecond {
		now := Now()
		if now < last {
			t.Fatalf("%v came after %v", now, last)
		}
		if now > last {
			smallest = min(smallest, now-last)
		}
		last = now
	}
	if smallest > 5*time.Microsecond {
		t.Errorf("the clock goes in steps of %v", smallest)
	}
	least := time.Since(begin) // a busy machine may stop the test between any two lines
	by := Now() - first
	if most := time.Since(before); by > 2*most || least > 2*by {
		t.Errorf("%v by the clock are %v to %v by time.Now", by, least, most)
	}
}
