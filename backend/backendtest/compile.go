package backendtest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
)

var compileCases = []testCase{
	{"Compile/Params", valid, compileParams, "Params describes the arguments; a launch is checked against it."},
	{
		"Compile/Declared", valid, compileDeclared,
		"Source.Params: the arguments; nil: read from the PTX or from the text.",
	},
	{
		"Compile/DeclaredWrong", refused, compileDeclaredWrong,
		"A launch is checked against Params, which fit the kernel.",
	},
	{"Compile/Macros", valid, compileMacros, "Source.Macros are defined before the text, as -D does."},
	{"Compile/Twice", refused, compileTwice, "Release gives the kernel back. It is idempotent."},
	{"Compile/NoSuchKernel", refused, compileNoSuchKernel, "ErrBuild: the kernel does not compile."},
	{
		"Compile/SyntaxError", refused, compileSyntaxError,
		"ErrBuild carries the compiler's whole log, with s.File and the lines of s.Text.",
	},
	{"Compile/Unsupported", refused, compileUnsupported, "ErrUnsupported says what the driver would need."},
	{
		"Compile/DamagedCache", valid, compileDamagedCache,
		"A corrupt or stale entry of the disk cache is rebuilt, never trusted.",
	},
	{
		"Compile/SourceUnchanged", valid, compileSourceUnchanged,
		"A Source is read only: the same Source may be compiled for many devices at once.",
	},
	{"Compile/FailsForAll", refused, compileFailsForAll, "ErrBuild: the kernel does not compile, whoever asks."},
}

// shape is what a launch is checked against of a parameter.
type shape struct {
	buffer bool
	size   int
}

func shapes(params []backend.Param) []shape {
	s := make([]shape, len(params))
	for i, p := range params {
		s[i] = shape{p.Buffer, p.Size}
	}
	return s
}

func compileParams(e *env) {
	for s, want := range map[*backend.Source][]shape{
		idsSource:     {{true, 0}},
		affineSource:  {{true, 0}, {true, 0}, {false, 4}, {false, 4}},
		chainSource:   {{true, 0}, {false, 4}},
		wordsSource:   {{true, 0}, {false, 4}, {false, 8}, {false, 4}, {false, 4}, {false, 8}, {false, 4}},
		reverseSource: {{true, 0}, {true, 0}},
	} {
		k := e.compile(s)
		if k.Name() != s.Name {
			e.errorf("Name is %q, want %q", k.Name(), s.Name)
		}
		same(e, "parameters of "+s.Name+" (buffer, size)", shapes(k.Params()), want)
	}
}

func compileDeclared(e *env) {
	s := *affineSource
	s.Params = []backend.Param{
		{Name: "dst", Buffer: true}, {Name: "src", Buffer: true}, {Name: "a", Size: 4}, {Name: "n", Size: 4},
	}
	k := e.compile(&s)
	same(e, "the parameters as declared (buffer, size)", shapes(k.Params()), shapes(s.Params))
	b := upload(e, []int32{1, 2})
	e.must("Launch", e.affine(e.q, k, b, b, 40, 2))
	same(e, "the result", download[int32](e, b), []int32{41, 42})
	e.refused("Launch with one argument too few",
		e.q.Launch(k, backend.Grid1(1, 1), backend.Buf(b), backend.Buf(b), backend.Int32(1)), backend.ErrLaunch)
	e.wait()
}

// compileDeclaredWrong declares one parameter too few. Somebody must notice, before the kernel runs
// with three of four arguments. The cpu device runs Go with what is declared: there is nothing to
// compare with.
func compileDeclaredWrong(e *env) {
	e.needText()
	s := *affineSource
	s.Params = []backend.Param{{Buffer: true}, {Buffer: true}, {Size: 4}}
	k, err := e.dev.Compile(&s)
	if err == nil {
		b := upload(e, garbage(64))
		err = e.q.Launch(k, backend.Grid1(1, 16), backend.Buf(b), backend.Buf(b), backend.Int32(1))
	}
	e.refused("Compile, or Launch, with a parameter too few declared",
		err, backend.ErrBuild, backend.ErrLaunch, backend.ErrArgument)
}

func compileMacros(e *env) {
	once, triple := e.compile(affineSource), e.compile(tripleSource())
	b := upload(e, []int32{5, -7})
	e.must("Launch", e.affine(e.q, triple, b, b, 0, 2))
	same(e, "the result with STEP=3", download[int32](e, b), []int32{15, -21})
	e.must("Launch", e.affine(e.q, once, b, b, 0, 2))
	same(e, "the result without the macro", download[int32](e, b), []int32{15, -21})

	// The macros alone tell two sources without PTX apart.
	plain, five := *affineSource, *affineSource
	plain.PTX, five.PTX = nil, nil
	five.Macros, five.Go = map[string]string{"STEP": "5"}, affineGo(5)
	k, err := e.dev.Compile(&plain)
	if errors.Is(err, backend.ErrUnsupported) {
		return
	}
	e.must("Compile without PTX", err)
	e.must("Launch", e.affine(e.q, e.compile(&five), b, b, 0, 2))
	same(e, "the result with STEP=5", download[int32](e, b), []int32{75, -105})
	e.must("Launch", e.affine(e.q, k, b, b, 0, 2))
	same(e, "the result without the macro", download[int32](e, b), []int32{75, -105})
}

func compileTwice(e *env) {
	first, second := e.compile(affineSource), e.compile(affineSource)
	b := upload(e, []int32{1})
	e.must("Release", first.Release())
	e.must("Release again", first.Release())
	e.refused("Launch of the released handle", e.affine(e.q, first, b, b, 1, 1), backend.ErrClosed)
	e.must("Launch of the other handle", e.affine(e.q, second, b, b, 1, 1))
	third := e.compile(affineSource)
	e.must("Launch of a third handle", e.affine(e.q, third, b, b, 1, 1))
	same(e, "the result of two launches", download[int32](e, b), []int32{3})
}

func compileNoSuchKernel(e *env) {
	for _, name := range []string{"absent", "chai", "STEP"} {
		s := *chainSource
		s.Name = name
		_, err := e.dev.Compile(&s)
		e.refused("Compile of "+name, err, backend.ErrBuild)
		if err != nil && !strings.Contains(err.Error(), name) {
			e.errorf("Compile of %s: %v, which does not name it", name, err)
		}
	}
	nameless := *chainSource
	nameless.Name = ""
	_, err := e.dev.Compile(&nameless)
	e.refused("Compile without a name", err, backend.ErrBuild, backend.ErrArgument)
}

// broken has an undeclared name in its line 4.
const broken = `/* A kernel with an error. */
__kernel void broken(__global int *p) {
  p[0] = 1;
  p[1] = undeclared_by_anyone;
}
`

var brokenLine = regexp.MustCompile(`faulty\.cl[:(]4\b`)

func compileSyntaxError(e *env) {
	e.needText()
	_, err := e.dev.Compile(&backend.Source{Name: "broken", File: "faulty.cl", Text: broken})
	e.refused("Compile", err, backend.ErrBuild)
	var be *backend.Error
	if errors.As(err, &be) &&
		(!brokenLine.MatchString(be.Detail) || !strings.Contains(be.Detail, "undeclared_by_anyone")) {
		e.errorf("Compile: the Detail has no log with faulty.cl, line 4 and undeclared_by_anyone:\n%s", be.Detail)
	}
	// The same text with the name defined is fine: an error is not cached.
	_, err = e.dev.Compile(&backend.Source{
		Name: "broken", File: "faulty.cl", Text: broken,
		Macros: map[string]string{"undeclared_by_anyone": "2"},
	})
	e.must("Compile with the name defined", err)
}

func compileFailsForAll(e *env) {
	e.needText()
	e.parallel(8, func(int) {
		_, err := e.dev.Compile(&backend.Source{Name: "broken", File: "faulty.cl", Text: broken})
		if !errors.Is(err, backend.ErrBuild) || !strings.Contains(err.Error(), "undeclared_by_anyone") {
			e.errorf("Compile: %v, want an ErrBuild with undeclared_by_anyone", err)
		}
	})
}

// needText skips the case on devices that compile no text, as far as they refuse it with
// ErrUnsupported.
func (e *env) needText() {
	s := *affineSource
	s.Go, s.PTX = nil, nil
	k, err := e.dev.Compile(&s)
	if errors.Is(err, backend.ErrUnsupported) {
		e.skipf("the device compiles no text: %v", err)
	}
	e.must("Compile of text alone", err)
	k.Release()
}

func compileUnsupported(e *env) {
	s := *affineSource
	s.Go, s.PTX = nil, nil
	_, err := e.dev.Compile(&s)
	if err == nil {
		e.skipf("the device compiles text")
	}
	e.refused("Compile of text alone", err, backend.ErrUnsupported)
	var be *backend.Error
	if errors.As(err, &be) && !strings.Contains(be.Detail, s.Name) {
		e.errorf("%v: does not name the kernel %s", err, s.Name)
	}
}

// compileDamagedCache compiles with a disk cache of its own, damages its files in several ways, and
// compiles again. A device that keeps no files has nothing to damage.
func compileDamagedCache(e *env) {
	const name = "TANDEM_CACHE"
	dir, err := os.MkdirTemp("", "tandem-backendtest-")
	e.must("MkdirTemp", err)
	defer os.RemoveAll(dir)
	if old, set := os.LookupEnv(name); set {
		defer os.Setenv(name, old)
	} else {
		defer os.Unsetenv(name)
	}
	e.must("Setenv", os.Setenv(name, dir))
	s := *affineSource
	s.PTX = nil
	for what, damage := range map[string]func([]byte) []byte{
		"as it was": func(b []byte) []byte { return b },
		"empty":     func(b []byte) []byte { return nil },
		"cut short": func(b []byte) []byte { return b[:len(b)/2] },
		"flipped":   func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"garbage":   func(b []byte) []byte { return garbage(len(b)) },
	} {
		for range 2 { // the first time may find no files
			e.useAnew(&s, "with cache files "+what)
			e.must("damage", rewrite(dir, damage))
		}
		e.useAnew(&s, "with cache files "+what)
	}
}

// useAnew opens the device, compiles s, which may need what the device has not, and runs it.
func (e *env) useAnew(s *backend.Source, what string) {
	e = e.open()
	defer e.dev.Close()
	k, err := e.dev.Compile(s)
	if errors.Is(err, backend.ErrUnsupported) {
		return
	}
	e.must("Compile "+what, err)
	b := upload(e, []int32{5, -7})
	e.must("Launch", e.affine(e.q, k, b, b, 1, 2))
	same(e, "the result "+what, download[int32](e, b), []int32{6, -6})
}

// rewrite replaces each file below dir by what change makes of it.
func rewrite(dir string, change func([]byte) []byte) error {
	return filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		if err != nil || len(b) == 0 {
			return err
		}
		return os.WriteFile(name, change(b), 0o600)
	})
}

func compileSourceUnchanged(e *env) {
	s := tripleSource()
	e.compile(s)
	want := tripleSource()
	s.Go, want.Go = nil, nil // functions cannot be compared
	if !reflect.DeepEqual(s, want) {
		e.errorf("Compile changed the Source to %+v", s)
	}
}
