package cpu

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/clock"
	"github.com/tandem-gpu/tandem/internal/parallel"
)

// Cores are woken sooner where launches have come one after the other, and as before after a pause.
func TestPace(t *testing.T) {
	var p pace
	now := clock.Now()
	for i := range 12 {
		alone, _ := p.begin(now)
		if early := i == 11; early != (alone < soon) {
			t.Errorf("launch %d works alone for %v", i, alone)
		}
		p.add(now, soon)
		now += soon + parallel.Patience
	}
	if alone, _ := p.begin(now + 1); alone != soon {
		t.Errorf("a launch after a pause works alone for %v", alone)
	}
}

// A launch lasts until the last of its groups is done, wherever they run: what follows comes soon.
func TestPaceOfSharedLaunch(t *testing.T) {
	d := openDevice(t)
	var last atomic.Int64
	k := compile(t, d, none, func(backend.Grid, int, int, []backend.Arg) error {
		time.Sleep(soon)
		last.Store(int64(clock.Now()))
		return nil
	})
	for range 2 { // the second one knows that a group takes long
		if err := newQueue(t, d).Launch(k, backend.Grid1(20, 1)); err != nil {
			t.Fatal(err)
		}
		if end := lately.end.Load(); end < last.Load() {
			t.Errorf("the launch ended %d ns before its last group", last.Load()-end)
		}
	}
}
