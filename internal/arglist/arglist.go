// Package arglist has the arguments of a launch in memory that is used again.
package arglist

import (
	"sync"

	"github.com/tandem-gpu/tandem/backend"
)

// A List is the arguments of a launch. No queue keeps them.
type List struct{ Args []backend.Arg }

var lists = sync.Pool{New: func() any { return new(List) }}

// Take is an empty list.
func Take() *List { return lists.Get().(*List) }

// Give lets another launch use the list.
func (l *List) Give() {
	clear(l.Args) // a buffer that its owner has forgotten is collected
	l.Args = l.Args[:0]
	lists.Put(l)
}
