package bench_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/tandem-gpu/tandem/bench"
)

// A run takes minutes, so that this example is not run.
func ExampleRun() {
	r, err := bench.Run(context.Background(), bench.Options{Backend: "cpu", Sizes: []int{256, 1024}, Peers: true})
	if err != nil {
		log.Fatal(err)
	}
	if err := r.WriteTable(os.Stdout); err != nil {
		log.Fatal(err)
	}
	for _, f := range r.Failures() {
		fmt.Println(f)
	}
}

// A figure is the median of its samples, which one slow sample does not move.
func ExampleSummarize() {
	s := bench.Summarize([]float64{1.2, 1.1, 9.5, 1.3, 1.1})
	fmt.Println(s.Median, s.Min, s.Max)
	// Output: 1.2 1.1 9.5
}

func ExampleOptions_Validate() {
	o := bench.Options{Rounds: 6}
	fmt.Println(o.Validate())
	// Output: the rounds must be an odd number from 5 on, so that a sample is the median, not 6
}
