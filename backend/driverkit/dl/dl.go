// Package dl loads shared libraries without cgo and fills tables of Go functions from their
// symbols.
//
// It is the only package that knows how C is called. A driver declares a struct of func fields,
// opens its library with [Open], and fills the struct with [Bind]. What is missing comes back as
// one error with every name that was tried.
package dl

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
)

// A Library is an open shared library. It stays loaded for the life of the process: C code that it
// started may run on.
type Library struct {
	name   string
	handle uintptr
}

// A Failure is one name that could not be loaded or found, and why.
type Failure struct {
	Name string
	Err  error
}

// An Error lists everything that was tried, in the order of the tries. errors.Is and errors.As see
// each reason.
type Error struct {
	What     string // what failed: "no library could be loaded"
	Failures []Failure
}

// Error is one line: what failed, then each name with its reason.
func (e *Error) Error() string {
	parts := make([]string, len(e.Failures))
	for i, f := range e.Failures {
		parts[i] = f.Err.Error()
		if !strings.Contains(parts[i], f.Name) {
			parts[i] = f.Name + ": " + parts[i]
		}
	}
	return e.What + ": " + strings.Join(parts, "; ")
}

// Unwrap gives errors.Is and errors.As the reasons.
func (e *Error) Unwrap() []error {
	errs := make([]error, len(e.Failures))
	for i, f := range e.Failures {
		errs[i] = f.Err
	}
	return errs
}

// ErrNone is that the program loads no libraries, whatever their names.
var ErrNone = errors.New("this program loads no libraries: it was built with the tag tandem_nolibs, or for a " +
	"system where that takes cgo (" + runtime.GOOS + "/" + runtime.GOARCH + ")")

// Advise is err of [Open] with what to do about it, where that helps.
func Advise(err error, what string) error {
	if errors.Is(err, ErrNone) {
		return err
	}
	return fmt.Errorf("%w; %s", err, what)
}

// Open loads the first of names that the system's loader accepts. A name is either a bare file
// name, which the loader looks for by its own rules, or an absolute path. The working directory is
// never searched. If none loads, the error is an *Error with every name, or [ErrNone].
func Open(names ...string) (*Library, error) { return openFirst(names, false) }

// OpenGlobal is Open for a library whose symbols the libraries that it loads itself must find, as
// the plug-ins of an MPI library do.
func OpenGlobal(names ...string) (*Library, error) { return openFirst(names, true) }

func openFirst(names []string, global bool) (*Library, error) {
	defer KeepSignals()()
	var failed []Failure
	for _, name := range names {
		h, err := uintptr(0), checkName(name)
		if err == nil {
			h, err = open(name, global)
		}
		switch {
		case err == nil:
			return &Library{name: name, handle: h}, nil
		case errors.Is(err, ErrNone):
			return nil, err
		}
		failed = append(failed, Failure{name, err})
	}
	if len(failed) == 0 {
		return nil, errors.New("no library name given")
	}
	return nil, &Error{What: "no library could be loaded", Failures: failed}
}

// checkName refuses names that the loader would resolve against the working directory.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New(`"" is no library name`)
	case filepath.IsAbs(name):
		return nil
	case strings.ContainsAny(name, `/\`):
		return errors.New("a relative path would depend on the working directory; give an absolute path")
	}
	return nil
}

// Name is the name under which the library was loaded.
func (l *Library) Name() string { return l.name }

// Symbol is the address of the first of names that the library has. Where it has none, the error is
// an *Error with every name.
func (l *Library) Symbol(names ...string) (uintptr, error) {
	var failed []Failure
	for _, name := range names {
		addr, err := symbol(l.handle, name)
		if err == nil {
			return addr, nil
		}
		failed = append(failed, Failure{name, err})
	}
	return 0, &Error{What: "not in " + l.name, Failures: failed}
}

// named is how many missing symbols an error names: another library has none of a table.
const named = 3

// Bind fills the func fields of the struct that table points to with the library's functions.
//
// A field's symbol is its tag `sym:"name"`, or its own name without a tag. Several names separated
// by commas are tried in order: `sym:"cuMemAlloc_v2,cuMemAlloc"`. A field with the tag
// `dl:"optional"` stays nil where the library has none of them; other missing symbols are an
// *Error, which counts them and has the first three. The fields that were found are filled in any
// case.
//
// Parameters and results are integers, uintptr-like handles, pointers and strings, as in package
// purego; a wrong signature cannot be noticed. A call through such a field costs about 0.3
// microseconds and a few allocations: see [Call] for hot ones.
func Bind(l *Library, table any) error {
	v := reflect.ValueOf(table)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("dl: Bind takes a pointer to a struct of functions, not %T", table)
	}
	v = v.Elem()
	var missing []Failure
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Type.Kind() != reflect.Func || !f.IsExported() {
			continue
		}
		addr, err := l.Symbol(SymbolNames(f)...)
		switch {
		case err == nil:
			register(v.Field(i).Addr().Interface(), addr)
		case f.Tag.Get("dl") != "optional":
			missing = append(missing, err.(*Error).Failures...)
		}
	}
	if n := len(missing); n > named {
		return &Error{fmt.Sprintf("%d symbols missing from %s, the first", n, l.name), missing[:named]}
	} else if n > 0 {
		return &Error{"symbols missing from " + l.name, missing}
	}
	return nil
}

// SymbolNames lists the symbols that Bind tries for a field of a table, best first.
func SymbolNames(f reflect.StructField) []string {
	if tag := f.Tag.Get("sym"); tag != "" {
		return strings.Split(tag, ",")
	}
	return []string{f.Name}
}

// Call calls the C function at fn, whose at most 16 parameters are all integers or pointers, and
// returns its result register. It is the fast way: it allocates nothing.
//
// An address among args must be of memory that does not move and lives until Call returns: on the
// heap and not on a stack, and followed by runtime.KeepAlive. A pointer parameter of a function
// that is only called through a func variable is on the heap.
func Call(fn uintptr, args ...uintptr) uintptr {
	return call(fn, args)
}
