package main

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/tandem-gpu/tandem/linalg"
	"github.com/tandem-gpu/tandem/rmath"
	"github.com/tandem-gpu/tandem/rmath/f32"
)

const mapsFile = "testdata/maps/maps.go"

// A user's function has the same bits on every device.
func TestMapGo(t *testing.T) {
	for _, device := range []string{"cpu", "opencl", "cudasim"} {
		t.Run(device, func(t *testing.T) {
			need(t, device)
			if device == "cpu" && testing.Short() {
				t.Skip("builds a program; left out by -short")
			}
			if device == "cudasim" && os.Getenv("TANDEM_NVRTC") == "" {
				t.Skip("text for cudasim needs NVRTC")
			}
			at := in(t.TempDir())
			p, want := linalg.NewMatrix[float64](30, 40, nil), linalg.NewMatrix[float64](30, 40, nil)
			for i := range p.Data {
				p.Data[i] = float64(i) / 1200
				want.Data[i] = rmath.Log(p.Data[i]) - rmath.Log1p(-p.Data[i])
			}
			save(t, at("p.npy"), p)
			must(t, "map", mapsFile, "--func", "logit", at("p.npy"), "-o", at("q.npy"), "--backend", device)
			checkFile(t, at("q.npy"), []int{30, 40}, want)
		})
	}
}

// The types of the files choose the instance; files may be of several types, numbers, or empty.
func TestMapGoFiles(t *testing.T) {
	need(t, "opencl")
	t.Setenv("TANDEM_BACKEND", "opencl")
	at := in(t.TempDir())
	write(t, at("p.npy"), whole(nil, linalg.NewMatrix(1, 1, []float32{0.25})))
	must(t, "map", mapsFile, "--func", "logit", at("p.npy"), "-o", at("p.npy")) // in place
	checkFile(t, at("p.npy"), nil, linalg.NewMatrix(1, 1, []float32{f32.Log(0.25) - f32.Log1p(-0.25)}))
	write(t, at("none.npy"), whole([]int{3, 0}, linalg.NewMatrix[float32](3, 0, nil)))
	must(t, "map", mapsFile, "--func", "logit", at("none.npy"), "-o", at("q.npy"))
	checkFile(t, at("q.npy"), []int{3, 0}, linalg.NewMatrix[float32](3, 0, nil))
	saveVector(t, at("x.npy"), 1.5, 4, 8)
	saveVector[int32](t, at("n.npy"), 1, 5, 5)
	var r record
	if err := json.Unmarshal([]byte(must(t, "map", mapsFile, "--func", "bend", at("x.npy"), at("n.npy"),
		"-o", at("y.npy"), "--json")), &r); err != nil {
		t.Fatal(err)
	}
	checkFile(t, at("y.npy"), []int{3}, linalg.NewMatrix(1, 3, []float64{1.25, 4, 6.5}))
	if r.Command != "map bend" || len(r.Inputs) != 2 || len(r.Outputs) != 1 {
		t.Errorf("%+v", r)
	}
}

func TestMapGoBadInput(t *testing.T) {
	dir := t.TempDir()
	at := in(dir)
	x := saveVector[float32](t, at("x.npy"), 1, 2, 3)
	write(t, at("alone.go"), []byte("package alone\n"))
	logit := []string{"map", mapsFile, "--func", "logit", x, "-o", at("y.npy"), "--backend", "opencl"}
	for _, c := range []struct {
		says string
		args []string
	}{
		{"no function: give --func NAME", []string{"map", mapsFile, x, "-o", at("y.npy")}},
		{"--func 1st: not the name of a function", replaced(logit, "logit", "1st")},
		{
			"no file: give one for each parameter of logit",
			[]string{"map", mapsFile, "--func", "logit", "-o", at("y.npy")},
		},
		{"-o", logit[:5]},
		{"unknown command \"nothing\"", []string{"map", "nothing", x, "-o", at("y.npy")}},
	} {
		fails(t, dir, exitUsage, c.says, c.args...)
	}
	need(t, "opencl")
	for _, c := range []struct {
		says string
		args []string
	}{
		{"no such file", replaced(logit, mapsFile, "testdata/maps/nothing.go")},
		{"no such file", replaced(logit, "x.npy", "nothing.npy")},
		{"go.mod", replaced(logit, mapsFile, at("alone.go"))},
		{"twice.go:6:9: ", replaced(replaced(logit, mapsFile, "testdata/brokenmap/twice.go"), "logit", "twice")},
		{
			"maps.go has no function plain under //tandem:map; it has logit, bend, above",
			replaced(logit, "logit", "plain"),
		},
		{"logit[float32] has 1 parameters, and there are 2 files", append(logit, x)},
		{"above gives bool", append(replaced(logit, "logit", "above"), x)},
		{"bend: parameter 1 is float64, which", append(replaced(logit, "logit", "bend"), x)},
		{
			"the shapes differ, and nothing is broadcast",
			append(replaced(replaced(logit, "logit", "bend"), x, saveVector(t, at("d.npy"), 1.0, 2)),
				saveVector[int32](t, at("n.npy"), 1)),
		},
		{
			"logit[float64]: parameter 1 is float64, which",
			replaced(logit, x, saveVector[int32](t, at("n.npy"), 1)),
		},
	} {
		fails(t, dir, exitError, c.says, c.args...)
	}
}
