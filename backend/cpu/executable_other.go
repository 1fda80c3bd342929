//go:build purego || !(unix || windows)

package cpu

import "errors"

func executable([]byte) (uintptr, error) { return 0, errors.ErrUnsupported }
