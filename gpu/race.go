//go:build race

package gpu

// Goroutines tells whether the cpu device runs each work-item as a goroutine, from the kernel as it
// is written: in a program built with -race, so that the race detector finds a missing barrier.
// Groups run beside each other then, for it to find races between these.
const Goroutines = true
