package main

import (
	"io"
	"os"
	"runtime"

	"golang.org/x/term"
)

// A style marks words for the eye where that is wanted: on a terminal, unless NO_COLOR asks for
// none.
type style bool

func styleOf(w io.Writer) style {
	return style(isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" &&
		runtime.GOOS != "windows")
}

func (s style) mark(code, text string) string {
	if !s {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) bold(text string) string  { return s.mark("1", text) }
func (s style) green(text string) string { return s.mark("32", text) }
func (s style) red(text string) string   { return s.mark("31", text) }

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
