package compiler

import (
	"errors"
	"fmt"
	"go/types"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/tandem-gpu/tandem/gpu/compiler/internal/front"
	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ir"
	"github.com/tandem-gpu/tandem/gpu/compiler/internal/lanes"
	"github.com/tandem-gpu/tandem/internal/nativegen"
	"github.com/tandem-gpu/tandem/internal/ptxgen"
)

// A nativeKernel is a kernel's text in C.
type nativeKernel struct{ name, key, text string }

// nativeKey adds the machine code of an instance, and is the key that it is found by; it is empty
// where the instance has none.
func (e *emitter) nativeKey(n *ir.Kernel) string {
	if e.o.NoNative || e.pkg.Module == nil { // without a module no package is found beside this one
		return ""
	}
	text, err := e.o.nativeText(n, e.Lowerer)
	if err != nil {
		if e.o.Explain && e.o.Log != nil {
			fmt.Fprintf(e.o.Log, "%s runs as Go on the cpu device: %v\n", n.Entry, err)
		}
		return ""
	}
	k := nativeKernel{n.Entry, nativegen.Key(text), text}
	e.native = append(e.native, k)
	return k.key
}

// natives is the table of the package's machine code.
func (e *emitter) natives() string {
	return e.qualifier(types.NewPackage(e.pkg.ImportPath+"/"+nativegen.Folder, nativegen.Folder)) + ".Kernels"
}

// nativeText is the kernel's text in C; tests have their own.
func (o *Options) nativeText(n *ir.Kernel, l *front.Lowerer) (string, error) {
	if o.text != nil {
		return o.text(n.Entry)
	}
	return lanes.Text(n, l.Program)
}

// Machine is Options.Native where clang is installed, nil elsewhere.
func Machine() func(l nativegen.Level, name, text string) (*nativegen.Blob, error) {
	if _, err := exec.LookPath(ptxgen.Clang); err != nil {
		return nil
	}
	return nativegen.Compile
}

// updateNative writes the machine code of list into its folder below dir. Without a compiler what
// is there stays: a kernel has its code only while its text is that of the code.
func updateNative(dir string, list []nativeKernel, o Options) error {
	folder := filepath.Join(dir, nativegen.Folder)
	switch {
	case len(list) == 0:
		return nativegen.RemoveFolder(folder, nil)
	case o.Native == nil:
		if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
			err = nativegen.WriteFolder(folder, "", nil)
			if err != nil {
				return err
			}
		}
		return warnNative(folder, list, o)
	}
	version, err := ptxgen.Version()
	if err != nil {
		return err
	}
	kernels, err := compileNative(list, o)
	if err != nil {
		return err
	}
	return nativegen.WriteFolder(folder, version, kernels)
}

// compileNative compiles all texts for all levels, on all cores. What keeps a kernel from having
// code is a warning; a text that the compiler does not take is an error.
func compileNative(list []nativeKernel, o Options) (kernels []nativegen.Kernel, refused error) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	cores := make(chan bool, runtime.GOMAXPROCS(0))
	for _, k := range list {
		blobs := map[string]*nativegen.Blob{}
		kernels = append(kernels, nativegen.Kernel{Name: k.name, Key: k.key, Blobs: blobs})
		for _, l := range nativegen.Levels {
			cores <- true
			wg.Go(func() {
				b, err := o.Native(l, k.name, k.text)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					blobs[l.Name] = b
				case errors.Is(err, nativegen.ErrText):
					refused = fmt.Errorf("%w\nPlease report it; -native=false leaves machine code out", err)
				case o.Log != nil:
					fmt.Fprintf(o.Log, "warning: %v\n", err)
				}
				<-cores
			})
		}
	}
	wg.Wait()
	return kernels, refused
}

// checkNative is an error where the machine code below dir is of other texts than list, or not what
// o's compiler makes. None is no error without a compiler.
func checkNative(dir string, list []nativeKernel, o Options) error {
	if o.NoNative {
		return nil
	}
	folder := filepath.Join(dir, nativegen.Folder)
	keys, err := nativegen.ReadKeys(folder)
	if err != nil {
		return err
	}
	for _, k := range list {
		if key, ok := keys[k.name]; ok && key != k.key {
			return fmt.Errorf("%s is stale: it has code of another %s; run go generate", folder, k.name)
		}
		delete(keys, k.name)
	}
	for name := range keys {
		return fmt.Errorf("%s is stale: no kernel is called %s; run go generate", folder, name)
	}
	if len(list) == 0 {
		return nil
	}
	if _, err := os.Stat(folder); err != nil {
		return fmt.Errorf("%w; run go generate", err)
	}
	if o.Native == nil {
		return warnNative(folder, list, o)
	}
	version, err := ptxgen.Version()
	if err != nil {
		return err
	}
	kernels, err := compileNative(list, o)
	if err != nil {
		return err
	}
	return nativegen.CheckFolder(folder, version, kernels)
}

// warnNative tells which kernels of list have no machine code in folder.
func warnNative(folder string, list []nativeKernel, o Options) error {
	keys, err := nativegen.ReadKeys(folder)
	var names []string
	for _, k := range list {
		if keys[k.name] != k.key {
			names = append(names, k.name)
		}
	}
	if len(names) > 0 && o.Log != nil {
		fmt.Fprintf(o.Log, "%s has no machine code of %s: go generate makes it where %s is installed; without it the "+
			"cpu device runs Go\n", folder, strings.Join(names, ", "), ptxgen.Clang)
	}
	return err
}
