// Package diskcache keeps what is costly to make, such as compiled kernels, in files between the
// runs of a program.
//
// The cache is an aid and never a source of failure or of wrong results: an entry that is damaged,
// cut short, of another version, or that another user could have written is not found, and a folder
// that cannot be read or written is an empty cache.
//
// Files lie in a folder for each driver in backend.CacheDir.
package diskcache

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tandem-gpu/tandem/backend"
)

const (
	// maxTotal bounds the files of one cache together; beyond it the least recently used are
	// removed.
	maxTotal = 256 << 20
	// maxEntry bounds one entry: a larger one is not kept.
	maxEntry = maxTotal / 4
	// staleTemp is the age at which an unfinished file is taken for the remains of a program that
	// ended early.
	staleTemp = time.Hour
)

// magic starts every entry. Its number changes with the format.
const magic = "tandem cache 1\n\x00"

const headerSize = len(magic) + 2*sha256.Size // magic, key, checksum

const (
	suffix     = ".bin"
	tempPrefix = "tmp-"
)

// A Key names an entry.
type Key [sha256.Size]byte

// KeyOf is the key of the parts in their order. Every part counts with its length: "ab", "c" is not
// "a", "bc".
func KeyOf(parts ...string) Key {
	h := sha256.New()
	for _, p := range parts {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		io.WriteString(h, p)
	}
	return Key(h.Sum(nil))
}

// Files is what caches do to the file system. Tests put other functions in place of the system's
// own, by [Swap].
type Files struct {
	Lstat      func(name string) (fs.FileInfo, error)
	Open       func(name string) (fs.File, error)
	Chtimes    func(name string, access, change time.Time) error
	MkdirAll   func(dir string, mode fs.FileMode) error
	CreateTemp func(dir, prefix string) (File, error)
	Rename     func(from, to string) error
	Remove     func(name string) error
	ReadDir    func(dir string) ([]fs.DirEntry, error)
}

// A File is a file that is being written.
type File interface {
	io.WriteCloser
	Name() string
}

var files atomic.Pointer[Files]

func init() {
	files.Store(&Files{
		Lstat: os.Lstat, Chtimes: os.Chtimes, MkdirAll: os.MkdirAll,
		Rename: os.Rename, Remove: os.Remove, ReadDir: os.ReadDir,
		Open:       func(name string) (fs.File, error) { return os.Open(name) },
		CreateTemp: func(dir, prefix string) (File, error) { return os.CreateTemp(dir, prefix) }, // mode 0600
	})
}

// Swap makes all caches use f, and returns what they used before.
func Swap(f *Files) (old *Files) { return files.Swap(f) }

// A Cache is a folder of entries. It may be used by many goroutines and processes at once. The zero
// Cache keeps nothing.
type Cache struct {
	dir   string // "" is a cache that keeps nothing
	total int64  // bound on the bytes of all entries
}

// Open returns the cache of one driver in backend.CacheDir, as that is at this moment. The folder
// is made when the first entry is put.
func Open(driver string) *Cache {
	base := backend.CacheDir()
	if base == "" {
		return &Cache{}
	}
	return &Cache{dir: filepath.Join(base, driver), total: maxTotal}
}

// Explain says where the folder of all caches is, "" where there is none, and why they, or some of
// them, keep nothing. It makes the folder if it can, as the first entry would.
func Explain() (dir string, err error) {
	base := Open("")
	if !base.Keeps() {
		if os.Getenv(backend.EnvCache) == "off" {
			return "", errors.New(backend.EnvCache + " is off")
		}
		_, err := os.UserCacheDir()
		return "", err
	}
	fsys := files.Load()
	if err := fsys.MkdirAll(base.dir, 0o700); err != nil {
		return base.dir, err
	}
	f, err := fsys.CreateTemp(base.dir, tempPrefix)
	if err != nil {
		return base.dir, err
	}
	_, err = f.Write(make([]byte, 4096)) // a full disk takes a file without data
	err = cmp.Or(err, f.Close())
	fsys.Remove(f.Name())
	if err != nil {
		return base.dir, err
	}
	if !private(linked(base.dir)) {
		return base.dir, notPrivate(base.dir)
	}
	entries, err := fsys.ReadDir(base.dir)
	errs := []error{err}
	for _, e := range entries {
		if dir := filepath.Join(base.dir, e.Name()); e.IsDir() && !private(dir) {
			errs = append(errs, notPrivate(dir))
		}
	}
	return base.dir, errors.Join(errs...)
}

// Keeps tells whether the cache keeps anything at all, so that an entry is worth making.
func (c *Cache) Keeps() bool { return c.dir != "" }

// Get returns the entry of k, and whether there is a sound one.
func (c *Cache) Get(k Key) ([]byte, bool) {
	if !c.trusted() {
		return nil, false
	}
	name := c.file(k)
	b, ok := readOwn(name)
	if !ok {
		return nil, false
	}
	data, ok := unpack(k, b)
	if ok {
		now := time.Now()
		// trim removes what was not used for longest; a failure only makes it look older
		files.Load().Chtimes(name, now, now)
	}
	return data, ok
}

// Put keeps data as the entry of k, if it can. The entry appears whole or not at all.
func (c *Cache) Put(k Key, data []byte) {
	if c.dir == "" || len(data) > maxEntry {
		return
	}
	fsys := files.Load()
	if fsys.MkdirAll(c.dir, 0o700) != nil || !c.trusted() {
		return
	}
	f, err := fsys.CreateTemp(c.dir, tempPrefix)
	if err != nil {
		return
	}
	_, err = f.Write(append(header(k, data), data...))
	err = cmp.Or(err, f.Close())
	if err == nil {
		err = fsys.Rename(f.Name(), c.file(k))
	}
	if err != nil {
		fsys.Remove(f.Name())
		return
	}
	c.trim()
}

// Delete removes the entry of k, if there is one.
func (c *Cache) Delete(k Key) {
	if c.dir != "" {
		files.Load().Remove(c.file(k))
	}
}

func (c *Cache) file(k Key) string { return filepath.Join(c.dir, hex.EncodeToString(k[:])+suffix) }

// trusted tells whether the folder, and that of all caches, are such that only this user can have
// written to them.
func (c *Cache) trusted() bool {
	return c.dir != "" && private(linked(filepath.Dir(c.dir))) && private(c.dir)
}

// linked is the folder that dir is a link to, where it is one: the user's, as a folder above.
func linked(dir string) string { return dir + string(filepath.Separator) + "." }

func private(dir string) bool {
	info, err := files.Load().Lstat(dir)
	return err == nil && info.IsDir() && ownedAlone(info)
}

// CheckOwned is an error where another than this user can have written to a file or folder.
func CheckOwned(name string) error {
	info, err := os.Stat(name)
	if err == nil && !ownedAlone(info) {
		err = notPrivate(name)
	}
	return err
}

func notPrivate(dir string) error {
	return fmt.Errorf("%s belongs to another user, or others may write to it", dir)
}

// readOwn reads a regular file that only this user can have written.
func readOwn(name string) ([]byte, bool) {
	fsys := files.Load()
	if info, err := fsys.Lstat(name); err != nil || !info.Mode().IsRegular() { // do not open a pipe: it would block
		return nil, false
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || !ownedAlone(info) || info.Size() > int64(headerSize+maxEntry) {
		return nil, false
	}
	b, err := io.ReadAll(io.LimitReader(f, int64(headerSize+maxEntry)))
	return b, err == nil
}

// header is what stands before the data of an entry.
func header(k Key, data []byte) []byte {
	h := sha256.New()
	h.Write(k[:])
	h.Write(data)
	return h.Sum(append([]byte(magic), k[:]...))
}

// unpack is the data of the entry of k, if b is one.
func unpack(k Key, b []byte) ([]byte, bool) {
	if len(b) < headerSize {
		return nil, false
	}
	data := b[headerSize:]
	return data, bytes.Equal(b[:headerSize], header(k, data))
}

// trim removes the least recently used entries beyond the bound, and unfinished files of programs
// that ended early.
func (c *Cache) trim() {
	type file struct {
		name string
		size int64
		used time.Time
	}
	fsys := files.Load()
	entries, err := fsys.ReadDir(c.dir)
	if err != nil {
		return
	}
	var files []file
	var total int64
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		name := filepath.Join(c.dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), tempPrefix) && time.Since(info.ModTime()) > staleTemp:
			fsys.Remove(name)
		case strings.HasSuffix(e.Name(), suffix):
			files = append(files, file{name, info.Size(), info.ModTime()})
			total += info.Size()
		}
	}
	slices.SortFunc(files, func(a, b file) int { return a.used.Compare(b.used) })
	for _, f := range files {
		if total <= c.total {
			return
		}
		if fsys.Remove(f.name) == nil {
			total -= f.size
		}
	}
}
