package driverkit

import (
	"log"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/backend"
)

type lines chan string

func (l lines) Write(text []byte) (int, error) {
	l <- string(text)
	return len(text), nil
}

// A build that takes long, or for ever, says so while it runs; others say nothing.
func TestSlowBuild(t *testing.T) {
	logged := make(lines, 1)
	log.SetOutput(logged)
	defer log.SetOutput(os.Stderr)
	defer func(old time.Duration) { patience = old }(patience)

	programs := Programs[string]{Release: func(string) {}}
	build := func(wait func()) {
		programs.Build = func(*backend.Source) (string, error) { wait(); return "", nil }
		_, leave, err := programs.Get(&backend.Source{Name: "blur", File: "image.cl"})
		if err != nil {
			t.Fatal(err)
		}
		leave()
	}
	patience = 0
	build(func() {
		if text := <-logged; !strings.Contains(text, "kernel blur of image.cl") {
			t.Errorf("logged %q", text)
		}
	})
	patience = time.Hour
	build(func() {})
	if len(logged) > 0 {
		t.Errorf("logged %q", <-logged)
	}
}
