package dl

import (
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// Go's handlers run, and return, after they were kept and set again.
func TestKeepSignals(t *testing.T) {
	got := make(chan os.Signal, 1)
	signal.Notify(got, syscall.SIGUSR1)
	defer signal.Stop(got)
	KeepSignals()()
	if err := syscall.Kill(os.Getpid(), syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	<-got
}
