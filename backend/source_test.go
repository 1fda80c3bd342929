package backend

import (
	"crypto/sha256"
	"reflect"
	"testing"
)

func packed(ptx string) *PackedPTX {
	return &PackedPTX{
		Hash:   func() string { return "hash of " + ptx },
		Unpack: func() ([]byte, error) { return []byte(ptx), nil },
	}
}

// Every source of the list must have a key of its own.
func TestSourceKey(t *testing.T) {
	sources := map[string]Source{
		"plain":                  {Name: "k", Text: "text"},
		"name":                   {Name: "kk", Text: "text"},
		"file":                   {Name: "k", File: "f.cl", Text: "text"},
		"text":                   {Name: "k", Text: "text "},
		"PTX":                    {Name: "k", Text: "text", PTX: []byte("ptx")},
		"packed PTX":             {Name: "k", Text: "text", Packed: packed("ptx")},
		"macro":                  {Name: "k", Text: "text", Macros: map[string]string{"A": "1"}},
		"macro value":            {Name: "k", Text: "text", Macros: map[string]string{"A": "2"}},
		"macro name":             {Name: "k", Text: "text", Macros: map[string]string{"B": "1"}},
		"two macros":             {Name: "k", Text: "text", Macros: map[string]string{"A": "1", "B": "2"}},
		"macro values swapped":   {Name: "k", Text: "text", Macros: map[string]string{"A": "2", "B": "1"}},
		"macro without a value":  {Name: "k", Text: "text", Macros: map[string]string{"A": ""}},
		"one macro like two":     {Name: "k", Text: "text", Macros: map[string]string{"A": "1B=2"}},
		"macro like PTX":         {Name: "k", Text: "text", PTX: []byte("A=1")},
		"text moved to the name": {Name: "ktext", Text: ""},
		"name moved to the text": {Name: "", File: "k.cl", Text: "ktext"},
		"other packed PTX":       {Name: "k", Text: "text", Packed: packed("other")},
		"PTX moved to the text":  {Name: "k", Text: "textptx"},
		"text moved to the file": {Name: "k", File: "k.clt", Text: "ext"},
		"text moved to the PTX":  {Name: "k", PTX: []byte("text")},
		"nothing":                {},
	}
	seen := map[[sha256.Size]byte]string{}
	for name, s := range sources {
		key := s.Key()
		if other, taken := seen[key]; taken {
			t.Errorf("%q and %q have one key", name, other)
		}
		seen[key] = name
		for range 10 { // maps are walked in any order
			if s.Key() != key {
				t.Fatalf("%q has two keys", name)
			}
		}
	}
}

// What no compiler sees must not cost a compilation.
func TestSourceKeySame(t *testing.T) {
	plain := Source{Name: "k", Text: "text"}
	for name, s := range map[string]Source{
		"file spelled out": {Name: "k", File: "k.cl", Text: "text"},
		"Go":               {Name: "k", Text: "text", Go: func(Grid, int, int, []Arg) error { return nil }},
		"parameters":       {Name: "k", Text: "text", Params: []Param{{Buffer: true}}, Group: [3]int{1, 2, 3}},
		"no macros":        {Name: "k", Text: "text", Macros: map[string]string{}, PTX: []byte{}},
	} {
		if s.Key() != plain.Key() {
			t.Errorf("%s changes the key", name)
		}
	}
}

func TestSourceDefines(t *testing.T) {
	s := Source{Name: "k", Macros: map[string]string{"T": "float", "A": "1", "N": "", "B": "x = y"}}
	if got, want := s.Defines(), []string{"A=1", "B=x = y", "N=", "T=float"}; !reflect.DeepEqual(got, want) {
		t.Errorf("Defines is %q, want %q", got, want)
	}
	if got := s.FileName(); got != "k.cl" {
		t.Errorf("FileName is %q, want k.cl", got)
	}
	s.File = "dir/other.cl"
	if got := s.FileName(); got != "dir/other.cl" {
		t.Errorf("FileName is %q, want dir/other.cl", got)
	}
}

func TestParamString(t *testing.T) {
	for want, p := range map[string]Param{
		"buffer (float*) a": {Name: "a", Type: "float*", Buffer: true},
		"buffer":            {Buffer: true},
		"buffer (int*)":     {Type: "int*", Buffer: true},
		"int n":             {Name: "n", Type: "int", Size: 4},
		"scalar of 8 bytes": {Size: 8},
	} {
		if p.String() != want {
			t.Errorf("%+v is %q, want %q", p, p, want)
		}
	}
}

// PTX comes before what is packed, and a source may have neither.
func TestPrebuilt(t *testing.T) {
	for _, c := range []struct {
		s    Source
		want string
	}{
		{Source{}, ""},
		{Source{PTX: []byte("a")}, "a"},
		{Source{Packed: packed("b")}, "b"},
		{Source{PTX: []byte("a"), Packed: packed("b")}, "a"},
	} {
		if got, err := c.s.Prebuilt(); string(got) != c.want || err != nil {
			t.Errorf("%q, %v, want %q", got, err, c.want)
		}
	}
}
