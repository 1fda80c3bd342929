package cpu

import (
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/internal/parallel"
)

// Cores are woken sooner where launches have come one after the other, and as before after a pause.
func TestPace(t *testing.T) {
	var p pace
	now := time.Now()
	for i := range 12 {
		alone, _ := p.begin(now)
		if early := i == 11; early != (alone < soon) {
			t.Errorf("launch %d works alone for %v", i, alone)
		}
		p.add(now, soon)
		now = now.Add(soon + parallel.Patience)
	}
	if alone, _ := p.begin(now.Add(1)); alone != soon {
		t.Errorf("a launch after a pause works alone for %v", alone)
	}
}
