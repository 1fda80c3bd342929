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

	"github.com/tandem-gpu/tandem/element"
)

// A Plot is a picture of a report.
type Plot struct {
	File  string // name: "products-float32.svg"
	Write func(w io.Writer) error
}

// PlotFiles are the names of all plots that a report on these types can have.
func PlotFiles(types []element.Type) []string {
	names := []string{"transposes.svg", "roofline.svg"}
	for _, t := range types {
		names = append(names, productsFile(t.String()), scalingFile(t.String()), costFile(t.String()))
	}
	return names
}

func productsFile(typ string) string { return "products-" + typ + ".svg" }

// Plots draws the report, as SVG: for each type the rate of every contender over n, and what
// scaling measured; the transposes beside the copies, and a roofline. A plot without a single
// figure is left out.
func (r *Report) Plots() (list []Plot, err error) {
	var types []string
	for i := range r.Products {
		if t := r.Products[i].Type; !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	add := func(file string, draw func() (*plot.Plot, error)) {
		p, e := draw()
		if err == nil {
			err = e
		}
		if e == nil && p != nil {
			list = append(list, Plot{file, func(w io.Writer) error { return writeSVG(p, w) }})
		}
	}
	for _, t := range types {
		add(productsFile(t), func() (*plot.Plot, error) { return r.plotProducts(t) })
	}
	for _, t := range element.Types() {
		add(scalingFile(t.String()), func() (*plot.Plot, error) { return r.plotScaling(t.String()) })
		add(costFile(t.String()), func() (*plot.Plot, error) { return r.plotCost(t.String()) })
	}
	add("transposes.svg", r.plotTransposes)
	add("roofline.svg", r.plotRoofline)
	return list, err
}

// writeSVG writes p as SVG. Fonts are not a part of it: where the one that was measured is missing,
// those of the same widths are to take its place, and then any.
func writeSVG(p *plot.Plot, w io.Writer) error {
	var b bytes.Buffer
	if err := write(p, &b, "svg"); err != nil {
		return err
	}
	const family = "font-family:Liberation Serif"
	svg := bytes.ReplaceAll(b.Bytes(), []byte(family+";"), []byte(family+",Times New Roman,Tinos,Nimbus Roman,serif;"))
	_, err := w.Write(svg)
	return err
}

// widerFonts is how much wider than measured a legend may become in another font: DejaVu's letters
// take 1.1 to 1.3 times as much.
const widerFonts = 1.3

// write draws p in a format that gonum/plot knows, with the legend on its right.
func write(p *plot.Plot, w io.Writer, format string) error {
	canvas, err := draw.NewFormattedCanvas(10*vg.Inch, 5*vg.Inch, format)
	if err != nil {
		return err
	}
	whole, picture := draw.New(canvas), *p
	text := p.Legend.Rectangle(whole).Size()
	width := text.X*widerFonts + vg.Points(20)
	picture.Legend = plot.NewLegend()
	picture.Draw(draw.Crop(whole, 0, -width, 0, 0))
	p.Legend.Draw(draw.Crop(whole, whole.Max.X-width, -vg.Points(10), 0, -(5*vg.Inch-text.Y)/2))
	_, err = canvas.WriteTo(w)
	return err
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

// order is the fixed order of contenders, so that one has its colour in every plot.
var order = []string{
	nameFast, "OpenBLAS", nameTiled, nameNaive, nameHost, nameCPU, "gonum", "CLBlast", "cuBLAS",
	nameCopy, nameMemcpy, "NumPy", nameTwin,
}

func indexOf(name string) int {
	if i := slices.Index(order, name); i >= 0 {
		return i
	}
	return len(order)
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
	text := r.Device.Driver + ": " + r.Device.Name
	if r.Device.Name != r.Machine.CPU {
		text += ", beside " + r.Machine.CPU
	}
	return text
}

// series is the rates of one contender, in ascending order of x.
type series struct {
	name   string
	points plotter.XYs
	spread plotter.YErrors // from the median to the slowest and the fastest sample
}

// collect makes a series of each contender with figures in square rows of the type.
func collect(rows []Row, typ string) (list []*series) {
	byName := map[string]*series{}
	for i := range rows {
		row := &rows[i]
		if row.Type != typ || row.M != row.N || row.K != 0 && row.K != row.N || row.Batch > 0 {
			continue
		}
		for j := range row.Entries {
			e := &row.Entries[j]
			if e.Status != OK {
				continue
			}
			s := byName[e.Name]
			if s == nil {
				s = &series{name: e.Name}
				byName[e.Name] = s
				list = append(list, s)
			}
			s.points = append(s.points, plotter.XY{X: float64(row.N), Y: e.Rate})
			s.spread = append(s.spread, struct{ Low, High float64 }{
				e.Rate - row.Work/e.Time.Max/1e9,
				row.Work/e.Time.Min/1e9 - e.Rate,
			})
		}
	}
	slices.SortStableFunc(list, func(a, b *series) int { return indexOf(a.name) - indexOf(b.name) })
	return list
}

func (r *Report) plotProducts(typ string) (*plot.Plot, error) {
	list := collect(r.Products, typ)
	if len(list) == 0 {
		return nil, nil
	}
	p := newPlot(fmt.Sprintf("Products of %s matrices n x n\n%s", typ, r.caption()), "n", unitOf(r.Products, typ))
	p.X.Scale = plot.LogScale{}
	ticks, lines := []plot.Tick{}, []plotter.XYs{}
	for i, s := range list {
		lines = append(lines, s.points)
		colour := palette[indexOf(s.name)%len(palette)]
		line, points, err := plotter.NewLinePoints(s.points)
		if err != nil {
			return nil, err
		}
		bars, err := plotter.NewYErrorBars(struct {
			plotter.XYs
			plotter.YErrors
		}{s.points, s.spread})
		if err != nil {
			return nil, err
		}
		line.Color, line.Width, points.Color, bars.Color = colour, vg.Points(1.5), colour, colour
		points.Shape = shapes[i%len(shapes)]
		p.Add(bars, line, points)
		p.Legend.Add(legendName(s.name), line, points)
		for _, xy := range s.points {
			if t := (plot.Tick{Value: xy.X, Label: fmt.Sprint(xy.X)}); !slices.Contains(ticks, t) {
				ticks = append(ticks, t)
			}
		}
	}
	if peak := r.peak(typ); peak > 0 {
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

var shapes = []draw.GlyphDrawer{
	draw.CircleGlyph{},
	draw.SquareGlyph{},
	draw.TriangleGlyph{},
	draw.PyramidGlyph{},
	draw.RingGlyph{},
	draw.BoxGlyph{},
	draw.CrossGlyph{},
}

func unitOf(rows []Row, typ string) string {
	for _, row := range rows {
		if row.Type == typ {
			return row.Unit
		}
	}
	return ""
}

func (r *Report) plotTransposes() (*plot.Plot, error) {
	rows := slices.DeleteFunc(slices.Clone(r.Transposes), func(r Row) bool { return r.Experiment != "transpose" })
	if len(rows) == 0 {
		return nil, nil
	}
	typ := element.Int32.String()
	if !slices.ContainsFunc(rows, func(r Row) bool { return r.Type == typ }) {
		typ = rows[0].Type
	}
	list := collect(rows, typ)
	if len(list) == 0 {
		return nil, nil
	}
	var sizes []float64
	for _, s := range list {
		for _, xy := range s.points {
			if !slices.Contains(sizes, xy.X) {
				sizes = append(sizes, xy.X)
			}
		}
	}
	slices.Sort(sizes)
	p := newPlot("Transposes of "+typ+" matrices n x n, and copies of as many bytes\n"+r.caption(), "n",
		"GB/s, read and written")
	const width = 16
	for i, s := range list {
		values := make(plotter.Values, len(sizes))
		for _, xy := range s.points {
			values[slices.Index(sizes, xy.X)] = xy.Y
		}
		bars, err := plotter.NewBarChart(values, vg.Points(width))
		if err != nil {
			return nil, err
		}
		bars.Color, bars.LineStyle.Width = palette[indexOf(s.name)%len(palette)], 0
		bars.Offset = vg.Points(width * (float64(i) - float64(len(list)-1)/2))
		p.Add(bars)
		p.Legend.Add(legendName(s.name), bars)
	}
	names := make([]string, len(sizes))
	for i, n := range sizes {
		names[i] = fmt.Sprint(n)
	}
	p.NominalX(names...)
	p.X.Min, p.X.Max = -0.6, float64(len(sizes))-0.4
	p.Y.Min, p.Y.Max = 0, p.Y.Max*1.05
	return p, nil
}

// bytes is what a row's products read and write where each matrix is moved once.
func (r *Row) bytes(t element.Type) float64 {
	m, n, k := float64(r.M), float64(r.N), float64(r.K)
	return float64(t.Size()) * (m*k + k*n + m*n) * float64(max(1, r.Batch))
}

// plotRoofline draws the fast products under the measured peak and copy rate. The intensity is that
// of a product that moves each matrix once.
func (r *Report) plotRoofline() (*plot.Plot, error) {
	bandwidth := r.peak("copy")
	if bandwidth <= 0 {
		return nil, nil
	}
	p := newPlot("Roofline: fast products under the measured peaks\n"+r.caption(),
		"operations a byte, each matrix moved once", "10^9 operations/s")
	drawn, low := 0, math.Inf(1)
	for i, t := range element.Types() {
		peak := r.peak(t.String())
		var points plotter.XYs
		for j := range r.Products {
			row := &r.Products[j]
			if e := row.find(nameFast); e != nil && row.Type == t.String() {
				points = append(points, plotter.XY{X: row.Work / row.bytes(t), Y: e.Rate})
				low = min(low, e.Rate)
			}
		}
		if peak <= 0 || len(points) == 0 {
			continue
		}
		drawn++
		scatter, err := plotter.NewScatter(points)
		if err != nil {
			return nil, err
		}
		roof, err := plotter.NewLine(plotter.XYs{
			{X: 0.25, Y: 0.25 * bandwidth},
			{X: peak / bandwidth, Y: peak},
			{X: 16384, Y: peak},
		})
		if err != nil {
			return nil, err
		}
		scatter.Color, scatter.Shape, roof.Color, roof.Width = palette[i], shapes[i], palette[i], vg.Points(1.5)
		p.Add(roof, scatter)
		p.Legend.Add(t.String(), roof, scatter)
	}
	if drawn == 0 {
		return nil, nil
	}
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = decades{}, decades{}
	p.X.Min, p.X.Max = 0.25, 16384
	p.Y.Min, p.Y.Max = min(low, 0.25*bandwidth)/2, p.Y.Max*2
	return p, nil
}
