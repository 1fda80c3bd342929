//go:build !race

package racetest

// Enabled is whether the race detector runs.
const Enabled = false
