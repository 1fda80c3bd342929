package kernels

import (
	"math"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/host"
)

// Crossover is the size from which a product in type t, of operands in host memory, is not slower on the device of info than on the host, as it was measured: the
// harmonic mean of m, n and k, since the work grows with m*n*k and the copies with m*k + k*n + m*n. math.MaxInt stands for never. It looks in the user's
// tuning file, and then in the data that come with the program. ok is false where neither knows.
func Crossover(info *backend.Info, t Type) (size int, ok bool) {
	c := tuning().of(info, t)
	return c.crossover, c.crossed
}

// A crossRule is a [Crossing] that comes with the program, for the devices that it matches. It was measured beside a host with assembly for products.
type crossRule struct {
	match
	N     int  `json:"n,omitempty"`
	Never bool `json:"never,omitempty"`
}

// findCrossover is [Crossover], for the caches.
func findCrossover(user *DeviceTuning, rules []crossRule, info *backend.Info, t Type) (size int, ok bool) {
	if user != nil {
		for _, c := range user.Crossover {
			if c.Type == t.String() && c.Host == HostName() && (c.Never || c.N > 0) {
				return crossoverSize(c.N, c.Never), true
			}
		}
	}
	if info.Driver != cpuDriver && host.InstructionSet() == "go" {
		return 0, false
	}
	for level := maxLevel; level > 0; level-- {
		for i := range rules {
			if rules[i].level(info, t) == level {
				return crossoverSize(rules[i].N, rules[i].Never), true
			}
		}
	}
	return 0, false
}

func crossoverSize(n int, never bool) int {
	if never {
		return math.MaxInt
	}
	return n
}
