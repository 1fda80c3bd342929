package ptxgen

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// A Prebuilt is the PTX of a kernel in a file of PTX, which is compressed, or a kernel's text,
// whose name ends in ".cl".
type Prebuilt struct {
	Name string // the entry point, or another name that tells the kernel from all others
	Key  string // of what the PTX is made of
	Text []byte // nil: there is none
}

const (
	extension     = ".ptx" // of a kernel's name in a file
	TextExtension = ".cl"  // of a text's
)

func (p Prebuilt) file() string {
	if strings.HasSuffix(p.Name, TextExtension) {
		return p.Name
	}
	return p.Name + extension
}

// ReadFile is what a file of PTX holds.
func ReadFile(name string) (list []Prebuilt, err error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, f := range r.File {
		c, err := f.Open()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		text, err := io.ReadAll(c)
		if err = errors.Join(err, c.Close()); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", name, f.Name, err)
		}
		list = append(list, Prebuilt{strings.TrimSuffix(f.Name, extension), f.Comment, text})
	}
	return list, nil
}

// WriteFile writes a file of PTX, unless it holds that already. Package support reads it in the
// program.
func WriteFile(name string, list []Prebuilt) error {
	list = slices.DeleteFunc(slices.Clone(list), func(p Prebuilt) bool { return p.Text == nil })
	if old, err := ReadFile(name); err == nil && slices.EqualFunc(old, list, Prebuilt.equal) {
		return nil // other versions of Go may compress otherwise
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	for _, p := range list {
		f, err := w.CreateHeader(&zip.FileHeader{Name: p.file(), Comment: p.Key, Method: zip.Deflate})
		if err != nil {
			return err
		}
		if _, err := f.Write(p.Text); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(name, b.Bytes(), 0o644)
}

func (p Prebuilt) equal(q Prebuilt) bool {
	return p.Name == q.Name && p.Key == q.Key && bytes.Equal(p.Text, q.Text)
}
