package bench

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/tandem-gpu/tandem/element"
)

// A Plot is a picture of a report.
type Plot struct {
	File  string // name: "products-float32.svg"
	Write func(w io.Writer) error
}

// Plots draws the report, as SVG: for each type the rate of every contender over n, of products, of
// transposes beside copies, and of what scaling measured; and solvers beside gonum. A plot without
// a single figure is left out.
func (r *Report) Plots() (list []Plot, err error) {
	for _, t := range element.Types() {
		for _, group := range []string{"products", "scaling", "transposes"} {
			p, err := r.plotRates(group, t.String())
			if err != nil {
				return nil, err
			}
			if p != nil {
				file := group + "-" + t.String() + ".svg"
				list = append(list, Plot{file, func(w io.Writer) error { return writeSVG(p, w) }})
			}
		}
	}
	if p := r.plotSolvers(); p != nil {
		list = append(list, Plot{"solvers-float64.svg", func(w io.Writer) error { return writeSVG(p, w) }})
	}
	return list, nil
}

// plotSolvers draws how many times as fast as gonum each contender factors the largest matrices of
// float64 that gonum has factored.
func (r *Report) plotSolvers() *plot.Plot {
	var rows []*Row
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Group != "lapack" || row.Type != "float64" || row.square() == 0 || row.find("gonum") == nil {
			continue
		}
		if len(rows) > 0 && row.square() != rows[0].square() {
			if row.square() < rows[0].square() {
				continue
			}
			rows = nil
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil
	}
	p := newPlot(fmt.Sprintf("Factorizations of float64 matrices, %d x %[1]d\n%s", rows[0].square(), r.caption()), "",
		"times gonum's speed")
	names := []string{"gonum", nameFast, "OpenBLAS"}
	for i, name := range names {
		const width = 18
		bars := &plotter.BarChart{
			Values: make(plotter.Values, len(rows)), Width: vg.Points(width),
			Color:  palette[indexOf(name, i)%len(palette)],
			Offset: vg.Points(width) * vg.Length(2*i-len(names)+1) / 2,
		}
		for j, row := range rows {
			if e := row.find(name); e != nil {
				bars.Values[j] = row.find("gonum").Median() / e.Median()
			}
		}
		p.Add(bars)
		p.Legend.Add(legendName(name), bars)
	}
	var labels []string
	for _, row := range rows {
		labels = append(labels, row.Name)
	}
	p.NominalX(labels...)
	p.X.Min, p.X.Max, p.Y.Max = -0.5, float64(len(rows))-0.5, p.Y.Max*1.05
	return p
}

// plotRates draws the rates of all contenders over the n of square matrices, from the slowest to
// the fastest sample, under the peak of multiply-adds.
func (r *Report) plotRates(group, typ string) (*plot.Plot, error) {
	name := "product"
	if group == "transposes" {
		name = "transpose"
	}
	list, unit := r.series(group, name, typ)
	if len(list) == 0 {
		return nil, nil
	}
	p := newPlot(fmt.Sprintf("%ss of %s matrices n x n\n%s", strings.ToUpper(name[:1])+name[1:], typ, r.caption()), "n",
		unit)
	p.X.Scale = plot.LogScale{}
	ticks, lines := []plot.Tick{}, []plotter.XYs{}
	for i, s := range list {
		lines = append(lines, s.XYs)
		line, points, err := plotter.NewLinePoints(s.XYs)
		if err != nil {
			return nil, err
		}
		bars, err := plotter.NewYErrorBars(s)
		if err != nil {
			return nil, err
		}
		colour := palette[indexOf(s.name, i)%len(palette)]
		line.Color, line.Width, points.Color, bars.Color = colour, vg.Points(1.5), colour, colour
		points.Shape = shapes[i%len(shapes)]
		p.Add(bars, line, points)
		p.Legend.Add(legendName(s.name), line, points)
		for _, xy := range s.XYs {
			n := int(xy.X)
			t := plot.Tick{Value: xy.X, Label: fmt.Sprint(n)}
			if (group != "scaling" || n&(n-1) == 0) && !slices.Contains(ticks, t) {
				ticks = append(ticks, t)
			}
		}
	}
	if peak := r.peak(nameMultiplyAdd, typ); peak > 0 && group == "products" {
		roof := plotter.NewFunction(func(float64) float64 { return peak })
		roof.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
		p.Add(roof)
		p.Legend.Add("measured peak", roof)
		p.Y.Max = max(p.Y.Max, peak)
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	fitY(p, lines)
	p.X.Min, p.X.Max = p.X.Min/1.2, p.X.Max*1.2
	return p, nil
}

// A series is the rates of one contender, in the order of the rows.
type series struct {
	name string
	plotter.XYs
	plotter.YErrors // from the median to the slowest and the fastest sample
}

// series are those of all contenders with figures in square rows.
func (r *Report) series(group, name, typ string) (list []*series, unit string) {
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Group != group || row.Name != name || row.Type != typ || row.square() == 0 {
			continue
		}
		unit = row.Unit
		for _, e := range row.Entries {
			if e.Status != OK {
				continue
			}
			i := slices.IndexFunc(list, func(s *series) bool { return s.name == e.Name })
			if i < 0 {
				i = len(list)
				list = append(list, &series{name: e.Name})
			}
			s, rate := list[i], row.rate(e.Median())
			s.XYs = append(s.XYs, plotter.XY{X: float64(row.square()), Y: rate})
			s.YErrors = append(s.YErrors, struct{ Low, High float64 }{
				rate - row.rate(slices.Max(e.Seconds)), row.rate(slices.Min(e.Seconds)) - rate,
			})
		}
	}
	slices.SortStableFunc(list, func(a, b *series) int { return indexOf(a.name, 99) - indexOf(b.name, 99) })
	return list, unit
}

// writeSVG writes p as SVG. Fonts are not a part of it: where the one that was measured is missing,
// those of the same widths are to take its place, and then any.
func writeSVG(p *plot.Plot, w io.Writer) error {
	canvas := vgsvg.New(10*vg.Inch, 5*vg.Inch)
	const widerFonts = 1.3 // than measured: DejaVu's letters take 1.1 to 1.3 times as much
	whole, picture := draw.New(canvas), *p
	text := p.Legend.Rectangle(whole).Size()
	width := text.X*widerFonts + vg.Points(20)
	picture.Legend = plot.NewLegend()
	picture.Draw(draw.Crop(whole, 0, -width, 0, 0))
	p.Legend.Draw(draw.Crop(whole, whole.Max.X-width, -vg.Points(10), 0, -(5*vg.Inch-text.Y)/2))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return err
	}
	const family = "font-family:Liberation Serif"
	svg := bytes.ReplaceAll(b.Bytes(), []byte(family+";"), []byte(family+",Times New Roman,Tinos,Nimbus Roman,serif;"))
	_, err := w.Write(svg)
	return err
}

func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.Padding = vg.Points(8)
	p.Y.Min, p.Y.Tick.Marker = 0, plainTicks{}
	p.Add(plotter.NewGrid())
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.Padding = vg.Points(4)
	return p
}

// caption names the device and the processor.
func (r *Report) caption() string {
	text := r.Config["backend"] + ": " + r.Config["device"]
	if r.Config["device"] != r.Config["cpu"] {
		text += ", beside " + r.Config["cpu"]
	}
	return text
}

// fitY makes the vertical axis fit the lines: from 0, or in decades where one line is ten times as
// high as another, which would lie on the axis.
func fitY(p *plot.Plot, lines []plotter.XYs) {
	top, bottom := math.Inf(1), math.Inf(1) // the lowest line's highest point, the lowest point
	for _, l := range lines {
		_, _, low, high := plotter.XYRange(l)
		top, bottom = min(top, high), min(bottom, low)
	}
	p.Y.Min, p.Y.Max = 0, p.Y.Max*1.05
	if p.Y.Max > 10*top && bottom > 0 {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, decades{}
		p.Y.Min, p.Y.Max = bottom/1.5, p.Y.Max*1.4
	}
}

// decades marks the powers of ten, and the numbers between them without a label.
type decades struct{}

// Ticks implements plot.Ticker.
func (decades) Ticks(low, high float64) (ticks []plot.Tick) {
	for v := math.Floor(math.Log10(low)); v <= math.Log10(high); v++ {
		for i := range 9 {
			t := plot.Tick{Value: float64(i+1) * math.Pow(10, v)}
			if i == 0 {
				t.Label = strconv.FormatFloat(t.Value, 'g', -1, 64)
			}
			if t.Value >= low && t.Value <= high {
				ticks = append(ticks, t)
			}
		}
	}
	return ticks
}

// plainTicks are gonum's, but for zeros at the end of numbers.
type plainTicks struct{ plot.DefaultTicks }

// Ticks implements plot.Ticker.
func (p plainTicks) Ticks(low, high float64) []plot.Tick {
	ticks := p.DefaultTicks.Ticks(low, high)
	for i, t := range ticks {
		if strings.Contains(t.Label, ".") {
			ticks[i].Label = strings.TrimRight(strings.TrimRight(t.Label, "0"), ".")
		}
	}
	return ticks
}

// palette begins with the colours that people with any vision tell apart best (Okabe and Ito's).
var palette = []color.Color{
	color.RGBA{0, 114, 178, 255},
	color.RGBA{213, 94, 0, 255},
	color.RGBA{0, 158, 115, 255},
	color.RGBA{204, 121, 167, 255},
	color.RGBA{230, 159, 0, 255},
	color.RGBA{86, 180, 233, 255},
	color.RGBA{0, 0, 0, 255},
	color.RGBA{127, 127, 127, 255},
	color.RGBA{240, 228, 66, 255},
	color.RGBA{102, 51, 0, 255},
	color.RGBA{170, 170, 170, 255},
	color.RGBA{68, 0, 102, 255},
}

var shapes = []draw.GlyphDrawer{
	draw.CircleGlyph{},
	draw.SquareGlyph{},
	draw.TriangleGlyph{},
	draw.PyramidGlyph{},
	draw.RingGlyph{},
	draw.BoxGlyph{},
	draw.CrossGlyph{},
}

// order is the fixed order of contenders, so that one has its colour in every plot.
var order = []string{
	nameFast, "OpenBLAS", nameTiled, nameNaive, nameHost, nameCPU, "gonum", "CLBlast", "cuBLAS",
	nameCopy, nameMemcpy, "NumPy", nameTwin,
}

// indexOf is a contender's place in the order, or else.
func indexOf(name string, otherwise int) int {
	if i := slices.Index(order, name); i >= 0 {
		return i
	}
	return otherwise
}

// legendName is the name of a contender in a legend. Tandem's own say whose they are.
func legendName(name string) string {
	for _, own := range []string{nameFast, nameTiled, nameNaive, nameHost, nameCPU, nameTwin} {
		if strings.HasPrefix(name, own) {
			return "Tandem " + name
		}
	}
	return name
}
