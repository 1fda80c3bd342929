// Package nativegen compiles kernels in C to machine code ahead of time, for generators and their
// tests, and keeps it in compressed files. It needs clang-19.
//
// The code of a kernel is one block of bytes that runs wherever it lies: its functions and its
// constants, which refer to each other by distances and to nothing else. native.h, which each text
// begins with, says how it is called.
package nativegen

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/tandem-gpu/tandem/internal/ptxgen"
)

//go:embed native.h
var header string

// A Level is a kind of processor, by the instructions that code for it may use.
type Level struct {
	Name, Arch string   // Arch as Go calls it
	flags      []string // of clang
}

// Levels are those that kernels are compiled for. Of x86-64 there is no more in each than
// golang.org/x/sys/cpu can tell; Go's own registers stay as they are on arm64, since a signal's
// handler reads them.
var Levels = []Level{
	{"avx2", "amd64", append([]string{"-mtune=znver3"}, avx2...)},
	{"avx512", "amd64", append([]string{
		"-mtune=znver4", "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mprefer-vector-width=512",
	}, avx2...)},
	{"neon", "arm64", []string{
		"--target=aarch64-linux-gnu", "-march=armv8-a", "-mcmodel=tiny", "-mno-outline-atomics",
		"-ffixed-x18", "-ffixed-x28",
	}},
}

var avx2 = []string{"--target=x86_64-linux-gnu", "-mavx2", "-mfma", "-mbmi", "-mbmi2", "-fcf-protection=none"}

// flags are those of all levels. Integers wrap, floats are rounded by each operation, memory may be
// written as one type and read as another, and a loop without an end has none, as in Go. Addresses
// are computed where they are used: else clang keeps a counter for each of them, of which most are
// in memory, and counts them all on in each row of a narrow matrix.
var flags = []string{
	"-x", "c", "-std=gnu11", "-O3", "-c", "-ffreestanding", "-fno-builtin", "-fPIC", "-fvisibility=hidden",
	"-ffunction-sections", "-fdata-sections", "-fno-jump-tables", "-fno-stack-protector", "-fno-ident", "-fno-addrsig",
	"-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fomit-frame-pointer", "-fstack-clash-protection",
	"-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off", "-fno-math-errno", "-fno-finite-loops", "-fsigned-char",
	"-mllvm", "-disable-lsr", "-w", "-fstack-size-section",
}

// Key identifies what Compile makes code of, but for clang itself.
func Key(text string) string {
	h := sha256.New()
	fmt.Fprint(h, header, flags, Levels, text)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Compile compiles the kernel name of a text in C, which defines
//
//	KERNEL(name) { ... }
//	const i64 name_lanes = ...;        // work-items of a strip
//	const i64 name_scratch[2] = {...}; // bytes of memory for a group, and for each strip of it
//
// The same clang gives the same bytes, which are kept on disk. A text that clang does not take is
// ErrText; what else an error says keeps the kernel from having code.
func Compile(l Level, name, text string) (*Blob, error) {
	b, err := compile(l, name, text, link)
	if err != nil {
		return nil, fmt.Errorf("%s for %s: %w", name, l.Name, err)
	}
	return b, nil
}

// Function compiles a function of a file in C, of which text is what it has; it may use the types
// of native.h. more are further options of clang.
func Function(l Level, file, text, name string, more ...string) (f Code, err error) {
	f, err = compile(l, file, text, func(object []byte, _ string) (Code, error) {
		l, stack, err := linkCode(object, name)
		if err != nil {
			return Code{}, err
		}
		return Code{l.code, stack}, nil
	}, more...)
	if err != nil {
		return f, fmt.Errorf("%s for %s: %w", name, l.Name, err)
	}
	return f, nil
}

// Code is machine code that C calls a function: its entry is the first byte, at a multiple of 64.
type Code struct {
	Bytes []byte
	Stack int // bytes below the stack pointer that it is called with
}

func compile[T any](
	l Level, name, text string, link func(object []byte, entry string) (T, error), more ...string,
) (result T, err error) {
	args := slices.Concat(flags, l.flags, more, []string{"-o", "-", "-"})
	text = header + "\n#line 1 \"" + name + ".c\"\n" + text
	object, err := ptxgen.Cached(func() ([]byte, error) { return run(args, text) }, append(args, text)...)
	if err != nil {
		return result, err
	}
	return link(object, name)
}

// ErrText is the error of a text that clang does not compile: a mistake of who wrote it.
var ErrText = errors.New(ptxgen.Clang + " does not compile its text, which is a mistake of the generator")

// run is what clang makes of text, which may nest more deeply than it expects. The error has the
// first of clang's.
func run(args []string, text string) ([]byte, error) {
	cmd := exec.Command(ptxgen.Clang, append(args[:len(args):len(args)], "-fbracket-depth=4096")...)
	cmd.Stdin = strings.NewReader(text)
	var log bytes.Buffer
	cmd.Stderr = &log
	object, err := cmd.Output()
	if err != nil {
		first := log.String()
		for line := range strings.Lines(first) {
			if strings.Contains(line, "error: ") {
				first = line
				break
			}
		}
		return nil, fmt.Errorf("%w: %w: %s", ErrText, err, strings.TrimSpace(first))
	}
	return object, nil
}
