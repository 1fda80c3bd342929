package archtest

import (
	"path"
	"strings"
	"testing"
)

// Assembly lies beside the Go that declares it: a generator that ran in another folder has left its
// files there.
func TestAssemblyBesideGo(t *testing.T) {
	packages, assembly := map[string]bool{}, []string{}
	walk(t, func(name string, _ []byte) {
		switch {
		case strings.HasSuffix(name, ".go"):
			packages[path.Dir(name)] = true
		case strings.HasSuffix(name, ".s"):
			assembly = append(assembly, name)
		}
	})
	for _, name := range assembly {
		if !packages[path.Dir(name)] {
			t.Errorf("%s: there is no Go beside it", name)
		}
	}
	if len(assembly) < 7 {
		t.Errorf("only %d files of assembly were looked at", len(assembly))
	}
}
