package linalg

// Every driver registers itself. A program that wants fewer imports package backend and the drivers
// that it needs.
import (
	_ "github.com/tandem-gpu/tandem/backend/cpu"
	_ "github.com/tandem-gpu/tandem/backend/cuda"
	_ "github.com/tandem-gpu/tandem/backend/opencl"
)
