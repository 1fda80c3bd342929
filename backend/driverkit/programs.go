package driverkit

import (
	"crypto/sha256"
	"fmt"
	"log"
	"strings"
	"sync"
	"time"

	"github.com/tandem-gpu/tandem/backend"
)

// Programs are the compiled sources of a device: each is built once for all that ask at the same
// time, and kept as long as it is used. What outlives the process is in package diskcache.
type Programs[P any] struct {
	Build   func(s *backend.Source) (P, error) // releases what it made where it fails
	Release func(p P)
	// Fit checks s against its program, and gives what launches are checked against.
	Fit func(p P, s *backend.Source) (backend.Signature, error)

	mu       sync.Mutex
	programs map[[sha256.Size]byte]*program[P]
}

type program[P any] struct {
	users int           // and compilations that wait for it. Guarded by Programs.mu
	done  chan struct{} // closed when the rest is set
	built P
	err   error
}

// A Kernel is compiled code: a program that kernels of equal sources share.
type Kernel[P any] struct {
	Program P
	sig     backend.Signature
	leave   func() // gives the program back
}

// Signature is what launches are checked against.
func (k *Kernel[P]) Signature() *backend.Signature { return &k.sig }

// Release gives the kernel back.
func (k *Kernel[P]) Release() { k.leave() }

// Compile makes a kernel of s.
func (c *Programs[P]) Compile(s *backend.Source) (backend.DriverKernel, error) {
	p, leave, err := c.Get(s)
	if err != nil {
		return nil, err
	}
	sig, err := c.Fit(p, s)
	if err != nil {
		leave()
		return nil, err
	}
	return &Kernel[P]{p, sig, leave}, nil
}

// Get finds the program of s or builds it. leave gives it back, and releases it with the last use.
// A program that failed to build is forgotten, so that the next compilation tries anew.
func (c *Programs[P]) Get(s *backend.Source) (built P, leave func(), err error) {
	key := s.Key()
	c.mu.Lock()
	p, ok := c.programs[key]
	if !ok {
		p = &program[P]{done: make(chan struct{})}
		if c.programs == nil {
			c.programs = map[[sha256.Size]byte]*program[P]{}
		}
		c.programs[key] = p
	}
	p.users++
	c.mu.Unlock()
	if ok {
		<-p.done
	} else {
		slow := time.AfterFunc(patience, func() { warnSlow(s) })
		p.built, p.err = c.Build(s)
		slow.Stop()
		close(p.done)
	}
	leave = func() { c.leave(key, p) }
	if p.err != nil {
		leave()
		return built, nil, p.err
	}
	return p.built, leave, nil
}

// patience is how long a build takes without a word.
var patience = time.Minute

// warnSlow says what is being built. No driver lets a build be given up: one that never returns
// would otherwise be a program that does nothing.
func warnSlow(s *backend.Source) {
	log.Printf("tandem: kernel %s of %s has been compiling for %v, and goes on; where that never ends, the driver's "+
		"compiler has died, as PoCL's does on a full disk", s.Name, s.FileName(), patience)
}

func (c *Programs[P]) leave(key [sha256.Size]byte, p *program[P]) {
	c.mu.Lock()
	p.users--
	last := p.users == 0
	if (last || p.err != nil) && c.programs[key] == p {
		delete(c.programs, key)
	}
	c.mu.Unlock()
	if last && p.err == nil {
		c.Release(p.built)
	}
}

// Len is how many programs are in use.
func (c *Programs[P]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.programs)
}

// fileNames makes a name fit for a #line directive. Compilers differ in how they read quotes and
// backslashes there, escaped or not: the text has neither.
var fileNames = strings.NewReplacer(`\`, "/", `"`, "'", "\n", " ")

// Text is the whole text of s for a compiler of C, after the driver's prelude. Messages show the
// file and lines of s.
func Text(prelude string, s *backend.Source) string {
	var b strings.Builder
	b.WriteString("#line 1 \"prelude.h\"\n" + prelude + "\n#line 1 \"macros\"\n")
	for _, d := range s.Defines() {
		name, value, _ := strings.Cut(d, "=")
		fmt.Fprintf(&b, "#define %s %s\n", name, strings.ReplaceAll(value, "\n", " "))
	}
	fmt.Fprintf(&b, "#line 1 \"%s\"\n%s", fileNames.Replace(s.FileName()), s.Unpacked().Text)
	return b.String()
}
