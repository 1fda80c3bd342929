package main

import (
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// A progress shows on a terminal what the program is doing, once that takes long. A nil progress
// shows nothing.
type progress struct {
	w          io.Writer
	delay      time.Duration // until it shows
	stop, done chan struct{}

	mu       sync.Mutex
	phase    string
	begun    time.Time // the phase
	fraction float64   // of the phase, negative where it is not known
}

const (
	progressDelay = time.Second
	progressTick  = 100 * time.Millisecond
	progressSteps = 1000
)

// newProgress starts to show progress on w, if that is a terminal that can take it back. close ends
// it.
func newProgress(w io.Writer) *progress {
	if !isTerminal(w) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return startProgress(w, progressDelay)
}

func startProgress(w io.Writer, delay time.Duration) *progress {
	p := &progress{w: w, delay: delay, fraction: -1, stop: make(chan struct{}), done: make(chan struct{})}
	go p.show()
	return p
}

// begin begins a phase whose length is not known before the first call of at.
func (p *progress) begin(phase string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phase, p.begun, p.fraction = printable(phase), time.Now(), -1
}

// at says how much of the phase is done.
func (p *progress) at(fraction float64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fraction = fraction
}

// above is w for lines that are to stand above what is shown.
func (p *progress) above(w io.Writer) io.Writer {
	if p == nil {
		return w
	}
	return writerFunc(func(b []byte) (int, error) {
		io.WriteString(p.w, "\r\x1b[K") // it is drawn again below
		return w.Write(b)
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// close takes what is shown from the terminal. It is idempotent, as the program's one goroutine
// calls it.
func (p *progress) close() {
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

// show draws, from its own goroutine, until close. Each phase has its own bar, or a spinner while
// its length is not known.
func (p *progress) show() {
	defer close(p.done)
	select {
	case <-p.stop:
		return
	case <-time.After(p.delay):
	}
	tick := time.NewTicker(progressTick)
	defer tick.Stop()
	var bar *progressbar.ProgressBar
	var phase string
	var known bool
	for {
		p.mu.Lock()
		now, fraction, passed := p.phase, p.fraction, time.Since(p.begun)
		p.mu.Unlock()
		if bar == nil || now != phase || fraction >= 0 != known {
			if bar != nil {
				bar.Clear()
			}
			phase, known = now, fraction >= 0
			bar = newBar(p.w, phase, known)
		}
		bar.Describe(describePhase(phase, fraction, passed))
		if known {
			bar.Set(int(fraction * progressSteps))
		} else {
			bar.Add(1)
		}
		select {
		case <-p.stop:
			bar.Clear()
			return
		case <-tick.C:
		}
	}
}

// describePhase says for how long a phase has been going on and, where that is known, will be.
func describePhase(phase string, fraction float64, passed time.Duration) string {
	text := phase + ", " + passed.Round(time.Second).String()
	if fraction > 0 {
		left := time.Duration(float64(passed) * (1 - fraction) / fraction)
		text += ", " + left.Round(time.Second).String() + " left"
	}
	return text
}

func newBar(w io.Writer, phase string, known bool) *progressbar.ProgressBar {
	length := -1
	if known {
		length = progressSteps
	}
	return progressbar.NewOptions(length,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(phase),
		progressbar.OptionSetWidth(30),
		progressbar.OptionSetPredictTime(false), // it would count from the bar on
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetSpinnerChangeInterval(0), // no goroutine of its own
		progressbar.OptionSetRenderBlankState(true))
}
