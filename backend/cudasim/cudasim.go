// Package cudasim is the driver "cudasim": a simulated NVIDIA GPU for machines without one, which
// runs on the CPU the PTX that a GPU would get, slowly, and finds mistakes in it. It is CUDA's
// driver over other functions than NVIDIA's: package ptxsim executes kernels, and says what it
// finds.
//
// Importing the package registers the driver. It is never chosen by itself: TANDEM_BACKEND=cudasim,
// or backend.Open("cudasim"), asks for it.
package cudasim

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/tandem-gpu/tandem/backend"
	_ "github.com/tandem-gpu/tandem/backend/cuda" // sets capi.NewDriver
	"github.com/tandem-gpu/tandem/backend/cudasim/ptxsim"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/simapi"
)

// EnvArch is the environment variable with the architecture of the simulated GPU, sm_75 without it:
// sm_80 and sm_90 have the matrix instructions that GPUs of these have.
const EnvArch = "TANDEM_CUDASIM_ARCH"

func init() {
	load := sync.OnceValues(func() (*capi.API, error) {
		arch, err := archOf(os.Getenv(EnvArch))
		if err != nil {
			return nil, err
		}
		return simapi.New(ptxsim.Config{Arch: arch, Diagnose: report}), nil
	})
	backend.Register(capi.NewDriver("cudasim", "Tandem", "simulated", load))
}

// archOf is 75 of "sm_75".
func archOf(name string) (int, error) {
	arch, err := strconv.Atoi(strings.TrimPrefix(cmp.Or(name, "sm_75"), "sm_"))
	if err != nil || arch < 75 || arch > 129 || name != "" && !strings.HasPrefix(name, "sm_") {
		return 0, fmt.Errorf("%w: %s is %q, and must be the architecture of an NVIDIA GPU, from sm_75 on",
			backend.ErrArgument, EnvArch, name)
	}
	return arch, nil
}

// report prints what the simulator finds that is no mistake for certain.
func report(f *ptxsim.Fault) { fmt.Fprintf(os.Stderr, "cudasim: %v\n", f) }
