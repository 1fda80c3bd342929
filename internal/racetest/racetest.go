// Package racetest leaves tests out under the race detector that take minutes there and find
// nothing.
package racetest

import "testing"

// Skip ends t where the race detector runs, and says why: make test, or make long, runs it.
func Skip(t testing.TB, why string) {
	t.Helper()
	if Enabled {
		t.Skip("not under the race detector: " + why)
	}
}
