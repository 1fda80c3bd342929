package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/npy"
)

// load reads a .npy file, until ctx is done.
func load(ctx context.Context, path string, p *progress) (*npy.Array, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	defer context.AfterFunc(ctx, func() { f.Close() })() // ends a read of a pipe that nobody writes to
	size := int64(-1)
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s: is a directory, not a .npy file", path)
	case info.Mode().IsRegular():
		size = info.Size()
		if err := fitsHost(size); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	p.begin("reading " + filepath.Base(path))
	a, err := npy.Read(&watchedReader{ctx: ctx, r: f, size: size, p: p}, size)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return a, nil
}

// fitsHost refuses what this machine's memory does not hold, before the attempt ends the program.
func fitsHost(size int64) error {
	d := backend.Lookup("cpu")
	if d == nil {
		return nil
	}
	infos, err := d.Devices()
	if err != nil || len(infos) == 0 || infos[0].Memory <= 0 || size <= infos[0].Memory {
		return nil
	}
	return &backend.Error{
		Op: "host memory", Err: backend.ErrOutOfMemory,
		Detail: fmt.Sprintf("%s are needed, the machine has %s", formatBytes(size), formatBytes(infos[0].Memory)),
	}
}

// A watchedReader reads in pieces, between which it looks at ctx and reports the progress.
type watchedReader struct {
	ctx        context.Context
	r          io.Reader
	size, done int64
	p          *progress
}

const readPiece = 8 << 20

func (w *watchedReader) Read(b []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := w.r.Read(b[:min(len(b), readPiece)])
	w.done += int64(n)
	if w.size > 0 {
		w.p.at(min(1, float64(w.done)/float64(w.size)))
	}
	return n, err
}

// A watchedWriter is the same for writing.
type watchedWriter struct {
	ctx        context.Context
	w          io.Writer
	size, done int64
	p          *progress
}

func (w *watchedWriter) Write(b []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := w.w.Write(b)
	w.done += int64(n)
	w.p.at(min(1, float64(w.done)/float64(w.size)))
	return n, err
}

// An output is a file in the making: whole under its name after commit, or not there at all. Until then it has another name in the same folder.
type output struct {
	path string   // as the user gave it
	name string   // where commit puts it: path, or what it links to
	f    *os.File // nil after commit and abort
	temp string   // "" for a device or a pipe, which is written directly
}

// createOutput begins an output, so that a wrong path fails before the work. abort ends it.
func createOutput(path string) (*output, error) {
	o := &output{path: path, name: path}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		o.name = target
	}
	var err error
	switch info, statErr := os.Stat(o.name); {
	case statErr == nil && info.IsDir():
		return nil, fmt.Errorf("-o %s: is a directory; name a file", path)
	case statErr == nil && !info.Mode().IsRegular():
		o.f, err = os.OpenFile(o.name, os.O_WRONLY, 0)
	default:
		err = o.createTemp()
	}
	if err != nil {
		return nil, fmt.Errorf("-o %s: %w", path, err)
	}
	return o, nil
}

// createTemp makes the file as any program makes files, its permissions left to the umask; os.CreateTemp would make it the owner's alone.
func (o *output) createTemp() (err error) {
	dir, _ := filepath.Split(o.name)
	for range 100 {
		temp := fmt.Sprintf("%s.tandem-%08x.tmp", dir, rand.Uint32())
		o.f, err = os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil {
			o.temp = temp
			return nil
		}
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	var e *fs.PathError
	if errors.As(err, &e) {
		return fmt.Errorf("cannot create a file there: %w", e.Err)
	}
	return err
}

// finish makes the content durable; commit can hardly fail after it.
func (o *output) finish() error {
	f := o.f
	o.f = nil
	var err error
	if o.temp != "" {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("-o %s: %w", o.path, err)
	}
	return nil
}

// commit gives a finished output its name.
func (o *output) commit() error {
	if o.temp == "" {
		return nil
	}
	if err := os.Rename(o.temp, o.name); err != nil {
		return fmt.Errorf("-o %s: %w", o.path, err)
	}
	o.temp = ""
	return nil
}

// abort removes what was not committed. After commit it does nothing.
func (o *output) abort() {
	if o.f != nil {
		o.f.Close()
		o.f = nil
	}
	if o.temp != "" {
		os.Remove(o.temp)
		o.temp = ""
	}
}

// outputs are the files of one command. All are whole before the first gets its name.
type outputs []*output

func createOutputs(paths []string) (o outputs, err error) {
	for _, path := range paths {
		one, err := createOutput(path)
		if err != nil {
			o.abort()
			return nil, err
		}
		o = append(o, one)
	}
	return o, nil
}

func (o outputs) abort() {
	for _, one := range o {
		one.abort()
	}
}

// commit finishes all outputs before it names the first.
func (o outputs) commit() error {
	for _, one := range o {
		if err := one.finish(); err != nil {
			return err
		}
	}
	for _, one := range o {
		if err := one.commit(); err != nil {
			return err
		}
	}
	return nil
}

// checkOutputs checks the values of -o before any work: want of them, all different.
func checkOutputs(paths []string, want int) error {
	seen := map[string]bool{}
	for _, p := range paths {
		switch clean := filepath.Clean(p); {
		case p == "":
			return usagef("-o needs a file name")
		case p == "-":
			return usagef("-o -: results go to files only; name one")
		case seen[clean]:
			return usagef("-o %s is given twice", p)
		default:
			seen[clean] = true
		}
	}
	switch {
	case len(paths) == 0:
		return usagef("no output file: give -o FILE.npy")
	case len(paths) != want:
		return usagef("%d files for %d results: give one -o for each, in their order", len(paths), want)
	}
	return nil
}
