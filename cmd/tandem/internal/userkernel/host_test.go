package userkernel

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"
)

const envSleep = "TANDEM_TEST_SLEEP"

// A program that is interrupted is no program that fails.
func TestFinishInterrupted(t *testing.T) {
	if os.Getenv(envSleep) != "" {
		time.Sleep(time.Minute)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, exe, "-test.run=^TestFinishInterrupted$")
	cmd.Env = append(os.Environ(), envSleep+"=1")
	time.AfterFunc(100*time.Millisecond, cancel)
	if err := finish(ctx, cmd, "sleeping"); err != context.Canceled {
		t.Error(err)
	}
}
