//go:build !linux || tandem_nolibs

package dl

import "sync"

// sigaction is the C library's function, nil where no library can be loaded.
var sigaction = sync.OnceValue(func() func(signal int, action, old uintptr) {
	for _, name := range []string{"/usr/lib/libSystem.B.dylib", "libc.so.7", "libc.so"} {
		if h, err := open(name, false); err == nil {
			if address, err := symbol(h, "sigaction"); err == nil {
				return func(signal int, action, old uintptr) { Call(address, uintptr(signal), action, old) }
			}
		}
	}
	return nil
})
