package driverkit

import (
	"slices"
	"sync"

	"github.com/tandem-gpu/tandem/backend"
)

// An Entry is a device of a driver's list that is not open.
type Entry interface {
	// Known is the device with what is known of it before it is opened.
	Known() backend.Info
	// Open opens it.
	Open() (*backend.Device, error)
}

// A List is Name, Devices and Open of a driver. It finds the devices once; a list without any is
// not kept, and asked for again.
type List[E Entry] struct {
	Driver string
	Find   func() ([]E, error)

	mu      sync.Mutex
	entries []E
}

// Name is the driver's name.
func (l *List[E]) Name() string { return l.Driver }

// Devices lists what is known of the devices, in the order of Find.
func (l *List[E]) Devices() ([]backend.Info, error) {
	entries, err := l.Entries()
	if err != nil {
		return nil, err
	}
	infos := make([]backend.Info, len(entries))
	for i, e := range entries {
		infos[i] = e.Known()
	}
	return infos, nil
}

// Open opens device i.
func (l *List[E]) Open(i int) (*backend.Device, error) {
	entries, err := l.Entries()
	if err != nil {
		return nil, err
	}
	if i < 0 || i >= len(entries) {
		return nil, backend.Failure(l.Driver, "Driver.Open", backend.ErrNoDevice, "device %d of %d", i, len(entries))
	}
	return entries[i].Open()
}

// Entries is the list.
func (l *List[E]) Entries() ([]E, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.entries == nil {
		entries, err := l.Find()
		if err != nil {
			return nil, err
		}
		l.entries = entries
	}
	return slices.Clone(l.entries), nil
}
