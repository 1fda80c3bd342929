package backend

import (
	"slices"
	"strings"
	"sync"
)

var registry struct {
	sync.RWMutex
	drivers []Driver // sorted by name
}

// Register makes a driver available to Open. Drivers call it from init. It panics when d is nil or
// its name is taken.
func Register(d Driver) {
	if d == nil {
		panic("backend: Register driver is nil")
	}
	registry.Lock()
	defer registry.Unlock()
	i, taken := slices.BinarySearchFunc(registry.drivers, d.Name(), func(d Driver, name string) int {
		return strings.Compare(d.Name(), name)
	})
	if taken {
		panic("backend: Register called twice for driver " + d.Name())
	}
	registry.drivers = slices.Insert(registry.drivers, i, d)
}

// Names lists the registered drivers, sorted.
func Names() []string {
	drivers := Drivers()
	names := make([]string, len(drivers))
	for i, d := range drivers {
		names[i] = d.Name()
	}
	return names
}

// Drivers lists the registered drivers, sorted by name.
func Drivers() []Driver {
	registry.RLock()
	defer registry.RUnlock()
	return slices.Clone(registry.drivers)
}

// HostInfo describes the cpu device, and so this machine's memory: the zero Info where the program
// has no such driver.
func HostInfo() (info Info) {
	if d := Lookup("cpu"); d != nil {
		if infos, err := d.Devices(); err == nil && len(infos) > 0 {
			info = infos[0]
		}
	}
	return info
}

// Lookup finds a registered driver; nil if there is none of that name.
func Lookup(name string) Driver {
	for _, d := range Drivers() {
		if d.Name() == name {
			return d
		}
	}
	return nil
}
