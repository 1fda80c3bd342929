package cpu

import (
	"sync/atomic"
	"time"

	"github.com/tandem-gpu/tandem/internal/parallel"
)

// soon is how long the caller's goroutine works alone on a launch: waking another core takes
// longer. Tests change it.
var soon = 20 * time.Microsecond

// A pace is how long launches have worked that came soon one after the other. What is too short to
// wake a core for by itself is not where more of it is likely to come: a core that was woken stays
// awake between such launches.
type pace struct{ end, worked atomic.Int64 }

// lately is that of the process.
var lately pace

// begin tells how long a launch that starts now works alone, and of how much work other cores are
// given a share then.
func (p *pace) begin(now time.Duration) (alone, worth time.Duration) {
	if int64(now)-p.end.Load() > int64(parallel.Patience) {
		p.worked.Store(0)
	}
	if p.worked.Load() > 10*int64(soon) {
		return min(soon, 2*time.Microsecond), 6 * time.Microsecond
	}
	return soon, 30 * time.Microsecond
}

// add adds a launch.
func (p *pace) add(start, worked time.Duration) {
	p.worked.Add(int64(worked))
	p.end.Store(int64(start + worked))
}
