package bench

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

func scalingFile(typ string) string { return "scaling-" + typ + ".svg" }
func costFile(typ string) string    { return "cost-" + typ + ".svg" }

// curvesOf is the curves of a type that have points.
func (r *Report) curvesOf(typ string) (list []*Curve) {
	for i := range r.Scaling {
		if c := &r.Scaling[i]; c.Type == typ && len(c.Points) > 0 {
			list = append(list, c)
		}
	}
	return list
}

// plotScaling draws the rate over n.
func (r *Report) plotScaling(typ string) (*plot.Plot, error) {
	list := r.curvesOf(typ)
	if len(list) == 0 {
		return nil, nil
	}
	p := newPlot(fmt.Sprintf("Products of %s matrices n x n\n%s", typ, r.caption()), "n", list[0].Unit)
	rate := func(c *Curve, i int) plotter.XY { return plotter.XY{X: float64(c.Points[i].N), Y: c.Points[i].Rate} }
	err := addCurves(p, list, rate)
	if err != nil {
		return nil, err
	}
	p.X.Scale = plot.LogScale{}
	p.X.Tick.Marker = powerTicks{}
	var lines []plotter.XYs
	for _, c := range list {
		lines = append(lines, c.line(rate))
	}
	fitY(p, lines)
	p.X.Min, p.X.Max = p.X.Min/1.1, p.X.Max*1.1
	return p, nil
}

// plotCost draws the time over the number of operations, both on scales of ratios, and what it
// would be in proportion to the largest product.
func (r *Report) plotCost(typ string) (*plot.Plot, error) {
	list := r.curvesOf(typ)
	if len(list) == 0 {
		return nil, nil
	}
	p := newPlot(fmt.Sprintf("Time of a product of %s matrices n x n\n%s", typ, r.caption()), "operations, 2 n^3",
		"seconds")
	work := func(n int) float64 { return 2 * math.Pow(float64(n), 3) }
	err := addCurves(p, list, func(c *Curve, i int) plotter.XY {
		return plotter.XY{X: work(c.Points[i].N), Y: c.Points[i].Time.Median}
	})
	if err != nil {
		return nil, err
	}
	c := list[len(list)-1]
	first, last := c.Points[0], c.Points[len(c.Points)-1]
	line, err := plotter.NewLine(plotter.XYs{
		{X: work(first.N), Y: last.Time.Median * work(first.N) / work(last.N)}, {X: work(last.N), Y: last.Time.Median},
	})
	if err != nil {
		return nil, err
	}
	line.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
	p.Add(line)
	p.Legend.Add("in proportion to the operations", line)
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = decades{}, decades{}
	p.Y.Min = math.Inf(1)
	for _, c := range list {
		for _, q := range c.Points {
			p.Y.Min = min(p.Y.Min, q.Time.Median)
		}
	}
	p.Y.Min, p.Y.Max = min(p.Y.Min, last.Time.Median*work(first.N)/work(last.N))/2, p.Y.Max*2
	p.X.Min, p.X.Max = p.X.Min/2, p.X.Max*2
	return p, nil
}

// line is the points of the curve, as at places them.
func (c *Curve) line(at func(c *Curve, i int) plotter.XY) (points plotter.XYs) {
	for i := range c.Points {
		points = append(points, at(c, i))
	}
	return points
}

// addCurves adds a line with points for each curve.
func addCurves(p *plot.Plot, list []*Curve, at func(c *Curve, i int) plotter.XY) error {
	for i, c := range list {
		line, dots, err := plotter.NewLinePoints(c.line(at))
		if err != nil {
			return err
		}
		line.Color, line.Width = palette[i%len(palette)], vg.Points(1.5)
		dots.Color, dots.Shape = palette[i%len(palette)], shapes[i%len(shapes)]
		dots.Radius = vg.Points(1.5)
		p.Add(line, dots)
		p.Legend.Add(legendName(c.Name), line, dots)
	}
	return nil
}

// powerTicks marks the powers of two.
type powerTicks struct{}

// Ticks implements plot.Ticker.
func (powerTicks) Ticks(low, high float64) (ticks []plot.Tick) {
	for v := math.Exp2(math.Ceil(math.Log2(low))); v <= high; v *= 2 {
		ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprint(v)})
	}
	return ticks
}
