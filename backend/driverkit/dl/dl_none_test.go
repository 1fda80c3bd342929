//go:build tandem_nolibs

package dl

import (
	"strings"
	"testing"
)

// A program without libraries says so, and how it came about, without advice that cannot help.
func TestNoLibraries(t *testing.T) {
	_, err := Open("libc.so.6", "libm.so.6")
	if err = Advise(err, "install it"); err != ErrNone || !strings.Contains(err.Error(), "tandem_nolibs") {
		t.Errorf("Open: %v", err)
	}
	if _, err := (&Library{}).Symbol("abs"); err == nil {
		t.Error("a symbol of no library was found")
	}
}
