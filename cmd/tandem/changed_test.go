package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	_, err = new(app).load(touching{t.Context(), path}, path, nil, npy.ReadHeader)
	if err == nil || !strings.Contains(err.Error(), "a.npy has changed") {
		t.Errorf("a file that changes: %v", err)
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
