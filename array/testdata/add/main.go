// Add adds an array to itself: what it links, package array's tests look at.
package main

import (
	"fmt"
	"os"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/linalg"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	s, err := linalg.Default()
	if err != nil {
		return err
	}
	x, err := linalg.NewArray[float32](s, 1, 1)
	if err != nil {
		return err
	}
	return array.Add(x, x, x)
}
