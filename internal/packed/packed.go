// Package packed keeps what generators make of kernels in compressed files: PTX, texts, machine
// code. Package support reads them in the program.
package packed

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// A Member is a file in a compressed file.
type Member struct {
	Name    string
	Comment string // what Data was made of
	Data    []byte
}

// Read is what the compressed file name holds.
func Read(name string) (list []Member, err error) {
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
		data, err := io.ReadAll(c)
		if err = errors.Join(err, c.Close()); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", name, f.Name, err)
		}
		list = append(list, Member{f.Name, f.Comment, data})
	}
	return list, nil
}

// Write makes name a compressed file of list, unless it is one already: other versions of Go may
// compress otherwise.
func Write(name string, list []Member) error {
	if old, err := Read(name); err == nil && slices.EqualFunc(old, list, Member.Equal) {
		return nil
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	for _, m := range list {
		f, err := w.CreateHeader(&zip.FileHeader{Name: m.Name, Comment: m.Comment, Method: zip.Deflate})
		if err != nil {
			return err
		}
		if _, err := f.Write(m.Data); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(name, b.Bytes(), 0o644)
}

// Equal tells whether m and o hold the same.
func (m Member) Equal(o Member) bool {
	return m.Name == o.Name && m.Comment == o.Comment && bytes.Equal(m.Data, o.Data)
}
