//go:build !windows

package clock

import "time"

var start = time.Now()

// Now is the time since some moment before the first call.
func Now() time.Duration { return time.Since(start) }
