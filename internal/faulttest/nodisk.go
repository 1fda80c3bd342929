package faulttest

import (
	"io/fs"
	"syscall"
	"testing"

	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/backend/driverkit/diskcache"
)

// NoDisk uses a kernel of the user's while the disk cache cannot be written, or not be read: that
// costs time and nothing else. library makes a driver that has read no cache yet.
func NoDisk(t *testing.T, library func(t *testing.T) *Library) {
	for name, spoil := range map[string]func(f *diskcache.Files){
		"full": func(f *diskcache.Files) {
			f.CreateTemp = func(string, string) (diskcache.File, error) { return nil, syscall.ENOSPC }
		},
		"read-only": func(f *diskcache.Files) {
			f.MkdirAll = func(string, fs.FileMode) error { return syscall.EROFS }
		},
		"broken": func(f *diskcache.Files) {
			f.Open = func(string) (fs.File, error) { return nil, syscall.EIO }
		},
	} {
		t.Run(name, func(t *testing.T) {
			backendtest.EmptyCache(t)
			l := library(t)
			l.Use = []Operation{UserKernel}
			system := diskcache.Swap(nil)
			spoiled := *system
			spoil(&spoiled)
			diskcache.Swap(&spoiled)
			defer diskcache.Swap(system)
			Functions(t, l)
		})
	}
}
