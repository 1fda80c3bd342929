package support

import (
	"archive/zip"
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/tandem-gpu/tandem/backend"
)

// PTX finds the PTX of kernels in a file that package ptxgen wrote, which is read when it is
// needed.
func PTX(file string) func(kernel string) *backend.PackedPTX {
	find := finder(file)
	return func(kernel string) *backend.PackedPTX {
		name := kernel + ".ptx"
		return &backend.PackedPTX{
			Hash:   sync.OnceValue(func() string { return hashOf(find(name)) }),
			Unpack: sync.OnceValues(func() ([]byte, error) { return unpack(find(name)) }),
		}
	}
}

// Texts finds the texts of kernels in the same file, but for [Head]. It panics where the file is
// not what was embedded.
func Texts(file string) func(kernel string) func() string {
	find := finder(file)
	return func(kernel string) func() string {
		return sync.OnceValue(func() string {
			text, err := unpack(find(kernel + ".cl"))
			if err != nil || text == nil {
				panic(fmt.Sprintf("no text of kernel %s: %v", kernel, err))
			}
			return Head + string(text)
		})
	}
}

// finder finds files by name in a compressed file, nil where there is none.
func finder(file string) func(name string) (*zip.File, error) {
	open := sync.OnceValues(func() (*zip.Reader, error) {
		return zip.NewReader(strings.NewReader(file), int64(len(file)))
	})
	return func(name string) (*zip.File, error) {
		r, err := open()
		if err != nil {
			return nil, fmt.Errorf("embedded file: %w", err)
		}
		for _, f := range r.File {
			if f.Name == name {
				return f, nil
			}
		}
		return nil, nil
	}
}

// hashOf is a hash of f as it is compressed.
func hashOf(f *zip.File, err error) string {
	if f == nil || err != nil {
		return ""
	}
	sum := sha256.New()
	if r, err := f.OpenRaw(); err == nil {
		io.Copy(sum, r)
	}
	return string(sum.Sum(nil))
}

func unpack(f *zip.File, err error) ([]byte, error) {
	if f == nil || err != nil {
		return nil, err
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("embedded file %s: %w", f.Name, err)
	}
	defer r.Close()
	ptx, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("embedded file %s: %w", f.Name, err)
	}
	return ptx, nil
}
