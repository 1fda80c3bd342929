package backendtest

import (
	_ "embed" // the text
	"strings"

	"github.com/tandem-gpu/tandem/backend"
)

// MFMA is text that, before a kernel's, makes of the matrix instructions of AMD's GPUs what any
// device computes: slowly, and as they do.
//
//go:embed mfma.h
var MFMA string

// WithMFMA is the kernel matmul_mfma with [MFMA], and other sources as they are. It has no loops
// unrolled, whose barriers would take PoCL minutes.
func WithMFMA(s *backend.Source) *backend.Source {
	if s.Name != "matmul_mfma" {
		return s
	}
	emulated := *s
	emulated.Text = MFMA + "#define EXCHANGE (exchange + get_local_id(0) / 64 * 128)\n" +
		"#undef LOCALMEM\n#define LOCALMEM __local T exchange[ITEMS * 2]; __local\n" +
		strings.ReplaceAll(s.Text, "#pragma unroll\n", "\n")
	return &emulated
}
