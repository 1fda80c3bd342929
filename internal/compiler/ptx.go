package compiler

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/ptxgen"
)

// PTXName is the file beside FileName that holds the PTX of a package's kernels, compressed.
const PTXName = "kernels_tandem.zip"

// Clang is Options.PTX where clang is installed, nil elsewhere.
func Clang() func(root, name, text string) ([]byte, error) {
	if _, err := exec.LookPath(ptxgen.Clang); err != nil {
		return nil
	}
	return func(root, name, text string) ([]byte, error) {
		s := &backend.Source{Name: name, Text: text}
		return ptxgen.CompileIn(root, s, "gpu/compile")
	}
}

// A prebuilt is the PTX of a kernel.
type prebuilt struct {
	name string // the entry point
	key  string // of what the PTX is made of, as ptxgen.Key has it
	text []byte // nil: there is none
}

// readPTX is what a file of PTX holds.
func readPTX(name string) (list []prebuilt, err error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, f := range r.File {
		c, err := f.Open()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		text, err := io.ReadAll(c)
		if err = errors.Join(err, c.Close()); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", name, f.Name, err)
		}
		list = append(list, prebuilt{strings.TrimSuffix(f.Name, ".ptx"), f.Comment, text})
	}
	return list, nil
}

// writePTX writes a file of PTX, unless it holds that already.
func writePTX(name string, list []prebuilt) error {
	list = slices.DeleteFunc(slices.Clone(list), func(p prebuilt) bool { return p.text == nil })
	if old, err := readPTX(name); err == nil && slices.EqualFunc(old, list, same) {
		return nil // other versions of Go may compress otherwise
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	for _, p := range list {
		f, err := w.CreateHeader(&zip.FileHeader{Name: p.name + ".ptx", Comment: p.key, Method: zip.Deflate})
		if err != nil {
			return err
		}
		if _, err := f.Write(p.text); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(name, b.Bytes(), 0o644)
}

func same(a, b prebuilt) bool {
	return a.name == b.name && a.key == b.key && bytes.Equal(a.text, b.text)
}

// updatePTX writes the PTX of list into dir. Where a kernel's could not be made, what is there
// stays if it was made of the same text.
func updatePTX(dir string, list []prebuilt, o Options) error {
	name := filepath.Join(dir, PTXName)
	if o.NoPTX {
		if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	old, _ := readPTX(name) // what cannot be read is made anew
	for i, p := range list {
		if p.text == nil {
			at := slices.IndexFunc(old, func(q prebuilt) bool { return q.name == p.name && q.key == p.key })
			if at >= 0 {
				list[i] = old[at]
			}
		}
	}
	warnPTX(list, o)
	return writePTX(name, list)
}

// checkPTX is an error where the PTX in dir is of other texts than list, or is other PTX than list
// has. None is no error, since it takes clang.
func checkPTX(dir string, list []prebuilt, o Options) error {
	if o.NoPTX {
		return nil
	}
	name := filepath.Join(dir, PTXName)
	old, err := readPTX(name)
	if err != nil {
		return err
	}
	for i, p := range list {
		at := slices.IndexFunc(old, func(q prebuilt) bool { return q.name == p.name })
		if at < 0 {
			continue
		}
		if old[at].key != p.key || p.text != nil && !bytes.Equal(old[at].text, p.text) {
			return fmt.Errorf("%s is stale: it has other PTX of %s; run go generate", name, p.name)
		}
		list[i] = old[at]
		old = slices.Delete(old, at, at+1)
	}
	if len(old) > 0 {
		return fmt.Errorf("%s is stale: no kernel is called %s; run go generate", name, old[0].name)
	}
	warnPTX(list, o)
	return nil
}

// warnPTX tells which kernels of list have no PTX.
func warnPTX(list []prebuilt, o Options) {
	var names []string
	for _, p := range list {
		if p.text == nil {
			names = append(names, p.name)
		}
	}
	if len(names) > 0 && o.Log != nil {
		fmt.Fprintf(o.Log, "%s has no PTX of %s: go generate makes it where %s is installed; without it an NVIDIA GPU "+
			"needs NVRTC when the program runs\n", PTXName, strings.Join(names, ", "), ptxgen.Clang)
	}
}

// Show writes the PTX of a kernel of the package in dir: of an entry point, or of all that begin
// with a generic kernel's name.
func Show(w io.Writer, dir, kernel string) error {
	list, err := readPTX(filepath.Join(dir, PTXName))
	if err != nil {
		return err
	}
	found := false
	var names []string
	for _, p := range list {
		names = append(names, p.name)
		if p.name == kernel || strings.HasPrefix(p.name, kernel+"_") {
			found = true
			if _, err := w.Write(p.text); err != nil {
				return err
			}
		}
	}
	if !found {
		return fmt.Errorf("%s has no kernel %s; it has %s", filepath.Join(dir, PTXName), kernel,
			strings.Join(names, ", "))
	}
	return nil
}
