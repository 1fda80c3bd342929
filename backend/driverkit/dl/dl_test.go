//go:build !tandem_nolibs

package dl

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"
)

// libc is a library that every system has, with the C functions that the tests call.
func libc(t testing.TB) *Library {
	t.Helper()
	name := map[string]string{
		"linux": "libc.so.6", "darwin": "/usr/lib/libSystem.B.dylib", "windows": "msvcrt.dll",
		"freebsd": "libc.so.7", "netbsd": "libc.so",
	}[runtime.GOOS]
	l, err := Open("no-such-library-1", name)
	if err != nil {
		t.Fatal(err)
	}
	if l.Name() != name {
		t.Fatalf("Name() = %q, want %q", l.Name(), name)
	}
	return l
}

func TestOpenNamesEveryFailure(t *testing.T) {
	_, err := Open("no-such-library-1", "no-such-library-2", "./no-such-library-3", "")
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"no-such-library-1", "no-such-library-2", "./no-such-library-3", "working directory", `""`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not contain %q: %v", want, err)
		}
	}
	var e *Error
	if !errors.As(err, &e) || len(e.Failures) != 4 {
		t.Fatalf("error has not 4 failures: %#v", err)
	}
	for _, f := range e.Failures {
		if f.Err == nil || f.Err.Error() == "" {
			t.Errorf("%q: no reason", f.Name)
		}
		if !errors.Is(err, f.Err) {
			t.Errorf("%q: the reason is not in the error's tree", f.Name)
		}
	}
	if _, err := Open(); err == nil {
		t.Error("Open() succeeded")
	}
}

func TestOpenRefusesRelativePaths(t *testing.T) {
	for _, name := range []string{"./libc.so.6", "lib/libc.so.6", "../libc.so.6", `lib\libc.dll`} {
		if _, err := Open(name); err == nil || !strings.Contains(err.Error(), "absolute") {
			t.Errorf("Open(%q): %v", name, err)
		}
	}
}

func TestSymbolTriesEveryName(t *testing.T) {
	l := libc(t)
	want, err := l.Symbol("abs")
	if err != nil || want == 0 {
		t.Fatalf("abs: %#x, %v", want, err)
	}
	if got, err := l.Symbol("abs_v2", "abs"); err != nil || got != want {
		t.Errorf("abs_v2, abs: %#x, %v; want %#x", got, err, want)
	}
	_, err = l.Symbol("abs_v3", "abs_v2")
	if err == nil || !strings.Contains(err.Error(), "abs_v3") || !strings.Contains(err.Error(), "abs_v2") {
		t.Errorf("error does not name both symbols: %v", err)
	}
}

func TestBind(t *testing.T) {
	type signedInt int32
	var table struct {
		Abs      func(signedInt) signedInt         `sym:"abs_v2,abs"`
		Length   func(string) uintptr              `sym:"strlen"`
		Compare  func(a, b *byte, n uintptr) int32 `sym:"memcmp"`
		Optional func()                            `sym:"no_such_symbol" dl:"optional"`
		Data     int
		hidden   func()
	}
	if err := Bind(libc(t), &table); err != nil {
		t.Fatal(err)
	}
	if got := table.Abs(-7); got != 7 {
		t.Errorf("abs(-7) = %d", got)
	}
	if got := table.Length("tandem"); got != 6 {
		t.Errorf(`strlen("tandem") = %d`, got)
	}
	a, b := []byte("tandem"), []byte("tandex")
	if table.Compare(&a[0], &b[0], 5) != 0 || table.Compare(&a[0], &b[0], 6) >= 0 {
		t.Error("memcmp is wrong")
	}
	if table.Optional != nil || table.hidden != nil {
		t.Error("a field was filled from nothing")
	}
}

func TestBindListsEveryMissingSymbol(t *testing.T) {
	var table struct {
		A        func()            `sym:"missing_a_v2,missing_a"`
		Abs      func(int32) int32 `sym:"abs"`
		MissingB func()
	}
	err := Bind(libc(t), &table)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"missing_a_v2", "missing_a", "MissingB"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not contain %q: %v", want, err)
		}
	}
	if table.Abs == nil || table.Abs(-1) != 1 {
		t.Error("a symbol that is there was not bound")
	}
	if table.A != nil || table.MissingB != nil {
		t.Error("a missing symbol was bound")
	}
	for _, wrong := range []any{table, new(int), nil} {
		if Bind(libc(t), wrong) == nil {
			t.Errorf("Bind(%T) succeeded", wrong)
		}
	}
}

// Of many missing symbols the error names three.
func TestBindOfAnotherLibrary(t *testing.T) {
	var table struct{ MissingA, MissingB, MissingC, MissingD, MissingE func() }
	l := libc(t)
	err := Bind(l, &table)
	if err == nil {
		t.Fatal("no error")
	}
	text := err.Error()
	if !strings.HasPrefix(text, "5 symbols missing from "+l.Name()+", the first: ") ||
		!strings.Contains(text, "MissingC") || strings.Contains(text, "MissingD") {
		t.Error(text)
	}
}

// compare is a function of a table that calls through Call, as a driver writes it.
func compare(t testing.TB, l *Library) func(a, b []byte) int32 {
	t.Helper()
	memcmp, err := l.Symbol("memcmp")
	if err != nil {
		t.Fatal(err)
	}
	return func(a, b []byte) int32 {
		r := Call(memcmp, uintptr(unsafe.Pointer(&a[0])), uintptr(unsafe.Pointer(&b[0])), uintptr(len(a)))
		runtime.KeepAlive(a)
		runtime.KeepAlive(b)
		return int32(r)
	}
}

func TestCall(t *testing.T) {
	memcmp := compare(t, libc(t))
	if r := memcmp([]byte("abcde"), []byte("abcde")); r != 0 {
		t.Errorf("memcmp of equal bytes = %d", r)
	}
	if r := memcmp([]byte("abcdef"), []byte("abcdeg")); r >= 0 {
		t.Errorf("memcmp = %d, want less than 0", r)
	}
}

// All ways into C, from many goroutines at once, each with its own data on a stack that grows and
// moves.
func TestConcurrentCalls(t *testing.T) {
	var table struct {
		Abs    func(int32) int32    `sym:"abs"`
		Length func(string) uintptr `sym:"strlen"`
	}
	l := libc(t)
	if err := Bind(l, &table); err != nil {
		t.Fatal(err)
	}
	memcmp := compare(t, l)
	var wg sync.WaitGroup
	for g := range 32 {
		wg.Go(func() {
			for i := range 200 {
				n := int32(g*1000 + i)
				if got := table.Abs(-n); got != n {
					t.Errorf("abs(%d) = %d", -n, got)
				}
				if s := strings.Repeat("x", g+i); table.Length(s) != uintptr(g+i) {
					t.Errorf("strlen of %d bytes is wrong", g+i)
				}
				a, b := make([]byte, 64+i), make([]byte, 64+i)
				a[63+i], b[63+i] = 1, 1
				if memcmp(a, b) != 0 {
					t.Error("memcmp of equal bytes is not 0")
				}
				if _, err := l.Symbol("no_such_symbol"); err == nil ||
					err.Error() == "not in "+l.Name()+": no_such_symbol: " {
					t.Errorf("the loader's reason is lost: %v", err)
				}
				if i%50 == 0 {
					runtime.GC()
				}
			}
		})
	}
	wg.Wait()
}
