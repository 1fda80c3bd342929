package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/examples/internal/exampletest"
	modelled "github.com/tandem-gpu/tandem/internal/model"
	"github.com/tandem-gpu/tandem/linalg"
)

// entropy is the loss of one who knows how often each token comes, and no more.
func entropy(tokens []int32) (loss float64) {
	count := map[int32]int{}
	for _, token := range tokens {
		count[token]++
	}
	for _, token := range tokens {
		loss -= math.Log(float64(count[token]) / float64(len(tokens)))
	}
	return loss / float64(len(tokens))
}

// small is a model for the simulated GPU.
func small() *options {
	o := usual()
	o.shape, o.batch, o.steps, o.length = shape{context: 16, dim: 16, heads: 2, layers: 1}, 2, 50, 8
	return o
}

func printed(o *options) func(w io.Writer, spec string) error {
	return func(w io.Writer, spec string) error {
		o.backend = spec
		return run(context.Background(), w, o)
	}
}

// The weights after 50 steps, what they write and the digests are one on every device.
func TestRun(t *testing.T) {
	exampletest.Run(t, printed(small()), smallText)
}

const smallText = `*: 4560 weights, 132391 characters of 77 kinds
loss by step: *
loss after 50 steps, of text kept back: 3.2227

The e t eh K

digest of the weights: 4e6fda4718b40f19e77d3a75bc624cdcf8bc0eb1d032b0f831ef47e030e1aaf4
digest of the prompt's scores: feae21b724a4a6353dd91ef95b9ed37d5eeba3977de17b0ede608038770abe08
`

// So they are of the usual model, and on two devices that share each batch. Its loss is below that
// of who counts.
func TestUsual(t *testing.T) {
	if testing.Short() {
		t.Skip("50 steps of 1024 positions; left out by -short")
	}
	for _, spec := range []string{"cpu", "cpu+opencl"} { // where OpenCL has half of each batch
		t.Run(spec, func(t *testing.T) {
			if strings.Contains(spec, "opencl") {
				_, err := backend.Open("opencl")
				backendtest.Require(t, "opencl", err)
			}
			o := usual()
			o.steps, o.length = 50, 20
			if h := entropy(vocabularyOf(opticks).tokens(opticks)); h < 3.1 {
				t.Errorf("by counts alone the loss is %v", h)
			}
			exampletest.Check(t, printed(o), spec, usualText)
		})
	}
}

const usualText = `*: 205632 weights, 132391 characters of 77 kinds
loss by step: █▇▆*
loss after 50 steps, of text kept back: 2.5195

The Figis an
as ind
thas

digest of the weights: d7a4f3e6ba86f2efeaddde67fa49624fca40434b4e906a0a1aaf91fe0a59ad8f
digest of the prompt's scores: 5c2902821e3f537c5e305e6a1b693f331f01cbc4fa3c191a9317019e959755c1
`

// trainers opens so many sessions on the cpu device for a trainer of small models.
func trainers(t *testing.T, o *options, devices int) *trainer {
	t.Helper()
	v := vocabularyOf(opticks)
	o.vocab = len(v)
	sessions := make([]*linalg.Session, devices)
	for i := range sessions {
		sessions[i] = must(linalg.Open("cpu"))
		t.Cleanup(func() { check(sessions[i].Close()) })
	}
	return newTrainer(sessions, o, v, v.tokens(opticks))
}

// digest is that of arrays of one type.
func digest(all ...*floats) string {
	h := sha256.New()
	for _, a := range all {
		check(a.WriteRaw(h))
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// Sharing a batch changes nothing: not the weights, nor the loss of any step.
func TestShared(t *testing.T) {
	four := func() *options {
		o := small()
		o.batch = 4
		return o
	}
	one := trainers(t, four(), 1)
	for range 20 {
		one.step()
	}
	for _, devices := range []int{2, 4} {
		shared := trainers(t, four(), devices)
		for range 20 {
			shared.step()
		}
		for i, m := range shared.models {
			if digest(m.weights, m.mean, m.sq) != digest(one.models[0].weights, one.models[0].mean, one.models[0].sq) {
				t.Errorf("model %d of %d has other weights", i, devices)
			}
		}
		if !slices.Equal(shared.losses, one.losses) {
			t.Errorf("losses on %d devices: %v, and %v on one", devices, shared.losses, one.losses)
		}
	}
}

// A sequence has the same scores by itself, among eight, and where others follow it.
func TestAlone(t *testing.T) {
	o := small()
	o.batch = 8
	tr := trainers(t, o, 1)
	eight, one := tr.models[0], tr.writer()
	all := linalg.NewMatrix[int32](8, o.context, nil)
	for i := range all.Data {
		all.Data[i] = int32(i * 31 % o.vocab)
	}
	check(eight.tokens.CopyFrom(all))
	eight.forward()
	for i := range 8 {
		one.read(all.Row(i))
		want := digest(one.scores)
		if digest(eight.scores.Slice(i*o.vocab, (i+1)*o.vocab, 0, o.context)) != want {
			t.Errorf("row %d has other scores alone", i)
		}
		first := digest(one.scores.Slice(0, o.vocab, 0, 5))
		one.read(all.Row(i)[:5])
		if digest(one.scores.Slice(0, o.vocab, 0, 5)) != first {
			t.Errorf("row %d: what follows changes scores", i)
		}
	}
}

// countdown is a context that ends when it was asked so often.
type countdown struct {
	context.Context
	n int
}

func (c *countdown) Err() error {
	if c.n--; c.n < 0 {
		return context.Canceled
	}
	return nil
}

// What was interrupted, saved and loaded ends with the bits of what was not. The file is what
// safetensors says.
func TestSave(t *testing.T) {
	file := filepath.Join(t.TempDir(), "opticks.safetensors")
	o := small()
	o.save, o.backend = file, "cpu"
	err := run(&countdown{context.Background(), 19}, io.Discard, o)
	if err == nil || err.Error() != "interrupted at step 20, and saved in "+file {
		t.Fatalf("interrupted: %v", err)
	}
	data := must(os.ReadFile(file))
	size, head := int(data[0])|int(data[1])<<8, []byte(`{"__metadata__":{"step":"20"`)
	if size%8 != 0 || !bytes.HasPrefix(data[8:], head) || len(data) != 8+size+3*4*4560 {
		t.Errorf("a file of %d bytes that begins with %q", len(data), data[:40])
	}
	var whole, rest strings.Builder
	o = small()
	check(printed(o)(&whole, "cpu"))
	o.load = file
	check(printed(o)(&rest, "cpu"))
	_, want, _ := strings.Cut(whole.String(), "loss after") // before are the losses that each has seen
	if _, got, _ := strings.Cut(rest.String(), "loss after"); got != want {
		t.Errorf("printed\n%s\nand in two parts\n%s", &whole, &rest)
	}

	refuse := func(what string, change func(o *options), want string) {
		t.Helper()
		bad := *o
		change(&bad)
		if err := printed(&bad)(io.Discard, "cpu"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, not %s", what, err, want)
		}
	}
	refuse("another shape", func(o *options) { o.dim = 32 }, "wpe is F32 [16 16]")
	refuse("another shape", func(o *options) { o.dim = 32 }, "and the model has F32 [32 16]")
	refuse("more layers", func(o *options) { o.layers = 2 }, "10 tensors, and the model has 16")
	other := filepath.Join(t.TempDir(), "text")
	check(os.WriteFile(other, []byte(strings.Repeat("The quick brown fox jumps over the lazy dog. ", 1000)), 0o600))
	refuse("another text", func(o *options) { o.text = other }, "learned from ")
	for _, n := range []int{0, 7, 8, 100, len(data) - 1} {
		check(os.WriteFile(file, data[:n], 0o600))
		refuse("cut off", func(*options) {}, file)
	}
	check(os.WriteFile(file, bytes.Replace(data, []byte(`"step":"20"`), []byte(`"step":"x0"`), 1), 0o600))
	refuse("a step that is none", func(*options) {}, "step: ")
}

// A toaster is a device without float32.
type toaster struct{ modelled.Device }

func (d *toaster) Info() *backend.Info {
	info := d.Device.Info()
	info.Name, info.Float32 = "toaster", false
	return info
}

// The error of a device without float32 has its name.
func TestUnsupported(t *testing.T) {
	o := small()
	o.open = func(string) (*linalg.Session, error) {
		return linalg.NewSession(backend.NewDevice(&toaster{modelled.Device{
			In: 1e12, Out: 1e12, Rate: 1e18, Memory: 1 << 30,
		}}))
	}
	err := run(t.Context(), io.Discard, o)
	if !errors.Is(err, backend.ErrUnsupported) || !strings.Contains(err.Error(), "toaster does not keep") {
		t.Errorf("a device without float32: %v", err)
	}
}

func TestBadInput(t *testing.T) {
	short := filepath.Join(t.TempDir(), "short.txt")
	check(os.WriteFile(short, []byte(strings.Repeat("Light ", 20)), 0o600))
	for _, c := range []struct {
		change func(o *options)
		want   string
	}{
		{func(o *options) { o.text = short }, "a text of 120 characters"},
		{func(o *options) { o.text = short + "er" }, short + "er"},
		{func(o *options) { o.prompt = "Æther" }, `prompt: 'Æ', at byte 0, is not in the text`},
		{func(o *options) { o.prompt = "" }, "a prompt of 0 characters, not of 1 to 16"},
		{func(o *options) { o.prompt = strings.Repeat("a", 17) }, "a prompt of 17 characters, not of 1 to 16"},
		{func(o *options) { o.temperature = math.NaN() }, "-temperature"},
		{func(o *options) { o.temperature = math.Inf(1) }, "-temperature is 0 to 1e30"},
		{func(o *options) { o.steps = 0 }, "-steps"},
		{func(o *options) { o.ranks = 3 }, "3 devices cannot share batches of 2"},
		{func(o *options) { o.load = "nowhere" }, "nowhere"},
		{func(o *options) { o.save, o.steps = filepath.Join(short, "x"), 1 }, "short.txt"},
	} {
		o := small()
		c.change(o)
		if err := printed(o)(io.Discard, "cpu"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, not %s", err, c.want)
		}
	}
}

// What is written has each character as often as softmax has it, at a temperature of 0 the
// likeliest alone.
func TestChance(t *testing.T) {
	s := must(linalg.Open("cpu"))
	defer s.Close()
	const n = 1 << 16
	scores := must(linalg.Upload(s, linalg.NewMatrix(3, 1, []float32{1, 3, 2})))
	x, index := must(linalg.NewArray[float32](s, 3, n)), must(linalg.NewArray[int32](s, 1, n))
	for _, c := range []struct {
		temperature float32
		want        [3]float64
	}{{0, [3]float64{0, 1, 0}}, {1, [3]float64{0.0900, 0.6652, 0.2447}}, {1e30, [3]float64{1. / 3, 1. / 3, 1. / 3}}} {
		check(
			array.Uniform(&array.Stream{Seed: 1}, x),
			launchChance(s, x, scores, x, array.Value(c.temperature)),
			array.ArgMax(index, x))
		var got [3]float64
		for _, token := range must(index.Download()).Data {
			got[token] += 1. / n
		}
		for i := range got {
			if math.Abs(got[i]-c.want[i]) > 0.01 {
				t.Errorf("temperature %v: %v, want %v", c.temperature, got, c.want)
			}
		}
	}
	if v := chance(1, 0, 0); v != 1 {
		t.Errorf("without temperature a score is %v", v)
	}
}
