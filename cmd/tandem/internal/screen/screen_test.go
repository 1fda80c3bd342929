package screen

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// take gives what was written since the last time.
func (l *lockedBuffer) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.b.Reset()
	return l.b.String()
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var screen lockedBuffer
		p := startProgress(&screen, time.Second)
		p.Begin("reading a.npy")
		time.Sleep(900 * time.Millisecond)
		p.At(0.5)
		synctest.Wait()
		if s := screen.take(); s != "" {
			t.Errorf("before its time: %q", s)
		}
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		if s := screen.take(); !strings.Contains(s, "reading a.npy") || !strings.Contains(s, "50%") ||
			!strings.Contains(s, ", 1s, 1s left") {
			t.Errorf("no bar: %q", s)
		}
		p.Begin("computing")
		time.Sleep(time.Second)
		synctest.Wait()
		if s := screen.take(); !strings.Contains(s, "computing") || strings.Contains(s, "%") {
			t.Errorf("no spinner: %q", s)
		}
		p.Close()
		p.Close()
		// The last thing on the screen is an empty line.
		if s := screen.take(); strings.TrimSpace(s) != "" || !strings.HasSuffix(s, "\r") {
			t.Errorf("not cleared: %q", s)
		}
	})
	// No terminal, nothing to see.
	var none *Progress
	none.Begin("x")
	none.At(1)
	none.Close()
	if p := NewProgress(io.Discard); p != nil {
		t.Error("progress without a terminal")
	}
}

// A terminal that cannot move its cursor shows nothing that moves.
func TestProgressOnDumbTerminal(t *testing.T) {
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil || !IsTerminal(f) {
		t.Skipf("no terminal: %v", err)
	}
	defer f.Close()
	for term, want := range map[string]bool{"xterm": true, "dumb": false} {
		t.Setenv("TERM", term)
		p := NewProgress(f)
		p.Close()
		if (p != nil) != want {
			t.Errorf("TERM=%s: progress %t", term, p != nil)
		}
	}
}

// Control characters, which names of files may have, do not reach the terminal.
func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"a\x1b[31mb\x00.npy: no\n\tsuch file": `a\x1b[31mb\x00.npy: no` + "\n\tsuch file",
		"\r\u009b2J\a":                        `\r\u009b2J\a`,
		"größe 'ß'":                           "größe 'ß'",
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
