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

func errorAt(line int32, format string, args ...any) error {
	return &ParseError{Line: int(line), Text: fmt.Sprintf(format, args...)}
}

// lex splits PTX text into tokens. The last token is of kind tokenEOF.
func lex(text string) ([]token, error) {
	l := lexer{text: text, line: 1}
	for {
		if err := l.space(); err != nil {
			return nil, err
		}
		if l.pos >= len(l.text) {
			return append(l.out, token{tokenEOF, "end of file", l.line}), nil
		}
		if err := l.token(); err != nil {
			return nil, err
		}
	}
}

type lexer struct {
	text string
	pos  int
	line int32
	out  []token
}

// space skips white space and comments.
func (l *lexer) space() error {
	for l.pos < len(l.text) {
		rest := l.text[l.pos:]
		switch {
		case rest[0] == '\n':
			l.line++
			l.pos++
		case rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r':
			l.pos++
		case strings.HasPrefix(rest, "//"):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			l.pos += n
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				return errorAt(l.line, "a comment does not end")
			}
			l.line += int32(strings.Count(rest[:n+4], "\n"))
			l.pos += n + 4
		case rest[0] == 0 && strings.Trim(rest, "\x00") == "": // the end of a C string
			l.pos = len(l.text)
		default:
			return nil
		}
	}
	return nil
}

func (l *lexer) token() error {
	start, c := l.pos, l.text[l.pos]
	switch {
	case isDigit(c):
		l.number()
		l.emit(tokenNumber, l.text[start:l.pos])
	case c == '"':
		n := strings.IndexAny(l.text[start+1:], "\"\n")
		if n < 0 || l.text[start+1+n] == '\n' {
			return errorAt(l.line, "a string does not end")
		}
		l.pos = start + n + 2
		l.emit(tokenString, l.text[start+1:start+1+n])
	case isWord(c):
		l.word()
		l.emit(tokenWord, l.text[start:l.pos])
	case strings.IndexByte("()[]{}<>,;:=+-|!@~*/&^?", c) >= 0:
		l.pos++
		l.emit(tokenPunct, l.text[start:l.pos])
	default:
		return errorAt(l.line, "unexpected character %q", c)
	}
	return nil
}

func (l *lexer) emit(kind tokenKind, text string) { l.out = append(l.out, token{kind, text, l.line}) }

// number moves behind a number. Only a decimal number can have a sign in it, after its e.
func (l *lexer) number() {
	start := l.pos
	for l.pos < len(l.text) {
		c := l.text[l.pos]
		sign := (c == '+' || c == '-') && l.pos > start && (l.text[l.pos-1]|0x20) == 'e' &&
			isDecimal(l.text[start:l.pos-1])
		if !isDigit(c) && !isLetter(c) && c != '.' && !sign {
			return
		}
		l.pos++
	}
}

// word moves behind a word; two colons belong to it (.L2::128B), one ends it.
func (l *lexer) word() {
	for l.pos < len(l.text) {
		if strings.HasPrefix(l.text[l.pos:], "::") {
			l.pos += 2
		} else if c := l.text[l.pos]; isWord(c) || isDigit(c) {
			l.pos++
		} else {
			return
		}
	}
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isWord(c byte) bool   { return isLetter(c) || strings.IndexByte("_$%.", c) >= 0 }

// isDecimal reports whether s is digits and points only.
func isDecimal(s string) bool { return strings.Trim(s, "0123456789.") == "" }
