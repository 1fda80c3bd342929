package main

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/tandem-gpu/tandem/linalg"
)

// plotLosses draws the loss of each step into the file of -plot, if there is one.
func plotLosses(losses *linalg.Array[float32]) error {
	if *plotFile == "" {
		return nil
	}
	m, err := losses.Download()
	if err != nil {
		return err
	}
	points := make(plotter.XYs, m.Cols)
	for i, loss := range m.Row(0) {
		points[i] = plotter.XY{X: float64(i + 1), Y: float64(loss)}
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = "step", "loss"
	p.Add(line)
	return p.Save(12*vg.Centimeter, 8*vg.Centimeter, *plotFile)
}
