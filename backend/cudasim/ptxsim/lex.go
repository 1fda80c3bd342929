package ptxsim

import (
	"fmt"
	"strings"
)

// A tokenKind is the class of a token.
type tokenKind uint8

const (
	tokenEOF tokenKind = iota
	// an identifier, a register, a directive or an instruction with its modifiers: ld.global.v4.f32
	tokenWord
	tokenNumber // 12, 0x1F, 0f3F800000, 1.5
	tokenString // without its quotes
	tokenPunct  // one character
)

type token struct {
	kind tokenKind
	text string
	line int32
}

// A ParseError is a place in PTX text that the simulator cannot take: a mistake, or something it
// does not simulate.
type ParseError struct {
	Line int // in the PTX, from 1
	Text string
}

func (e *ParseError) Error() string { return fmt.Sprintf("ptx line %d: %s", e.Line, e.Text) }

// The first error ends the reading of a module: what finds it panics with a stop, from which
// reading recovers.
type stop struct{ err error }

// refuse ends the reading of a module with a ParseError.
func refuse(line int32, format string, args ...any) {
	panic(stop{&ParseError{Line: int(line), Text: fmt.Sprintf(format, args...)}})
}

// reading runs f, which reads a module or a part of it, and returns the error that ended it.
func reading(f func()) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case stop:
			err = v.err
		default:
			panic(v)
		}
	}()
	f()
	return nil
}

// lex splits PTX text into tokens. The last token is of kind tokenEOF.
func lex(text string) (out []token) {
	line := int32(1)
	for {
		text, line = skipSpace(text, line)
		if text == "" {
			return append(out, token{tokenEOF, "end of file", line})
		}
		var t token
		t, text = nextToken(text, line)
		out = append(out, t)
	}
}

// skipSpace removes white space and comments from the start of text.
func skipSpace(text string, line int32) (string, int32) {
	for text != "" {
		switch {
		case text[0] == '\n':
			line++
			text = text[1:]
		case text[0] == ' ' || text[0] == '\t' || text[0] == '\r':
			text = text[1:]
		case strings.HasPrefix(text, "//"):
			text = text[len(before(text, "\n")):]
		case strings.HasPrefix(text, "/*"):
			comment, rest, ok := strings.Cut(text[2:], "*/")
			if !ok {
				refuse(line, "a comment does not end")
			}
			line += int32(strings.Count(comment, "\n"))
			text = rest
		case text[0] == 0 && strings.Trim(text, "\x00") == "": // the end of a C string
			return "", line
		default:
			return text, line
		}
	}
	return text, line
}

// nextToken is the token that text begins with, and the text behind it.
func nextToken(text string, line int32) (token, string) {
	switch c := text[0]; {
	case c == '"':
		s := before(text[1:], "\"\n")
		if rest := text[1+len(s):]; rest == "" || rest[0] == '\n' {
			refuse(line, "a string does not end")
		}
		return token{tokenString, s, line}, text[len(s)+2:]
	case isDigit(c):
		n := numberLen(text)
		return token{tokenNumber, text[:n], line}, text[n:]
	case isWord(c):
		n := wordLen(text)
		return token{tokenWord, text[:n], line}, text[n:]
	case strings.IndexByte("()[]{}<>,;:=+-|!@~*/&^?", c) < 0:
		refuse(line, "unexpected character %q", c)
	}
	return token{tokenPunct, text[:1], line}, text[1:]
}

// before is text up to the first of the characters, or all of it.
func before(text, chars string) string {
	if n := strings.IndexAny(text, chars); n >= 0 {
		return text[:n]
	}
	return text
}

// numberLen is the length of a number. Only a decimal one can have a sign in it, after its e.
func numberLen(s string) int {
	for i := range len(s) {
		c := s[i]
		sign := (c == '+' || c == '-') && s[i-1]|0x20 == 'e' && isDecimal(s[:i-1])
		if !isDigit(c) && !isLetter(c) && c != '.' && !sign {
			return i
		}
	}
	return len(s)
}

// wordLen is the length of a word; two colons belong to it (.L2::128B), one ends it.
func wordLen(s string) int {
	n := 0
	for n < len(s) {
		switch {
		case isWord(s[n]) || isDigit(s[n]):
			n++
		case strings.HasPrefix(s[n:], "::"):
			n += 2
		default:
			return n
		}
	}
	return n
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isWord(c byte) bool   { return isLetter(c) || strings.IndexByte("_$%.", c) >= 0 }

// isDecimal reports whether s is digits and points only.
func isDecimal(s string) bool { return strings.Trim(s, "0123456789.") == "" }
