package main

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/cmd/tandem/internal/files"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/screen"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/npy"
)

// An operand that is rewritten while it is read into memory is an error, not a mixture.
func TestChangedInput(t *testing.T) {
	data, err := os.ReadFile("../../testdata/a.npy")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.npy")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = (&files.Reader{Header: npy.ReadHeader}).Load(touching{t.Context(), path}, path)
	if err == nil || !strings.Contains(err.Error(), "a.npy has changed") {
		t.Errorf("a file that changes: %v", err)
	}
}

// A size that no number has is the most that there can be, and not below zero.
func TestHugeSize(t *testing.T) {
	h := npy.Header{Type: element.Float64, Shape: []int{math.MaxInt32, math.MaxInt32}}
	if got := screen.Bytes(h.Size()); got != "8.0 EiB" {
		t.Errorf("%d bytes are %s", h.Size(), got)
	}
}

// Control characters, which names of files may have, do not reach the terminal.
func TestPrintable(t *testing.T) {
	var stderr strings.Builder
	args := []string{"transpose", "no\x1b[2Jfile.npy", "-o", "-"}
	code := run(t.Context(), args, strings.NewReader(""), &stderr, &stderr)
	if code != exitError || !strings.Contains(stderr.String(), `no\x1b[2Jfile.npy`) {
		t.Errorf("exit code %d, %q", code, stderr.String())
	}
}

// A touching context touches a file whenever it is asked whether it has ended.
type touching struct {
	context.Context
	path string
}

func (c touching) Err() error {
	if err := os.Chtimes(c.path, time.Time{}, time.Unix(1, 0)); err != nil {
		return err
	}
	return c.Context.Err()
}
