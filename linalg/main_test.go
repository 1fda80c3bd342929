package linalg_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/tandem-gpu/tandem/internal/racetest"
	"github.com/tandem-gpu/tandem/linalg"
)

// No test may leave a goroutine behind, nor trust that a result is zero before it is written.
func TestMain(m *testing.M) {
	if !racetest.Enabled { // whose detector keeps several bytes for each that is written
		linalg.PoisonResults()
	}
	goleak.VerifyTestMain(m)
}
