package main

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// plotLosses draws the loss of each step into a file.
func plotLosses(losses []float64, file string) error {
	points := make(plotter.XYs, len(losses))
	for i, loss := range losses {
		points[i] = plotter.XY{X: float64(i + 1), Y: loss}
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = "step", "loss"
	p.Add(line)
	return p.Save(12*vg.Centimeter, 8*vg.Centimeter, file)
}
