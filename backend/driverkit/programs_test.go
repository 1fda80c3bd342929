package driverkit

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
)

// Who asks for one source at the same time gets one program, which lives as long as one of them
// uses it.
func TestProgramsOnce(t *testing.T) {
	var built, released atomic.Int64
	c := Programs[string]{
		Build:   func(s *backend.Source) (string, error) { built.Add(1); return s.Text, nil },
		Release: func(string) { released.Add(1) },
	}
	leaves := make([]func(), 32)
	var wg sync.WaitGroup
	for i := range leaves {
		wg.Go(func() {
			p, leave, err := c.Get(&backend.Source{Name: "k", Text: "text"}) // equal, not identical
			if p != "text" || err != nil {
				t.Error(p, err)
			}
			leaves[i] = leave
		})
	}
	wg.Wait()
	for _, leave := range leaves {
		if built.Load() != 1 || released.Load() != 0 || c.Len() != 1 {
			t.Fatalf("%d built, %d released, %d kept", built.Load(), released.Load(), c.Len())
		}
		leave()
	}
	if released.Load() != 1 || c.Len() != 0 {
		t.Errorf("%d released, %d kept", released.Load(), c.Len())
	}
	_, _, err := c.Get(&backend.Source{Name: "k", Text: "text"})
	if err != nil || built.Load() != 2 {
		t.Errorf("%d built, %v; want it built anew", built.Load(), err)
	}
}

// A failure is told to all who wait for it, and tried anew afterwards.
func TestProgramsFail(t *testing.T) {
	bad, begin := errors.New("bad"), make(chan struct{})
	var built atomic.Int64
	c := Programs[int]{
		Build:   func(*backend.Source) (int, error) { <-begin; built.Add(1); return 7, bad },
		Release: func(int) { t.Error("released what was not built") },
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, _, err := c.Get(&backend.Source{Name: "k"}); err != bad {
				t.Error(err)
			}
		})
	}
	close(begin)
	wg.Wait()
	n := built.Load()
	if _, _, err := c.Get(&backend.Source{Name: "k"}); err != bad || built.Load() != n+1 || c.Len() != 0 {
		t.Errorf("%v, built %d times after %d, %d kept", err, built.Load(), n, c.Len())
	}
}

func TestText(t *testing.T) {
	got := Text("PRELUDE", &backend.Source{
		Name: "k", File: "a\"b\\c", Text: "body",
		Macros: map[string]string{"N": "1\n2", "E": ""},
	})
	want := "#line 1 \"prelude.h\"\nPRELUDE\n#line 1 \"macros\"\n#define E \n#define N 1 2\n" +
		"#line 1 \"a'b/c\"\nbody"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// An entry of a list.
type entry string

func (e entry) Known() backend.Info            { return backend.Info{Name: string(e)} }
func (e entry) Open() (*backend.Device, error) { return nil, errors.New("opened " + string(e)) }

func TestList(t *testing.T) {
	none := errors.New("none yet")
	asked := 0
	l := List[entry]{Driver: "fake", Find: func() ([]entry, error) {
		if asked++; asked == 1 {
			return nil, none
		}
		return []entry{"a", "b"}, nil
	}}
	if _, err := l.Devices(); err != none {
		t.Error(err)
	}
	for range 2 {
		infos, err := l.Devices()
		if err != nil || len(infos) != 2 || infos[1].Name != "b" {
			t.Fatalf("%v, %v", infos, err)
		}
	}
	if _, err := l.Open(1); err == nil || err.Error() != "opened b" || asked != 2 {
		t.Errorf("%v, asked %d times", err, asked)
	}
	for _, i := range []int{-1, 2} {
		_, err := l.Open(i)
		if !errors.Is(err, backend.ErrNoDevice) || !strings.Contains(err.Error(), "of 2") {
			t.Errorf("device %d: %v", i, err)
		}
	}
}
