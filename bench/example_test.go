package bench_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/tandem-gpu/tandem/bench"
)

// A run takes minutes, so that this example is not run.
func ExampleRun() {
	r, err := bench.Run(context.Background(), bench.Options{
		Backend: "cpu", Only: []string{"products"}, Sizes: []int{256, 1024}, Peers: true, Table: os.Stdout,
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range r.Failures() {
		fmt.Println(f)
	}
}

// A time is the median of its samples, which one slow sample does not move.
func ExampleRead() {
	r, err := bench.Read(strings.NewReader(`
BenchmarkProducts/product/type=float32/size=64x64x64/by=fast 1000 20000 ns/op 26.2 GFLOP/s
BenchmarkProducts/product/type=float32/size=64x64x64/by=fast 1000 90000 ns/op 5.83 GFLOP/s
BenchmarkProducts/product/type=float32/size=64x64x64/by=fast 1000 21000 ns/op 25.0 GFLOP/s
`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Rows[0].Title(), r.Rows[0].Entries[0].Name, r.Rows[0].Entries[0].Median())
	// Output: float32 product 64x64x64 fast 2.1e-05
}

func ExampleOptions_Validate() {
	o := bench.Options{Rounds: -1}
	fmt.Println(o.Validate())
	// Output: the rounds must not be negative
}
