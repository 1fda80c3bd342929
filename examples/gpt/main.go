// Command gpt trains a small GPT on the Third Book of Newton's Opticks, character by character, and
// writes as it has learned to. The bits of all it computes are the same on every device.
//
//	go run ./examples/gpt
//	go run ./examples/gpt -prompt "Qu. 32. " -temperature 0.5 -save opticks.safetensors
//	go run ./examples/gpt -load opticks.safetensors -prompt "The Rays of Light "
//	go run ./examples/gpt -backend cpu+opencl -steps 50
//
// model.go has the model, forward and backward, kernels.go what package array has no function for.
// README.md says what fixes the bits.
package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	_ "github.com/tandem-gpu/tandem/backend/cudasim" // for -backend cudasim; nothing else needs it
	"github.com/tandem-gpu/tandem/linalg"
)

//go:generate go run github.com/tandem-gpu/tandem/gpu/compile

// opticks is Newton's Third Book, without its figures and tables, from a text of Project Gutenberg
// that Go's sources carry. It is in the public domain.
//
//go:embed opticks.txt
var opticks string

// options is what the flags say, and the sizes that tests have smaller.
type options struct {
	shape
	backend, text, prompt, load, save string
	batch, steps, length              int
	seed                              uint64
	temperature                       float64
	progress                          io.Writer
}

// usual is the model and the training without flags.
func usual() *options {
	return &options{
		shape: shape{context: 64, dim: 64, heads: 4, layers: 4},
		batch: 16, steps: 800, length: 500, seed: 1, temperature: 0.7, prompt: "The ", progress: io.Discard,
	}
}

func main() {
	o := usual()
	o.progress = os.Stderr
	flag.StringVar(&o.backend, "backend", "", "device: cpu, opencl, ..., cpu+opencl; by default the best")
	flag.StringVar(&o.text, "text", "", "file with the text to learn; by default Newton's Opticks")
	flag.StringVar(&o.prompt, "prompt", o.prompt, "what the writing begins with")
	flag.StringVar(&o.load, "load", "", "file of -save to go on from: trained already, it only writes")
	flag.StringVar(&o.save, "save", "", "file for what was learned, in the format safetensors")
	flag.IntVar(&o.steps, "steps", o.steps, "steps of the training")
	flag.IntVar(&o.length, "length", o.length, "characters to write")
	flag.Uint64Var(&o.seed, "seed", o.seed, "seed of weights, batches and writing")
	flag.Float64Var(&o.temperature, "temperature", o.temperature, "how freely to write: at 0 the likeliest always")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, o); err != nil {
		log.Fatal(err)
	}
}

// run trains and writes. It ends early with ctx, and saves what there is by then.
func run(ctx context.Context, w io.Writer, o *options) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case runtime.Error:
			panic(r)
		case error: // of check
			err = r
		}
	}()
	text := opticks
	if o.text != "" {
		text = string(must(os.ReadFile(o.text)))
	}
	v := vocabularyOf(text)
	o.vocab = len(v)
	tokens := must(v.tokens(text))
	if len(tokens) <= 10*(o.context+1) {
		return fmt.Errorf("a text of %d characters: a tenth, which is kept back, must be longer than the context of %d",
			len(tokens), o.context)
	}
	prompt := must(v.tokens(o.prompt))
	if len(prompt) == 0 || len(prompt) > o.context {
		return fmt.Errorf("a prompt of %d characters, not of 1 to %d", len(prompt), o.context)
	}
	if !(o.temperature >= 0) || o.length < 1 || o.steps < 1 {
		return fmt.Errorf("-temperature is 0 or more, -length and -steps are 1 or more")
	}
	s := must(linalg.Open(o.backend))
	defer s.Close() // frees the arrays, too
	t := must(newTrainer(s.Sessions(), o, tokens))
	if o.load != "" {
		check(t.load(o.load, v))
	}
	fmt.Fprintf(w, "%s: %d weights, %d characters of %d kinds\n", strings.Join(t.devices, ", "),
		t.models[0].size, len(tokens), len(v))

	for start, last, first := time.Now(), time.Now(), t.done; t.done < o.steps && ctx.Err() == nil; {
		loss := t.step()
		if math.IsNaN(loss) {
			return fmt.Errorf("the loss of step %d is no number", t.done)
		}
		if took := time.Since(start); time.Since(last) > 2*time.Second {
			last = time.Now()
			done := t.done - first
			fmt.Fprintf(o.progress, "step %d of %d: loss %.3f, %.0f tokens/s, %v left\n", t.done, o.steps, loss,
				float64(done*o.batch*o.context)/took.Seconds(),
				(took / time.Duration(done) * time.Duration(o.steps-t.done)).Round(time.Second))
		}
	}
	where := "not saved"
	if o.save != "" {
		t.save(o.save, v)
		where = "saved in " + o.save
	}
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted at step %d, and %s", t.done, where)
	}
	fmt.Fprintln(w, "loss by step:", curve(t.losses))
	fmt.Fprintf(w, "loss after %d steps, of text kept back: %.4f\n", t.done, t.evaluate())

	h := sha256.New()
	m := t.writer()
	m.read(prompt)
	check(m.scores.Slice(0, m.vocab, 0, len(prompt)).WriteRaw(h))
	scores := h.Sum(nil)
	h.Reset()
	check(t.models[0].weights.WriteRaw(h))
	start := time.Now()
	fmt.Fprintf(w, "\n%s", o.prompt)
	for token := range m.write(prompt, o) {
		if fmt.Fprint(w, v[token:token+1]); ctx.Err() != nil {
			break
		}
	}
	fmt.Fprintf(o.progress, "\n\n%.0f characters/s\n", float64(o.length)/time.Since(start).Seconds())
	fmt.Fprintf(w, "\n\ndigest of the weights: %x\ndigest of the prompt's scores: %x\n", h.Sum(nil), scores)
	return nil
}

// A vocabulary is the bytes that a text has, in order. The number of one is its token.
type vocabulary string

func vocabularyOf(text string) vocabulary {
	bytes := []byte(text)
	slices.Sort(bytes)
	return vocabulary(slices.Compact(bytes))
}

func (v vocabulary) tokens(text string) ([]int32, error) {
	tokens := make([]int32, len(text))
	for i := range tokens {
		at := strings.IndexByte(string(v), text[i])
		if at < 0 {
			r, _ := utf8.DecodeRuneInString(text[i:])
			return nil, fmt.Errorf("prompt: %q, at byte %d, is not in the text that is learned", r, i)
		}
		tokens[i] = int32(at)
	}
	return tokens, nil
}

// check ends run at the first error, which it returns.
func check(errs ...error) {
	if err := cmp.Or(errs...); err != nil {
		panic(err)
	}
}

func must[T any](v T, err error) T {
	check(err)
	return v
}
