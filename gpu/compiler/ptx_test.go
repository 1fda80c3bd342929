package compiler

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/internal/ptxgen"
)

const twoKernels = `package main

import (
	"fmt"

	"github.com/tandem-gpu/tandem/gpu"
)

//tandem:kernel float32 int8
func one[T gpu.Number](it gpu.Item, x []T) { x[it.Global(0)] = 1 }

//tandem:kernel
func two(it gpu.Item, x []float32) { x[it.Global(0)] = 2 }

func main() {
	for _, s := range []interface{ Prebuilt() ([]byte, error) }{oneFloat32Kernel, oneInt8Kernel, twoKernel} {
		ptx, err := s.Prebuilt()
		fmt.Printf("%q %v\n", ptx, err)
	}
}
`

// PTX lies in a file of its own, which a machine without its compiler leaves as it is as far as it
// is right, checks, and tells what is missing.
func TestPTXFile(t *testing.T) {
	dir := newModule(t, map[string]string{"main.go": twoKernels})
	version := "1"
	made := Options{NoLaunch: true, NoNative: true, PTX: func(_, name, _ string) ([]byte, error) {
		return []byte(name + " " + version), nil
	}}
	log := new(bytes.Buffer)
	none := Options{NoLaunch: true, NoNative: true, Log: log}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	has := func(names ...string) {
		t.Helper()
		list, err := ptxgen.ReadFile(filepath.Join(dir, PTXName))
		ok(err)
		var got []string
		for _, p := range list {
			got = append(got, string(p.Text))
		}
		if strings.Join(got, ", ") != strings.Join(names, ", ") {
			t.Errorf("the file has %q, want %q", got, names)
		}
	}
	logs := func(want string) {
		t.Helper()
		if got := log.String(); !strings.HasPrefix(got, want) || (want == "") != (got == "") {
			t.Errorf("it says %q, want %q", got, want)
		}
		log.Reset()
	}
	ok(Write(dir, none))
	has()
	logs("kernels_tandem.zip has no PTX of one_float32, one_int8, two_kernel: go generate makes it where clang-19")
	ok(Check(dir, none))
	logs("kernels_tandem.zip has no PTX of one_float32, one_int8, two_kernel: ")
	text, err := os.ReadFile(filepath.Join(dir, FileName))
	ok(err)

	ok(Write(dir, made))
	has("one_float32 1", "one_int8 1", "two_kernel 1")
	if again, err := os.ReadFile(filepath.Join(dir, FileName)); err != nil || !bytes.Equal(again, text) {
		t.Errorf("with PTX the text is another: %v", err)
	}
	ok(Check(dir, none))
	logs("")
	ok(Check(dir, made))
	runs := func(want string) {
		t.Helper()
		if out, err := goTool(t, dir, "run", "."); err != nil || !strings.HasPrefix(out, want) {
			t.Errorf("%v\n%s\nwant\n%s", err, out, want)
		}
	}
	runs("\"one_float32 1\" <nil>\n\"one_int8 1\" <nil>\n\"two_kernel 1\" <nil>\n")
	for kernel, want := range map[string]string{"one": "one_float32 1one_int8 1", "two_kernel": "two_kernel 1"} {
		var b bytes.Buffer
		if err := Show(&b, dir, kernel); err != nil || b.String() != want {
			t.Errorf("PTX of %s: %q, %v", kernel, &b, err)
		}
	}
	if err := Show(new(bytes.Buffer), dir, "on"); err == nil ||
		!strings.Contains(err.Error(), "it has that of one_float32, one_int8, two_kernel") {
		t.Errorf("PTX of what is no kernel: %v", err)
	}

	version = "2"
	if err := Check(dir, made); err == nil || !strings.Contains(err.Error(), "other PTX of one_float32") {
		t.Errorf("with other PTX: %v", err)
	}
	ok(Check(dir, none))
	writeFile(t, filepath.Join(dir, "main.go"), strings.Replace(twoKernels, "= 2", "= 3", 1))
	out, err := compile(dir, none)
	ok(err)
	writeFile(t, filepath.Join(dir, FileName), string(out.text))
	if err := Check(dir, none); err == nil || !strings.Contains(err.Error(), "other PTX of two_kernel; run") {
		t.Errorf("with another text: %v", err)
	}
	log.Reset()
	ok(Write(dir, none))
	has("one_float32 1", "one_int8 1")
	logs("kernels_tandem.zip has no PTX of two_kernel: ")
	runs("\"one_float32 1\" <nil>\n\"one_int8 1\" <nil>\n\"\" <nil>\n")

	writeFile(t, filepath.Join(dir, PTXName), "<<<<<<< HEAD")
	if err := Check(dir, none); err == nil || !strings.Contains(err.Error(), "zip: not a valid zip file") {
		t.Errorf("with a damaged file: %v", err)
	}
	runs("\"\" embedded file: zip: not a valid")
	ok(Write(dir, Options{NoLaunch: true, NoPTX: true, NoNative: true}))
	if _, err := os.Stat(filepath.Join(dir, PTXName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without PTX the file is there: %v", err)
	}
	runs("\"\" <nil>\n\"\" <nil>\n\"\" <nil>\n")
}
