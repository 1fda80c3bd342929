package ptxgen

import (
	"strings"

	"github.com/tandem-gpu/tandem/internal/packed"
)

// A Prebuilt is the PTX of a kernel in a file of PTX, which is compressed, or a kernel's text,
// whose name ends in ".cl".
type Prebuilt struct {
	Name string // the entry point, or another name that tells the kernel from all others
	Key  string // of what the PTX is made of
	Text []byte // nil: there is none
}

const (
	extension     = ".ptx" // of a kernel's name in a file
	TextExtension = ".cl"  // of a text's
)

func (p Prebuilt) file() string {
	if strings.HasSuffix(p.Name, TextExtension) {
		return p.Name
	}
	return p.Name + extension
}

// ReadFile is what a file of PTX holds.
func ReadFile(name string) (list []Prebuilt, err error) {
	members, err := packed.Read(name)
	for _, m := range members {
		list = append(list, Prebuilt{strings.TrimSuffix(m.Name, extension), m.Comment, m.Data})
	}
	return list, err
}

// WriteFile writes a file of PTX, unless it holds that already.
func WriteFile(name string, list []Prebuilt) error {
	var members []packed.Member
	for _, p := range list {
		if p.Text != nil {
			members = append(members, packed.Member{Name: p.file(), Comment: p.Key, Data: p.Text})
		}
	}
	return packed.Write(name, members)
}
