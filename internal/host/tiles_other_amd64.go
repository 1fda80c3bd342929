//go:build !linux && !purego

package host

// mayUseTiles: the registers of AMX are those of Linux alone here.
func mayUseTiles() bool { return false }
