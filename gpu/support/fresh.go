package support

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/scanner"
	"go/token"
	"io"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unsafe"
)

// A Decl is a declaration that generated code was made from, as it was then.
type Decl struct {
	File string // its name in the folder of the package
	Head string // its first line
	Hash string // as Parts has it
}

// A Fact is a constant or a type of another package: what generated code took it for, and what it
// is in this program, as Const and Type say it.
type Fact struct{ Name, Then, Now string }

// Fresh makes the check that generated code is still what its package would give. The files that
// read gives must have the declarations, the facts must hold; both are looked at once. changed
// names a variable whose value is not the one that kernels have, each time; nil: there are none.
func Fresh(generated string, read func(name string) ([]byte, error), decls []Decl, facts []Fact,
	changed func() string,
) func() error {
	declared := sync.OnceValue(func() error {
		for _, f := range facts {
			if f.Now != f.Then {
				return fmt.Errorf("%s is stale: %s is %s, and was %s; run go generate", generated, f.Name, f.Now,
					f.Then)
			}
		}
		return declare(generated, read, decls)
	})
	return func() error {
		if changed != nil {
			if name := changed(); name != "" {
				return fmt.Errorf("%s is stale: variable %s has another value, and kernels see the one that it was "+
					"declared with; run go generate, or pass it to the kernel", generated, name)
			}
		}
		return declared()
	}
}

// declare checks that files have declarations.
func declare(generated string, read func(name string) ([]byte, error), decls []Decl) error {
	files := map[string]map[string]bool{}
	for _, d := range decls {
		has := files[d.File]
		if has == nil {
			text, err := read(d.File)
			if err != nil {
				return err
			}
			has = map[string]bool{}
			for _, p := range Parts(text) {
				has[p.Hash] = true
			}
			files[d.File] = has
		}
		if !has[d.Hash] {
			return fmt.Errorf("%s is stale: %#q in %s has changed since; run go generate", generated, d.Head, d.File)
		}
	}
	return nil
}

// A Part is one declaration of a file, or one import.
type Part struct {
	End  int // the byte behind it
	Hash string
}

// Parts is the declarations in the text of a file. The hash of each is the SHA-256 of its words:
// blanks and comments do not count, but for comments that begin with //tandem:.
func Parts(text []byte) (list []Part) {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(text))
	s.Init(file, text, nil, scanner.ScanComments)
	depth, imports := 0, false
	sum, empty := sha256.New(), true
	for {
		pos, tok, word := s.Scan()
		switch tok {
		case token.COMMENT:
			if word = strings.TrimSpace(word); !strings.HasPrefix(word, "//tandem:") {
				continue
			}
		case token.IMPORT:
			imports = true
			continue
		case token.LPAREN, token.LBRACE, token.LBRACK:
			depth++
		case token.RPAREN, token.RBRACE, token.RBRACK:
			depth--
		}
		inList := imports && depth == 1
		switch {
		case tok == token.EOF || tok == token.SEMICOLON && (depth == 0 || inList):
			if !empty {
				list = append(list, Part{file.Offset(pos), hex.EncodeToString(sum.Sum(nil))})
			}
			if tok == token.EOF {
				return list
			}
			sum.Reset()
			empty, imports = true, inList
			continue
		case imports && (tok == token.LPAREN || tok == token.RPAREN):
			continue
		case word == "" || tok == token.SEMICOLON:
			word = tok.String()
		}
		io.WriteString(sum, strings.ReplaceAll(word, "\r", "")+"\n") // raw strings have line ends
		empty = false
	}
}

// Const is the type and the value of a constant.
func Const[T any](x T) string {
	v := reflect.ValueOf(x)
	value := ""
	switch {
	case v.CanInt():
		value = strconv.FormatInt(v.Int(), 10)
	case v.CanUint():
		value = strconv.FormatUint(v.Uint(), 10)
	case v.CanFloat():
		value = strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case v.Kind() == reflect.Bool:
		value = strconv.FormatBool(v.Bool())
	case v.Kind() == reflect.String:
		value = strconv.Quote(v.String())
	}
	return v.Kind().String() + " " + value
}

// Type says what T is made of: its numbers, arrays, structs and slices, but no names of types.
func Type[T any]() string { return describe(reflect.TypeFor[T](), 0) }

func describe(t reflect.Type, depth int) string {
	depth++
	switch t.Kind() {
	case reflect.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), describe(t.Elem(), depth))
	case reflect.Slice:
		if depth > 8 { // of the type itself, perhaps
			break
		}
		return "[]" + describe(t.Elem(), depth)
	case reflect.Struct:
		var fields []string
		for i := range t.NumField() {
			fields = append(fields, t.Field(i).Name+" "+describe(t.Field(i).Type, depth))
		}
		return "struct{" + strings.Join(fields, "; ") + "}"
	}
	return t.Kind().String()
}

// Same tells whether a variable has the bits of the table that kernels have in its place. Where int
// has 32 bits, and the table 64, it cannot tell.
func Same[V, T any](v *V, table *T) bool {
	n := unsafe.Sizeof(*v)
	return n != unsafe.Sizeof(*table) ||
		string(unsafe.Slice((*byte)(unsafe.Pointer(v)), n)) == string(unsafe.Slice((*byte)(unsafe.Pointer(table)), n))
}
