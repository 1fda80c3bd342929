//go:build !purego

package cpu

// levels is the names of the levels of machine code that the processor runs: all have Neon.
func levels() []string { return []string{"neon"} }
