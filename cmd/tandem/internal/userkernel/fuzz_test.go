package userkernel

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/cmd/tandem/internal/usage"
)

// FuzzParseGrid: any text is a grid of numbers within their limits, which prints as it was read, or
// a usage error.
func FuzzParseGrid(f *testing.F) {
	for _, g := range [][2]string{
		{"6x6", "6x6"},
		{"1", "1x2x3"},
		{"0", "1"},
		{"1", "0"},
		{"", "1"},
		{"1x", "x"},
		{"1x1x1x1", "1"},
		{"2147483648", "1"},
		{"-1", "+1"},
		{"1_0", "0x10"},
	} {
		f.Add(g[0], g[1])
	}
	f.Fuzz(func(t *testing.T, groups, local string) {
		g, err := parseGrid(groups, local)
		if err != nil {
			var wrong usage.Error
			if !errors.As(err, &wrong) {
				t.Errorf("%q, %q: %v", groups, local, err)
			}
			return
		}
		for text, dims := range map[string][3]int{groups: g.Groups, local: g.Local} {
			if text == groups && text == local && g.Groups != g.Local {
				t.Errorf("%q is %v and %v", text, g.Groups, g.Local)
			}
			want := strings.Split(text, "x")
			for i, n := range dims {
				if n < 0 || n > maxDim || i < len(want) &&
					strings.TrimLeft(want[i], "0") != strings.TrimLeft(fmt.Sprint(n), "0") || i >= len(want) && n != 1 {
					t.Errorf("%q is %v", text, dims)
				}
			}
		}
		if g.Local[0] < 1 || g.Local[1] < 1 || g.Local[2] < 1 {
			t.Errorf("%q: a group of %v", local, g.Local)
		}
	})
}

// FuzzParseMacros: what is accepted is an identifier and a single line, as given.
func FuzzParseMacros(f *testing.F) {
	for _, d := range []string{
		"N=4", "T=unsigned int", "_x9", "EMPTY=", "E=a=b", "", "=1", "9N=1", "f(x)=x", "é=1", "N=1\n2",
	} {
		f.Add(d)
	}
	f.Fuzz(func(t *testing.T, text string) {
		macros, err := parseMacros([]string{text})
		if err != nil {
			var wrong usage.Error
			if !errors.As(err, &wrong) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		for name, value := range macros {
			if !identifier.MatchString(name) || strings.ContainsAny(value, "\r\n\x00") || text != name+"="+value &&
				text+"=1" != name+"="+value {
				t.Errorf("%q is %q = %q", text, name, value)
			}
		}
	})
}
