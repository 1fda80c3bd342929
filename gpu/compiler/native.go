package compiler

import (
	"cmp"
	"errors"
	"fmt"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
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

// nativeCode adds the machine code of an instance, and is what finds it: "nil" where there is none.
func (e *emitter) nativeCode(n *ir.Kernel) string {
	if e.o.NoNative || e.pkg.Module == nil { // without a module no package is found beside this one
		return "nil"
	}
	text, err := e.o.nativeText(n, e.Lowerer)
	if err != nil {
		if e.o.Explain && e.o.Log != nil {
			fmt.Fprintf(e.o.Log, "%s runs as Go on the cpu device: %v\n", n.Entry, err)
		}
		return "nil"
	}
	k := nativeKernel{n.Entry, nativegen.Key(text), text}
	e.native = append(e.native, k)
	folder := types.NewPackage(e.pkg.ImportPath+"/"+nativegen.Folder, nativegen.Folder)
	return fmt.Sprintf("%s.%s.Of(%q, %q)", e.qualifier(folder), nativegen.Variable(n.Entry), n.Entry, k.key)
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

// updateNative writes the machine code of list into its folder below dir. What is there of the same
// texts, by the same compiler, stays. Without a compiler all does: a kernel has its code only while
// its text is that of the code.
func updateNative(dir string, list []nativeKernel, o Options) error {
	folder := filepath.Join(dir, nativegen.Folder)
	switch {
	case len(list) == 0:
		return nativegen.RemoveFolder(folder, nil)
	case o.Native == nil:
		return cmp.Or(nativegen.WriteNames(folder, kernelsOf(list)), warnNative(folder, list, o))
	}
	version, err := ptxgen.Version()
	if err != nil {
		return err
	}
	old, _ := nativegen.ReadFolder(folder, version) // what cannot be read is made anew
	kernels, err := compileNative(list, old, o)
	if err != nil {
		return err
	}
	return nativegen.WriteFolder(folder, version, kernels)
}

// kernelsOf is the kernels of list without code.
func kernelsOf(list []nativeKernel) (kernels []nativegen.Kernel) {
	for _, k := range list {
		kernels = append(kernels, nativegen.Kernel{Name: k.name, Key: k.key})
	}
	return kernels
}

// compileNative compiles all texts for all levels, on all cores, but for those whose code old has.
// What keeps a kernel from having code is a warning; a text that the compiler does not take is an
// error.
func compileNative(list []nativeKernel, old []nativegen.Kernel, o Options) (
	kernels []nativegen.Kernel, refused error,
) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	cores := make(chan bool, runtime.GOMAXPROCS(0))
	for _, k := range list {
		blobs := map[string]*nativegen.Blob{}
		kernels = append(kernels, nativegen.Kernel{Name: k.name, Key: k.key, Blobs: blobs})
		i := slices.IndexFunc(old, func(n nativegen.Kernel) bool { return n.Name == k.name && n.Key == k.key })
		for _, l := range nativegen.Levels {
			if i >= 0 && old[i].Blobs[l.Name] != nil {
				blobs[l.Name] = old[i].Blobs[l.Name]
				continue
			}
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
	code, err := nativegen.ReadFolder(folder, "")
	if err != nil {
		return err
	}
	for _, c := range code {
		i := slices.IndexFunc(list, func(k nativeKernel) bool { return k.name == c.Name })
		if i < 0 {
			return fmt.Errorf("%s is stale: no kernel is called %s; run go generate", folder, c.Name)
		}
		if list[i].key != c.Key {
			return fmt.Errorf("%s is stale: it has code of another %s; run go generate", folder, c.Name)
		}
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
	kernels, err := compileNative(list, nil, o)
	if err != nil {
		return err
	}
	return nativegen.CheckFolder(folder, version, kernels)
}

// warnNative tells which kernels of list have no machine code in folder.
func warnNative(folder string, list []nativeKernel, o Options) error {
	code, err := nativegen.ReadFolder(folder, "")
	var names []string
	for _, k := range list {
		if !slices.ContainsFunc(code, func(c nativegen.Kernel) bool { return c.Name == k.name && c.Key == k.key }) {
			names = append(names, k.name)
		}
	}
	if len(names) > 0 && o.Log != nil {
		fmt.Fprintf(o.Log, "%s has no machine code of %s: go generate makes it where %s is installed; without it the "+
			"cpu device runs Go\n", folder, strings.Join(names, ", "), ptxgen.Clang)
	}
	return err
}
