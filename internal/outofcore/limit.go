package outofcore

import (
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
)

// The environment variables that limit the memory of each device, and the host's.
const (
	EnvMemory     = "TANDEM_MEMORY"
	EnvHostMemory = "TANDEM_HOST_MEMORY"
)

// HostLimit is how many bytes of the host's memory a call may use that asks for so many, or with 0
// for what EnvHostMemory allows.
func HostLimit(asked int64) (int64, error) {
	if asked < 0 {
		return 0, argument("%d bytes of the host's memory", asked)
	}
	if asked > 0 {
		return asked, nil
	}
	limit, err := Limit(EnvHostMemory, backend.HostInfo().MaxAlloc)
	if err == nil && limit < leastHostMemory {
		return 0, argument("%s is %q; give 64KiB or more, and mind the unit", EnvHostMemory, os.Getenv(EnvHostMemory))
	}
	return limit, err
}

// leastHostMemory is the least that EnvHostMemory may allow, in bytes. With less, blocks have a few
// elements and the work hardly ends; it is mostly a number whose unit was forgotten.
const leastHostMemory = 64 << 10

// Limit is how many bytes of so much memory, 0 where that is not known, a variable allows: bytes
// ("1000000"), KiB, MiB or GiB ("512MiB"), or a share ("50%"). Where it is not set, that leaves
// room for others.
func Limit(variable string, memory int64) (int64, error) {
	if memory <= 0 {
		memory = math.MaxInt64 / 2
	}
	text := strings.TrimSpace(os.Getenv(variable))
	if text == "" {
		return memory / 4 * 3, nil
	}
	number, scale := text, 1.0
	for unit, size := range map[string]float64{
		"%": float64(memory) / 100, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
	} {
		if n := len(number) - len(unit); n >= 0 && strings.EqualFold(number[n:], unit) {
			number, scale = strings.TrimSpace(number[:n]), size
			break
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	share := strings.HasSuffix(text, "%")
	if err != nil || !(v > 0) || math.IsInf(v, 0) || share && v > 100 {
		return 0, argument("%s is %q; give bytes, as in 1000000, 512MiB or 8GiB, or a share, as in 50%%", variable,
			text)
	}
	return int64(min(v*scale, math.MaxInt64/2)), nil
}

func argument(format string, v ...any) error {
	return backend.Failure("", "linalg", backend.ErrArgument, format, v...)
}
