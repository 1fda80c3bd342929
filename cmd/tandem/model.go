package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/model"
	"github.com/tandem-gpu/tandem/linalg"
)

// modelSizes are n of the products on modelled devices.
var modelSizes = []int{2048, 4096, 8192}

// parseModel reads devices as in "25:60,12:20": what goes over the link each way, in GB/s, and
// TFLOP/s.
func parseModel(text string) (devices []*model.Device, err error) {
	for device := range strings.SplitSeq(text, ",") {
		link, rate, _ := strings.Cut(device, ":")
		l, err1 := strconv.ParseFloat(link, 64)
		r, err2 := strconv.ParseFloat(rate, 64)
		if err1 != nil || err2 != nil || !(l > 0 && r > 0) || math.IsInf(l+r, 0) {
			return nil, usagef("--model %s: give LINK:RATE of each device in GB/s and TFLOP/s, as in 25:60,12:20", text)
		}
		devices = append(devices, &model.Device{In: l * 1e9, Out: l * 1e9, Rate: r * 1e12 / 2, Memory: 1 << 40})
	}
	return devices, nil
}

// A modelTime is how long modelled devices take for a product.
type modelTime struct {
	N       int     `json:"n"`
	Seconds float64 `json:"seconds"`
	GFlops  float64 `json:"gflops"`
	Bound   float64 `json:"bound_seconds"` // by all rates, or all links, whichever are the tighter
}

// benchModel tells how near products on modelled devices come to what their rates and links allow.
// The copies to page-locked memory are this machine's own.
func (a *app) benchModel(ctx context.Context, f *benchFlags) error {
	p := newProgress(a.stderr)
	defer p.close()
	var devices []*backend.Device
	link, rate := 0.0, 0.0
	for _, d := range f.devices {
		devices = append(devices, d.Open())
		link, rate = link+d.In, rate+d.Rate
	}
	s, err := linalg.NewSession(devices[0], devices[1:]...)
	if err != nil {
		return err
	}
	defer s.Close()
	sizes := f.Sizes
	if sizes == nil {
		sizes = modelSizes
	}
	times := []modelTime{}
	for _, n := range sizes {
		if err := fitsHost(12 * int64(n) * int64(n)); err != nil {
			return err
		}
		p.begin(fmt.Sprintf("n = %d", n))
		x, c := linalg.NewMatrix[float32](n, n, nil), linalg.NewMatrix[float32](n, n, nil)
		t := modelTime{N: n, Bound: max(math.Pow(float64(n), 3)/rate, 8*float64(n)*float64(n)/link)}
		for range 2 { // the second time the rates are known
			start := time.Now()
			if err := linalg.GemmContext(linalg.WithProgress(ctx, p.at), s, 1, 'N', x, 'N', x, 0, c); err != nil {
				return err
			}
			t.Seconds = time.Since(start).Seconds()
		}
		t.GFlops = 2 * math.Pow(float64(n), 3) / t.Seconds / 1e9
		times = append(times, t)
	}
	p.close()
	if a.json {
		return a.printJSON(times)
	}
	fmt.Fprintf(a.stdout, "modelled: %.3g TFLOP/s and %.3g GB/s in all; float32 products n by n by n\n",
		2*rate/1e12, link/1e9)
	for _, t := range times {
		fmt.Fprintf(a.stdout, "%6d  %8s  %6.3g TFLOP/s  %5.3f of what rates and links allow\n", t.N,
			seconds(t.Seconds), t.GFlops/1e3, t.Bound/t.Seconds)
	}
	return nil
}
