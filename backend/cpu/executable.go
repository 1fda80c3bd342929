package cpu

import (
	"fmt"
	"sync"

	"github.com/tandem-gpu/tandem/backend"
)

// mapped are the entries of code that is in executable memory. It stays there while the process
// runs, since the kernels that it is of are package variables.
var mapped = struct {
	sync.Mutex
	entries map[*backend.Native]uintptr
}{entries: map[*backend.Native]uintptr{}}

// entryOf brings code to executable memory, unless it is there, and gives its address.
func entryOf(n *backend.Native) (uintptr, error) {
	mapped.Lock()
	defer mapped.Unlock()
	if entry, ok := mapped.entries[n]; ok {
		return entry, nil
	}
	entry, err := executable(n.Code)
	if err != nil {
		return 0, fmt.Errorf("executable memory for machine code: %w; %s=off runs Go in its place", err, EnvNative)
	}
	mapped.entries[n] = entry
	return entry, nil
}

// refused is an error where the system gives processes no executable memory, as SELinux, systemd's
// MemoryDenyWriteExecute and macOS's hardened runtime may be set up to do.
var refused = sync.OnceValue(func() error {
	_, err := executable(make([]byte, 1))
	return err
})
