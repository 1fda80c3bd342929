package compiler

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/internal/nativegen"
	"github.com/tandem-gpu/tandem/internal/packed"
	"github.com/tandem-gpu/tandem/internal/ptxgen"
	"github.com/tandem-gpu/tandem/internal/racetest"
)

const nativeProgram = `package main

import (
	"fmt"

	"github.com/tandem-gpu/tandem/backend"
	_ "github.com/tandem-gpu/tandem/backend/cpu"
	"github.com/tandem-gpu/tandem/gpu"
)

//tandem:kernel
func twice(it gpu.Item, x []float32) {
	if i := it.Global(0); i < len(x) {
		x[i] *= 2
	}
}

//tandem:kernel
func one(it gpu.Item, x []float32) { x[it.Global(0)] = 1 }

func main() {
	d, err := backend.Lookup("cpu").Open(0)
	if err != nil {
		fmt.Println(err)
		return
	}
	x := []float32{1, 2, 3}
	b, _ := d.Register(backend.Bytes(x))
	k, _ := d.Compile(twiceKernel)
	q, _ := d.NewQueue()
	for _, n := range []int{3, 4} {
		err = q.Launch(k, backend.Grid1(2, 2), backend.Buf(b), backend.Uint64(0), backend.Uint64(uint64(n)))
		fmt.Println(x, err)
	}
}
`

// nativeThrice is what twice is not, so that a program tells which of them ran.
func nativeThrice(factor, kernel string) (string, error) {
	if kernel != "twice_kernel" {
		return "", errors.New("it is not twice")
	}
	return strings.NewReplacer("NAME", kernel, "FACTOR", factor).Replace(`
static __attribute__((noinline)) void set(call *c, f32 *x, i64 i, i64 n) {
  if (i >= n) fail(c, FAIL_INDEX, 14, i, n);
  x[i] *= FACTOR;
}
KERNEL(NAME) {
  for (i64 g = c->lo; g < c->hi; g++)
    for (i64 l = 0; l < c->local[0]; l++) set(c, (f32 *)c->arg[0] + c->arg[1], g * c->local[0] + l, (i64)c->arg[2]);
  return 0;
}
const i64 NAME_lanes = 8;
const i64 NAME_scratch[2] = {100, 4};
`), nil
}

// needNative skips a test where no machine code can be made, or run.
func needNative(t *testing.T) {
	if Machine() == nil {
		backendtest.Require(t, "clang", fmt.Errorf("%s is not installed", ptxgen.Clang))
	}
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("there is no machine code for this processor")
	}
}

// ownMachine is Machine for the levels of the processor that the test runs on.
func ownMachine() func(l nativegen.Level, name, text string) (*nativegen.Blob, error) {
	if Machine() == nil {
		return nil
	}
	return func(l nativegen.Level, name, text string) (*nativegen.Blob, error) {
		if l.Arch != runtime.GOARCH {
			return nil, errors.New("for another processor")
		}
		return nativegen.Compile(l, name, text)
	}
}

// Machine code lies in a folder of its own and runs in place of Go, as long as it was made of the
// text that the kernel has now; one that has none runs as Go.
func TestNativeFolder(t *testing.T) {
	racetest.Skip(t, "one goroutine does it")
	needNative(t)
	dir := newModule(t, map[string]string{"main.go": nativeProgram})
	folder := filepath.Join(dir, nativegen.Folder)
	log := new(bytes.Buffer)
	options := func(factor string, compile bool) Options {
		o := Options{NoLaunch: true, NoPTX: true, Log: log}
		o.text = func(kernel string) (string, error) { return nativeThrice(factor, kernel) }
		if compile {
			o.Native = Machine()
		}
		return o
	}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	logs := func(want string) {
		t.Helper()
		if got := log.String(); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("it says %q, want %q", got, want)
		}
		log.Reset()
	}
	runs := func(want ...string) {
		t.Helper()
		got, err := goTool(t, dir, "run", ".")
		for _, w := range want {
			if err != nil || !strings.Contains(got, w) {
				t.Errorf("it prints %s%v, want %q", got, err, w)
			}
		}
	}
	const asGo = "[2 4 6] <nil>\n"
	ok(Write(dir, options("3", false)))
	logs(" has no machine code of twice_kernel: go generate makes it where clang-19 is installed")
	runs(asGo)
	ok(Write(dir, options("3", true)))
	logs("")
	ok(Check(dir, options("3", false)))
	ok(Check(dir, options("3", true)))
	file := filepath.Join(folder, "code_twice_amd64.zip")
	code, err := packed.Read(file)
	ok(err)
	other := slices.Clone(code)
	other[0].Data = append([]byte{0xc3}, other[0].Data[1:]...)
	ok(packed.Write(file, other))
	ok(Check(dir, options("3", false)))
	err = Check(dir, options("3", true))
	if err == nil || !strings.Contains(err.Error(), "code_twice_amd64.zip is stale") {
		t.Errorf("with other code: %v", err)
	}
	other[0].Comment += " of another day"
	ok(packed.Write(file, other))
	ok(Check(dir, options("3", true)))
	ok(packed.Write(file, code))
	runs("[3 6 9] cpu: Queue.Launch: launch failed: kernel twice_kernel: panic in groups 1 to 1 of 2 groups of 2 "+
		"(main.go:14): runtime error: index out of range [3] with length 3\n", // from a function of the code's
		"[::4] with capacity 3\n") // of the arguments, from Go
	for _, args := range [][]string{{"vet", "./..."}, {"vet", "-tags", "purego", "./..."}} {
		if out, err := goTool(t, dir, args...); err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	t.Setenv("TANDEM_NATIVE", "off")
	runs(asGo)
	t.Setenv("TANDEM_NATIVE", "sse")
	runs("TANDEM_NATIVE is \"sse\", and must be one of [\"")
	t.Setenv("TANDEM_NATIVE", "")

	// Of another text the code does not run.
	stale := func(want string) {
		t.Helper()
		if err := Check(dir, options("5", false)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with another text: %v, want %s", err, want)
		}
		log.Reset()
	}
	stale("kernels_tandem.go is stale")
	ok(Write(dir, options("5", false)))
	logs(" has no machine code of twice_kernel")
	runs(asGo)
	stale("code of another twice_kernel")

	// What is in the folder is generated, and goes where it is not wanted.
	none := Options{NoLaunch: true, NoPTX: true, NoNative: true}
	writeFile(t, filepath.Join(folder, "mine.go"), "package nativecode\n")
	if err := Write(dir, none); err == nil || !strings.Contains(err.Error(), "is not a generated file") {
		t.Errorf("with a file of others: %v", err)
	}
	ok(os.Remove(filepath.Join(folder, "mine.go")))
	ok(Write(dir, none))
	if _, err := os.Stat(folder); err == nil {
		t.Error("the folder is still there")
	}
	runs(asGo)

	explain := options("3", false)
	explain.Explain = true
	_, err = Compile(dir, explain)
	ok(err)
	logs("one_kernel runs as Go on the cpu device: it is not twice\n")
}

// A text that clang does not compile is an error, which names the kernel and what clang says.
func TestTextRefused(t *testing.T) {
	needNative(t)
	dir := newModule(t, map[string]string{"main.go": nativeProgram})
	text := func(kernel string) (string, error) { return "KERNEL(" + kernel + ") { return t_; }", nil }
	err := Write(dir, Options{NoLaunch: true, NoPTX: true, Native: Machine(), text: text})
	for _, want := range []string{"_kernel for ", "undeclared identifier 't_'", "report it", "-native=false"} {
		if !errors.Is(err, nativegen.ErrText) || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, nativegen.Folder)); err == nil {
		t.Error("there is a folder of machine code")
	}
}

// CheckBytes finds a byte of machine code or of PTX that is another, unless another version of
// clang has made it.
func TestCheckBytes(t *testing.T) {
	needNative(t)
	dir := newModule(t, map[string]string{"main.go": nativeProgram})
	o := Options{NoLaunch: true, PTX: Clang(), Native: Machine()}
	if err := Write(dir, o); err != nil {
		t.Fatal(err)
	}
	o = Options{NoLaunch: true}
	if err := CheckBytes(dir, o); err != nil {
		t.Fatal(err)
	}
	finds := func(want string) {
		t.Helper()
		if err := Check(dir, o); err != nil {
			t.Errorf("without clang: %v", err)
		}
		switch err := CheckBytes(dir, o); {
		case want == "" && err == nil:
		case err == nil || want == "" || !strings.Contains(err.Error(), want):
			t.Errorf("it says %v, want %q", err, want)
		}
	}
	write := func(name string, list []packed.Member) {
		t.Helper()
		if err := packed.Write(name, list); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, nativegen.Folder, "code_one_amd64.zip")
	code, err := packed.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	other := slices.Clone(code)
	other[0].Data = bytes.Replace(other[0].Data, other[0].Data[:1], []byte{^other[0].Data[0]}, 1)
	write(file, other)
	finds("code_one_amd64.zip is stale")
	write(file, code)
	finds("")

	name := filepath.Join(dir, PTXName)
	list, err := ptxgen.ReadFile(name)
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	list[0].Text = bytes.Replace(list[0].Text, []byte(".version"), []byte("//\n.version"), 1)
	if err := ptxgen.WriteFile(name, list); err != nil {
		t.Fatal(err)
	}
	finds("other PTX of " + list[0].Name)
	other[0] = code[0]
	other[0].Comment += " of another day"
	write(file, other)
	finds("")
}
