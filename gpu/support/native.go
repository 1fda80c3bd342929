package support

import (
	"fmt"
	"strings"
	"sync"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/gpu"
)

// Natives is the machine code of the instances of a kernel: a compressed file that package
// nativegen wrote.
type Natives string

// NativeComment is what a file says of a kernel's code beside it: the key of its text, what
// [backend.Native] has, and the compiler.
func NativeComment(key string, lanes, group, strip int, compiler string) string {
	return fmt.Sprintf("%s %d %d %d %s", key, lanes, group, strip, compiler)
}

// ParseNative reads what NativeComment has made; n is without the code.
func ParseNative(comment string) (n backend.Native, key, compiler string, err error) {
	if words := strings.SplitN(comment, " ", 5); len(words) == 5 {
		compiler = words[4]
	}
	if _, err = fmt.Sscan(comment, &key, &n.Lanes, &n.Group, &n.Strip); err != nil {
		err = fmt.Errorf("%q beside it: %w", comment, err)
	}
	return n, key, compiler, err
}

// Of finds the code of a kernel for a level, if it was made of what key stands for; it gives nil
// where there is none. There is none where the cpu device runs each work-item as a goroutine.
func (n Natives) Of(kernel, key string) func(level string) (*backend.Native, error) {
	if n == "" || gpu.Goroutines {
		return nil
	}
	return (&nativeKernel{Natives: n, kernel: kernel, key: key}).code
}

// A nativeKernel is a kernel, and its code for each level that has been asked for.
type nativeKernel struct {
	Natives
	kernel, key string

	mu    sync.Mutex
	found map[string]*backend.Native
}

func (k *nativeKernel) code(level string) (*backend.Native, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if n, ok := k.found[level]; ok {
		return n, nil
	}
	n, err := k.read(level)
	if err != nil {
		return nil, fmt.Errorf("machine code of kernel %s: %w", k.kernel, err)
	}
	if k.found == nil {
		k.found = map[string]*backend.Native{}
	}
	k.found[level] = n
	return n, nil
}

func (k *nativeKernel) read(level string) (*backend.Native, error) {
	f, err := finder(string(k.Natives))(k.kernel + "." + level)
	if f == nil || err != nil {
		return nil, err
	}
	n, key, _, err := ParseNative(f.Comment)
	if err != nil || key != k.key {
		return nil, err
	}
	n.Code, err = unpack(f, nil)
	return &n, err
}
