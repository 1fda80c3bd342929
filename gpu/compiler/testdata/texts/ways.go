package main

import "github.com/tandem-gpu/tandem/gpu"

// Work-items that go different ways, and a function.
//
//tandem:kernel
func collatz(it gpu.Item, steps []int32) {
	if i := it.Global(0); i < len(steps) {
		steps[i] = count(int32(i) + 1)
	}
}

func count(n int32) int32 {
	for steps := range int32(1000) {
		if n == 1 {
			return steps
		}
		if n%2 == 0 {
			n /= 2
		} else {
			n = 3*n + 1
		}
	}
	return -1
}

func main() {}
