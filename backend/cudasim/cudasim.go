// Package cudasim is the driver "cudasim": a simulated NVIDIA GPU for machines without one, which
// runs on the CPU the PTX that a GPU would get, slowly, and finds mistakes in it. It is CUDA's
// driver over other functions than NVIDIA's: package ptxsim executes kernels, and says what it
// finds.
//
// Importing the package registers the driver. It is never chosen by itself: TANDEM_BACKEND=cudasim,
// or backend.Open("cudasim"), asks for it.
package cudasim

import (
	"fmt"
	"os"
	"sync"

	"github.com/tandem-gpu/tandem/backend"
	_ "github.com/tandem-gpu/tandem/backend/cuda" // sets capi.NewDriver
	"github.com/tandem-gpu/tandem/backend/cudasim/ptxsim"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/simapi"
)

func init() {
	load := sync.OnceValue(func() *capi.API { return simapi.New(ptxsim.Config{Diagnose: report}) })
	backend.Register(capi.NewDriver("cudasim", "Tandem", "simulated", func() (*capi.API, error) { return load(), nil }))
}

// report prints what the simulator finds that is no mistake for certain.
func report(f *ptxsim.Fault) { fmt.Fprintf(os.Stderr, "cudasim: %v\n", f) }
