package cluster

import (
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if what := os.Getenv(envRank); what != "" {
		rankMain(what)
		return
	}
	patience = 10 * time.Millisecond
	goleak.VerifyTestMain(m)
}
