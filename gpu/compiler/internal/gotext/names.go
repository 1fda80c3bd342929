package gotext

import "go/types"

// Names gives out the names that the generated file declares in the package, each once, and none
// that the package has.
type Names struct {
	pkg   *types.Scope
	given map[any]string // by what they are for
	taken map[string]bool
}

// NewNames is none yet, for a package.
func NewNames(pkg *types.Scope) *Names {
	return &Names{pkg: pkg, given: map[any]string{}, taken: map[string]bool{}}
}

// Of is the name of what key is, as near to want as can be.
func (n *Names) Of(key any, want string) string {
	if name := n.given[key]; name != "" {
		return name
	}
	name := want
	for n.taken[name] || n.pkg.Lookup(name) != nil {
		name += "_"
	}
	n.given[key], n.taken[name] = name, true
	return name
}

// Give is the name of what is called want.
func (n *Names) Give(want string) string { return n.Of(want, want) }

// Local is a name for a variable in a function that uses names of the package.
func (n *Names) Local(want string) string {
	for n.pkg.Lookup(want) != nil {
		want += "_"
	}
	return want
}
