// Package screen is what a person sees of the program: words in colours, numbers with units, and
// what it is doing while that takes long.
package screen

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/term"

	"github.com/tandem-gpu/tandem/backend"
)

// A Style marks words for the eye where that is wanted: on a terminal, unless NO_COLOR asks for
// none.
type Style bool

// StyleOf is the style of what is written to w. What the ranks of Open MPI write to looks like a
// terminal, whatever their launcher writes to.
func StyleOf(w io.Writer) Style {
	return Style(IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" &&
		os.Getenv("OMPI_COMM_WORLD_SIZE") == "" && runtime.GOOS != "windows")
}

func (s Style) mark(code, text string) string {
	if !s {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Bold, Green and Red mark text.
func (s Style) Bold(text string) string  { return s.mark("1", text) }
func (s Style) Green(text string) string { return s.mark("32", text) }
func (s Style) Red(text string) string   { return s.mark("31", text) }

// IsTerminal tells whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Printable is text with its control characters, which names of files may have, made visible.
func Printable(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}

// Seconds is a time with three digits and a unit that suits it.
func Seconds(s float64) string {
	switch {
	case s < 1e-3:
		return fmt.Sprintf("%.3g µs", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.3g ms", s*1e3)
	case s < 100:
		return fmt.Sprintf("%.3g s", s)
	}
	return time.Duration(s * 1e9).Round(time.Second).String()
}

// Shape is the shape of an array: "64x48", "vector of 5", "number".
func Shape(shape []int) string {
	switch len(shape) {
	case 0:
		return "number"
	case 1:
		return fmt.Sprintf("vector of %d", shape[0])
	}
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", "x")
}

// Bytes is a size with a unit that suits it.
func Bytes(n int64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	v, unit := float64(n)/1024, 0
	for v >= 1024 && unit < len(units)-1 {
		v, unit = v/1024, unit+1
	}
	return fmt.Sprintf("%.1f %ciB", v, units[unit])
}

// Device is the name of a device that --backend takes: "opencl:0".
func Device(i backend.Info) string { return fmt.Sprintf("%s:%d", i.Driver, i.Index) }
