package diskcache

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/backend"
)

// temp is a cache in a folder that is not there yet: the umask decides who may write to that of
// t.TempDir.
func temp(t *testing.T) *Cache {
	t.Helper()
	t.Setenv(backend.EnvCache, filepath.Join(t.TempDir(), "made"))
	return Open("test")
}

func wantEntry(t *testing.T, c *Cache, k Key, want string) {
	t.Helper()
	if got, ok := c.Get(k); !ok || string(got) != want {
		t.Fatalf("Get: %q, %v, want %q", got, ok, want)
	}
}

func wantMissing(t *testing.T, c *Cache, k Key, why string) {
	t.Helper()
	if got, ok := c.Get(k); ok {
		t.Fatalf("Get: %q, want nothing: %s", got, why)
	}
}

func TestPutGetDelete(t *testing.T) {
	c := temp(t)
	k, other := KeyOf("a", "bc"), KeyOf("ab", "c")
	if k == other {
		t.Fatal("the parts of a key run together")
	}
	wantMissing(t, c, k, "the cache is empty")
	c.Put(k, []byte("one"))
	wantEntry(t, c, k, "one")
	wantMissing(t, c, other, "only k was put")
	c.Put(k, []byte("two"))
	c.Put(other, nil)
	wantEntry(t, c, k, "two")
	wantEntry(t, c, other, "")
	wantEntry(t, Open("test"), k, "two")
	wantMissing(t, Open("another"), k, "it belongs to another driver")
	c.Delete(k)
	wantMissing(t, c, k, "it was deleted")
	c.Delete(k)
}

func TestExplain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	t.Setenv(backend.EnvCache, dir)
	if got, err := Explain(); got != dir || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	Open("one").Put(KeyOf("k"), []byte("v"))
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v %v", entries, err)
	}
	if got, err := Explain(); got != dir || err != nil {
		t.Errorf("with an entry: %q, %v", got, err)
	}
	if runtime.GOOS != "windows" {
		if err := os.Chmod(filepath.Join(dir, "one"), 0o777); err != nil {
			t.Fatal(err)
		}
		if got, err := Explain(); got != dir || err == nil ||
			err.Error() != filepath.Join(dir, "one")+" belongs to another user, or others may write to it" {
			t.Errorf("with a folder for all: %q, %v", got, err)
		}
	}
	t.Setenv(backend.EnvCache, "off")
	if got, err := Explain(); got != "" || err == nil {
		t.Errorf("off: %q, %v", got, err)
	}
}

// Every single byte of an entry, when changed, and every shorter or longer file, makes it not
// found.
func TestDamage(t *testing.T) {
	c := temp(t)
	k := KeyOf("k")
	c.Put(k, []byte("the data"))
	name := c.file(k)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	write := func(b []byte) {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range whole {
		b := bytes.Clone(whole)
		b[i] ^= 0x40
		write(b)
		wantMissing(t, c, k, fmt.Sprintf("byte %d of %d is changed", i, len(whole)))
	}
	for n := range len(whole) {
		write(whole[:n])
		wantMissing(t, c, k, fmt.Sprintf("it is cut to %d bytes", n))
	}
	write(append(bytes.Clone(whole), 0))
	wantMissing(t, c, k, "it is a byte longer")
	write(whole)
	wantEntry(t, c, k, "the data")

	other := KeyOf("other")
	if err := os.Rename(name, c.file(other)); err != nil {
		t.Fatal(err)
	}
	wantMissing(t, c, other, "it is the entry of another key")
	c.Put(other, []byte("rebuilt"))
	wantEntry(t, c, other, "rebuilt")
}

func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no Unix modes on Windows")
	}
	c := temp(t)
	k := KeyOf("k")
	c.Put(k, []byte("x"))
	mode := func(name string, want os.FileMode) {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", name, got, want)
		}
	}
	mode(c.dir, 0o700)
	mode(c.file(k), 0o600)

	chmod := func(name string, mode os.FileMode) {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range []os.FileMode{0o620, 0o602} {
		chmod(c.file(k), m)
		wantMissing(t, c, k, fmt.Sprintf("others may write the file: mode %o", m))
	}
	chmod(c.file(k), 0o600)
	chmod(c.dir, 0o770)
	wantMissing(t, c, k, "others may write the folder")
	c.Put(k, []byte("y"))
	chmod(c.dir, 0o700)
	all := filepath.Dir(c.dir)
	chmod(all, 0o777)
	wantMissing(t, c, k, "others may write the folder of all caches")
	c.Put(k, []byte("y"))
	if _, err := Explain(); err == nil || err.Error() != all+" belongs to another user, or others may write to it" {
		t.Errorf("a folder of all caches that others may write: %v", err)
	}
	chmod(all, 0o700)
	wantEntry(t, c, k, "x")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(all, link); err != nil {
		t.Fatal(err)
	}
	t.Setenv(backend.EnvCache, link)
	wantEntry(t, Open("test"), k, "x")

	if os.Geteuid() == 0 {
		if err := os.Chown(c.file(k), 12345, -1); err != nil {
			t.Fatal(err)
		}
		wantMissing(t, c, k, "it belongs to another user")
	}
}

// A folder that cannot be used is an empty cache, and no error.
func TestUnusable(t *testing.T) {
	k := KeyOf("k")
	check := func(name string) {
		t.Helper()
		c := Open("test")
		c.Put(k, []byte("x"))
		wantMissing(t, c, k, name)
		c.Delete(k)
	}
	t.Setenv(backend.EnvCache, "off")
	check("the cache is off")

	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(backend.EnvCache, file)
	check("the folder is a file")

	if runtime.GOOS == "linux" {
		t.Setenv(backend.EnvCache, "/proc/tandem")
		check("the folder cannot be made")
		t.Setenv(backend.EnvCache, "")
		t.Setenv("XDG_CACHE_HOME", "")
		t.Setenv("HOME", "")
		check("there is no home")
	}

	c := temp(t)
	c.Put(k, []byte("kept"))
	if err := os.Chmod(c.dir, 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(c.dir, 0o700)
	other := KeyOf("other")
	c.Put(other, []byte("x"))
	wantEntry(t, c, k, "kept")
	if os.Geteuid() > 0 { // root may write anywhere, and on Windows permissions are others
		wantMissing(t, c, other, "the folder is read-only")
	}

	// A folder that stands where an entry should: the entry cannot be written, and no temporary
	// file stays.
	os.Chmod(c.dir, 0o700)
	blocked := KeyOf("blocked")
	if err := os.Mkdir(c.file(blocked), 0o700); err != nil {
		t.Fatal(err)
	}
	c.Put(blocked, []byte("x"))
	wantMissing(t, c, blocked, "a folder has its name")
	if left, _ := filepath.Glob(filepath.Join(c.dir, tempPrefix+"*")); len(left) != 0 {
		t.Errorf("temporary files stay behind: %v", left)
	}
}

func TestBound(t *testing.T) {
	c := temp(t)
	const size = 1000
	c.total = 4 * (size + int64(headerSize))
	at := func(k Key, age time.Duration) {
		old := time.Now().Add(-age)
		if err := os.Chtimes(c.file(k), old, old); err != nil {
			t.Fatal(err)
		}
	}
	var keys []Key
	for i := range 4 {
		k := KeyOf(fmt.Sprint(i))
		keys = append(keys, k)
		c.Put(k, make([]byte, size))
		at(k, time.Duration(10-i)*time.Minute)
	}
	wantEntry(t, c, keys[0], string(make([]byte, size))) // being used makes it the youngest
	stale := filepath.Join(c.dir, tempPrefix+"stale")
	if err := os.WriteFile(stale, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * staleTemp)
	os.Chtimes(stale, old, old)

	c.Put(KeyOf("new"), make([]byte, size))
	wantMissing(t, c, keys[1], "it was the oldest beyond the bound")
	for _, k := range []Key{keys[0], keys[2], keys[3], KeyOf("new")} {
		wantEntry(t, c, k, string(make([]byte, size)))
	}
	if _, err := os.Stat(stale); err == nil {
		t.Error("an unfinished file of long ago was not removed")
	}
	c.Put(KeyOf("large"), make([]byte, maxEntry+1))
	wantMissing(t, c, KeyOf("large"), "it is too large")
}

// Writers and readers of one key see whole entries only.
func TestConcurrent(t *testing.T) {
	c := temp(t)
	k := KeyOf("k")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 20 {
				c.Put(k, bytes.Repeat([]byte{byte(i)}, 5000))
				if b, ok := c.Get(k); ok && !bytes.Equal(b, bytes.Repeat(b[:1], 5000)) {
					t.Errorf("a mixed entry")
				}
			}
		})
	}
	wg.Wait()
	if _, ok := c.Get(k); !ok {
		t.Error("no entry at the end")
	}
}
