package main

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/examples/internal/exampletest"
)

// The digest of each product, as the definition of the product gives it.
const digests = "" +
	`  301x257 float32 times 257x129 float32: 89555fd2f5d921f5a2da2d6b44ad72ac26188078f6271355d0aed6cb0b99a550
  301x257 float64 times 257x129 float64: 705bf038ec38c855d44b7ccdf508972b22a6cebea79e949c8e307a4df7a28b52
  301x257 int32 times 257x129 int32: 4a64321149b70b5054c562a3f5a7744eb5c68c1bdb7ed8ee7ab084defa8ad9c5
`

const oneDigest = "f9ee467e181adc44c1d5924fb05d5daeee7963b3aacfaf0d14592962414a6ebc"

func TestRun(t *testing.T) {
	exampletest.Run(t, run, "*:* *\n"+digests+"devices: 1, one digest: "+oneDigest+"\n")
}

// A device with other bits is an error that names the product.
func TestOtherBits(t *testing.T) {
	what := "301x257 float64 times 257x129 float64"
	all := results{what: {1, 2, 3}}
	if err := all.products(io.Discard, "cpu"); err == nil || !strings.Contains(err.Error(), what) {
		t.Errorf("other bits: %v", err)
	}
}

// Without a choice it runs on every device, and every device prints the same digests.
func TestAllDevices(t *testing.T) {
	var out strings.Builder
	if err := run(&out, ""); err != nil {
		t.Fatal(err)
	}
	devices := 0
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "  ") && !strings.Contains(digests, line) {
			t.Errorf("other bits: %s", line)
		}
		if strings.HasPrefix(line, "  ") && strings.Contains(line, "int32") {
			devices++
		}
	}
	if last := fmt.Sprintf("devices: %d, one digest: %s\n", devices, oneDigest); devices == 0 ||
		!strings.HasSuffix(out.String(), last) {
		t.Errorf("the end is not %s", last)
	}
	t.Log(out.String())
}
