package bench

import (
	"encoding/json"
	"fmt"
	"io"
)

// fallenBelow is the fraction of an earlier ratio below which a row has fallen.
const fallenBelow = 0.9

// ReadReport reads a report that `tandem bench -o` has written.
func ReadReport(from io.Reader) (*Report, error) {
	var r Report
	if err := json.NewDecoder(from).Decode(&r); err != nil {
		return nil, fmt.Errorf("no report of tandem bench: %w", err)
	}
	if r.Format != 1 {
		return nil, fmt.Errorf("a report of format %d; this program reads 1", r.Format)
	}
	return &r, nil
}

// CompareWith sets r.Fallen: the ratios of rates, Tandem's to another's in the same row, that are
// lower by more than a tenth than in an earlier report. Rates themselves are of their day.
func (r *Report) CompareWith(before *Report) {
	r.Fallen = []string{}
	for _, both := range [][2][]Row{
		{r.Products, before.Products}, {r.Transposes, before.Transposes}, {r.Functions, before.Functions},
	} {
		was := map[string]*Row{}
		for i := range both[1] {
			was[both[1][i].Title()] = &both[1][i]
		}
		for i := range both[0] {
			if old := was[both[0][i].Title()]; old != nil {
				r.Fallen = append(r.Fallen, both[0][i].fallen(old)...)
			}
		}
	}
}

// fell is what to print of the comparison, nothing without one.
func (r *Report) fell() (lines []string) {
	if r.Fallen != nil && len(r.Fallen) == 0 {
		return []string{"nothing fell by more than a tenth since the earlier report"}
	}
	for _, f := range r.Fallen {
		lines = append(lines, "fell by more than a tenth: "+f)
	}
	return lines
}

// fallen are the ratios of a row that have fallen.
func (r *Row) fallen(before *Row) (list []string) {
	for _, x := range ratios {
		now, nowOK := x.of(r)
		was, wasOK := x.of(before)
		if nowOK && wasOK && now < fallenBelow*was {
			list = append(list, fmt.Sprintf("%s: %s is %.3g, was %.3g", r.Title(), x.title(), now, was))
		}
	}
	return list
}

// of is the ratio in a row that has both.
func (x ratioOf) of(r *Row) (ratio float64, ok bool) {
	e, against := r.find(x.name), r.find(x.against)
	if e == nil || against == nil || against.Rate == 0 {
		return 0, false
	}
	return e.Rate / against.Rate, true
}
