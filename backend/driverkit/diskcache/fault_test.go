package diskcache

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// failing makes the nth call of the file system fail with err, and counts the calls. A write that
// fails has written half.
type failing struct {
	*Files
	nth, calls int
	err        error
}

func (f *failing) call(name string) error {
	if f.calls++; f.calls == f.nth {
		return &fs.PathError{Op: name, Err: f.err}
	}
	return nil
}

// files is the file system with failures.
func (f *failing) files() *Files {
	return &Files{
		Lstat: func(name string) (fs.FileInfo, error) {
			if err := f.call("lstat"); err != nil {
				return nil, err
			}
			return f.Lstat(name)
		},
		Open: func(name string) (fs.File, error) {
			if err := f.call("open"); err != nil {
				return nil, err
			}
			file, err := f.Files.Open(name)
			return failingReader{file, f}, err
		},
		Chtimes: func(name string, access, change time.Time) error {
			if err := f.call("chtimes"); err != nil {
				return err
			}
			return f.Chtimes(name, access, change)
		},
		MkdirAll: func(dir string, mode fs.FileMode) error {
			if err := f.call("mkdir"); err != nil {
				return err
			}
			return f.MkdirAll(dir, mode)
		},
		CreateTemp: func(dir, prefix string) (File, error) {
			if err := f.call("create"); err != nil {
				return nil, err
			}
			file, err := f.CreateTemp(dir, prefix)
			return failingWriter{file, f}, err
		},
		Rename: func(from, to string) error {
			if err := f.call("rename"); err != nil {
				return err
			}
			return f.Rename(from, to)
		},
		Remove: func(name string) error {
			if err := f.call("remove"); err != nil {
				return err
			}
			return f.Remove(name)
		},
		ReadDir: func(dir string) ([]fs.DirEntry, error) {
			if err := f.call("readdir"); err != nil {
				return nil, err
			}
			return f.ReadDir(dir)
		},
	}
}

type failingReader struct {
	fs.File
	f *failing
}

func (r failingReader) Read(b []byte) (int, error) {
	if err := r.f.call("read"); err != nil {
		return 0, err
	}
	return r.File.Read(b)
}

type failingWriter struct {
	File
	f *failing
}

func (w failingWriter) Write(b []byte) (int, error) {
	if err := w.f.call("write"); err != nil {
		n, _ := w.File.Write(b[:len(b)/2])
		return n, err
	}
	return w.File.Write(b)
}

// Close fails as that of a network's file system does, which writes then.
func (w failingWriter) Close() error {
	err := w.File.Close()
	if failed := w.f.call("close"); failed != nil {
		return failed
	}
	return err
}

// A file system that is full, read-only or broken costs entries and nothing else: what is found is
// what was put, there are no remains, and once there is room again the cache works.
func TestFileSystemFails(t *testing.T) {
	faults := 0
	for _, code := range []syscall.Errno{syscall.ENOSPC, syscall.EROFS, syscall.EIO, syscall.EDQUOT} {
		for nth := 1; ; nth++ {
			c := temp(t)
			c.total = 3 * int64(headerSize+3)
			old, k := KeyOf("old"), KeyOf("k")
			c.Put(old, []byte("old"))
			f := &failing{Files: files.Load(), nth: nth, err: code}
			Swap(f.files())
			c.Put(k, []byte("new"))
			for _, key := range []Key{old, k} {
				if data, ok := c.Get(key); ok && string(data) != map[Key]string{old: "old", k: "new"}[key] {
					t.Errorf("call %d fails with %v: Get gives %q", nth, code, data)
				}
			}
			c.Delete(old)
			for i := range 4 { // removes some of them
				c.Put(KeyOf(fmt.Sprint(i)), []byte("abc"))
			}
			Swap(f.Files)
			if f.calls < nth {
				break
			}
			faults++
			if left, _ := filepath.Glob(filepath.Join(c.dir, tempPrefix+"*")); len(left) != 0 {
				t.Errorf("call %d fails with %v: temporary files stay behind: %v", nth, code, left)
			}
			c.Put(k, []byte("again"))
			wantEntry(t, c, k, "again")
		}
	}
	t.Logf("%d faults", faults)
	if faults < 100 {
		t.Errorf("only %d faults", faults)
	}
}

// A file system that stays full: nothing is kept, and what was kept before is still found.
func TestFull(t *testing.T) {
	c := temp(t)
	old, k := KeyOf("old"), KeyOf("k")
	c.Put(old, []byte("old"))
	full := *files.Load()
	full.CreateTemp = func(dir, prefix string) (File, error) {
		f, err := os.CreateTemp(dir, prefix)
		return failingWriter{f, &failing{nth: 1, err: syscall.ENOSPC}}, err
	}
	defer Swap(Swap(&full))
	c.Put(k, make([]byte, 1000))
	wantMissing(t, c, k, "there is no room")
	wantEntry(t, c, old, "old")
	if left, _ := os.ReadDir(c.dir); len(left) != 1 {
		t.Errorf("%d files, want one", len(left))
	}
}
