package linalg

// Every driver registers itself. A program that wants fewer imports package backend and the drivers
// that it needs.
import (
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/cpu"
	_ "github.com/tandem-gpu/tandem/backend/cuda"
	_ "github.com/tandem-gpu/tandem/backend/opencl"
)

// isProcessor tells whether the device is this processor, without anything around it.
func isProcessor(d *backend.Device) bool { return cpu.Is(d) }
