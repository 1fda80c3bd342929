package compiler

import (
	"bytes"
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

// updatePTX writes the PTX of list into dir. Where a kernel's could not be made, what is there
// stays if it was made of the same text.
func updatePTX(dir string, list []ptxgen.Prebuilt, o Options) error {
	name := filepath.Join(dir, PTXName)
	if o.NoPTX {
		if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	old, _ := ptxgen.ReadFile(name) // what cannot be read is made anew
	for i, p := range list {
		if p.Text == nil {
			at := slices.IndexFunc(old, func(q ptxgen.Prebuilt) bool { return q.Name == p.Name && q.Key == p.Key })
			if at >= 0 {
				list[i] = old[at]
			}
		}
	}
	warnPTX(list, o)
	return ptxgen.WriteFile(name, list)
}

// checkPTX is an error where the PTX in dir is of other texts than list, or is other PTX than list
// has. None is no error, since it takes clang.
func checkPTX(dir string, list []ptxgen.Prebuilt, o Options) error {
	if o.NoPTX {
		return nil
	}
	name := filepath.Join(dir, PTXName)
	old, err := ptxgen.ReadFile(name)
	if err != nil {
		return err
	}
	for i, p := range list {
		at := slices.IndexFunc(old, func(q ptxgen.Prebuilt) bool { return q.Name == p.Name })
		if at < 0 {
			continue
		}
		if old[at].Key != p.Key || p.Text != nil && !bytes.Equal(old[at].Text, p.Text) {
			return fmt.Errorf("%s is stale: it has other PTX of %s; run go generate", name, p.Name)
		}
		list[i] = old[at]
		old = slices.Delete(old, at, at+1)
	}
	if len(old) > 0 {
		return fmt.Errorf("%s is stale: no kernel is called %s; run go generate", name, old[0].Name)
	}
	warnPTX(list, o)
	return nil
}

// warnPTX tells which kernels of list have no PTX.
func warnPTX(list []ptxgen.Prebuilt, o Options) {
	var names []string
	for _, p := range list {
		if p.Text == nil {
			names = append(names, p.Name)
		}
	}
	if len(names) > 0 && o.Log != nil {
		fmt.Fprintf(o.Log, "%s has no PTX of %s: go generate makes it where %s is installed; without it an NVIDIA GPU "+
			"needs NVRTC when the program runs\n", PTXName, strings.Join(names, ", "), ptxgen.Clang)
	}
}

// Show writes the PTX of a kernel of the package in dir, or the text of NAME.cl where texts are
// packed: of the name that its file of PTX has for it, or of all that begin with that of a generic
// kernel. Packages of kernels in Go have one such
// file; the built-in kernels have another, for those in OpenCL C.
func Show(w io.Writer, dir, kernel string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*_tandem.zip"))
	if err != nil {
		return err
	}
	found := false
	var names []string
	for _, name := range files {
		list, err := ptxgen.ReadFile(name)
		if err != nil {
			return err
		}
		for _, p := range list {
			if strings.HasSuffix(p.Name, ptxgen.TextExtension) != strings.HasSuffix(kernel, ptxgen.TextExtension) {
				continue
			}
			names = append(names, p.Name)
			if p.Name == kernel || strings.HasPrefix(p.Name, kernel+"_") {
				found = true
				if _, err := w.Write(p.Text); err != nil {
					return err
				}
			}
		}
	}
	switch {
	case len(names) == 0:
		return fmt.Errorf("%s has no PTX of kernels: run go generate", dir)
	case !found:
		return fmt.Errorf("%s has no PTX of a kernel %s; it has that of %s", dir, kernel, strings.Join(names, ", "))
	}
	return nil
}
