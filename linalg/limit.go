package linalg

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
)

// EnvMemory is the environment variable that limits the memory of each device that a call on host
// matrices uses at a time: bytes ("1000000"), KiB, MiB or GiB ("512MiB"), or a share of the
// device's memory ("50%"). A session reads it when it is opened.
const EnvMemory = "TANDEM_MEMORY"

// A memoryLimit is a number of bytes, or a share. The zero value is no limit.
type memoryLimit struct{ bytes, share float64 }

// readMemoryLimit is the limit that a variable sets.
func readMemoryLimit(variable string) (memoryLimit, error) {
	text := os.Getenv(variable)
	if text == "" {
		return memoryLimit{}, nil
	}
	number, scale := strings.TrimSpace(text), 1.0
	for unit, size := range map[string]float64{"%": 0, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		if n := len(number) - len(unit); n >= 0 && strings.EqualFold(number[n:], unit) {
			number, scale = strings.TrimSpace(number[:n]), size
			break
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v > 0) || math.IsInf(v, 0) || scale == 0 && v > 100 {
		return memoryLimit{}, &backend.Error{
			Op: "linalg", Err: backend.ErrArgument,
			Detail: fmt.Sprintf("%s is %q; give bytes, as in 1000000, 512MiB or 8GiB, or a share, as in 50%%",
				variable, text),
		}
	}
	if scale == 0 {
		return memoryLimit{share: v / 100}, nil
	}
	return memoryLimit{bytes: v * scale}, nil
}

// isSet tells whether there is a limit.
func (l memoryLimit) isSet() bool { return l != memoryLimit{} }

// of is the limit in bytes of a device with so much memory. Without one it leaves room for arrays.
func (l memoryLimit) of(memory int64) int64 {
	switch {
	case l.bytes > 0:
		return int64(min(l.bytes, math.MaxInt64/2))
	case memory <= 0:
		return math.MaxInt64 / 2
	case l.share > 0:
		return int64(l.share * float64(memory))
	}
	return memory / 4 * 3
}
