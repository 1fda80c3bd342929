package screen

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
	"unicode/utf8"
)

// A Progress shows on a terminal what the program is doing, once that takes long. A nil Progress
// shows nothing.
type Progress struct {
	w          io.Writer
	delay      time.Duration // until it shows
	stop, done chan struct{}

	mu       sync.Mutex
	phase    string
	begun    time.Time // the phase
	fraction float64   // of the phase, negative where it is not known
	width    int       // of what is shown
}

const (
	progressDelay = time.Second
	progressTick  = 100 * time.Millisecond
)

// NewProgress starts to show progress on w, if that is a terminal that can take it back. Close ends
// it.
func NewProgress(w io.Writer) *Progress {
	if !IsTerminal(w) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return startProgress(w, progressDelay)
}

func startProgress(w io.Writer, delay time.Duration) *Progress {
	p := &Progress{w: w, delay: delay, fraction: -1, stop: make(chan struct{}), done: make(chan struct{})}
	go p.show()
	return p
}

// Begin begins a phase whose length is not known before the first call of At.
func (p *Progress) Begin(phase string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phase, p.begun, p.fraction = Printable(phase), time.Now(), -1
}

// At says how much of the phase is done.
func (p *Progress) At(fraction float64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fraction = fraction
}

// Step begins a phase of work of which so much is done.
func (p *Progress) Step(phase string, fraction float64) {
	p.Begin(phase)
	p.At(fraction)
}

// Above is w for lines that are to stand above what is shown.
func (p *Progress) Above(w io.Writer) io.Writer {
	if p == nil {
		return w
	}
	return writerFunc(func(b []byte) (int, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.draw("") // what was there is drawn again below
		return w.Write(b)
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// Close takes what is shown from the terminal. It is idempotent, as the program's one goroutine
// calls it.
func (p *Progress) Close() {
	if p == nil {
		return
	}
	select {
	case <-p.done:
	default:
		close(p.stop)
		<-p.done
	}
}

// show draws, from its own goroutine, until Close.
func (p *Progress) show() {
	defer close(p.done)
	next := time.After(p.delay)
	for {
		select {
		case <-p.stop:
			p.draw("")
			return
		case <-next:
		}
		p.mu.Lock()
		p.draw(describe(p.phase, p.fraction, time.Since(p.begun)))
		p.mu.Unlock()
		next = time.After(progressTick)
	}
}

// draw shows text in the place of what was shown.
func (p *Progress) draw(text string) {
	if p.width > 0 || text != "" {
		fmt.Fprintf(p.w, "\r%*s\r%s", p.width, "", text)
	}
	p.width = utf8.RuneCountInString(text)
}

// describe says for how long a phase has been going on and, where that is known, how much of it is
// done and how long it will be.
func describe(phase string, fraction float64, passed time.Duration) string {
	text := phase + ", " + passed.Round(time.Second).String()
	if fraction > 0 {
		left := time.Duration(float64(passed) * (1 - fraction) / fraction)
		text += fmt.Sprintf(", %v left, %.0f%%", left.Round(time.Second), 100*fraction)
	}
	return text
}
