// Command gpt trains a small GPT on the Third Book of Newton's Opticks, character by character, and
// writes as it has learned to. The bits of all it computes are the same on every device.
package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
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
	"syscall"
	"time"

	_ "github.com/tandem-gpu/tandem/backend/cudasim" // for -backend cudasim; nothing else needs it
	"github.com/tandem-gpu/tandem/cluster"
	"github.com/tandem-gpu/tandem/examples/program"
	"github.com/tandem-gpu/tandem/linalg"
)

//go:generate go run github.com/tandem-gpu/tandem/gpu/compile -pack

//go:embed opticks.txt
var opticks string // Newton's Third Book, from the text in Go's sources

// options is what the flags say, the sizes that tests have smaller, and the processes that train
// together: of so many ranks this is number rank; gather gives each what all have, in their order.
type options struct {
	shape
	backend, text, prompt, load, save string
	batch, steps, length              int
	seed                              uint64
	temperature                       float64
	int8, mpi                         bool
	progress                          io.Writer
	rank, ranks                       int
	open                              func(spec string) (*linalg.Session, error)
	gather                            func(part []float32) ([]float32, error)
}

// usual is the model and the training without flags.
func usual() *options {
	return &options{
		shape: shape{context: 64, dim: 64, heads: 4, layers: 4}, batch: 16, steps: 800, length: 500, seed: 1,
		temperature: 0.7, prompt: "The ", progress: io.Discard, ranks: 1, open: linalg.Open,
		gather: func(part []float32) ([]float32, error) { return part, nil },
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
	flag.BoolVar(&o.int8, "int8", false, "write with weights of 8 bits")
	flag.BoolVar(&o.mpi, "mpi", false, "share each batch with the other ranks of an MPI job")
	program.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	start := run
	if o.mpi {
		start = onRanks
	}
	if err := start(ctx, os.Stdout, o); err != nil {
		log.Print(err)
		cluster.Exit(1)
	}
	cluster.Exit(0)
}

// run trains and writes. It ends early with ctx, and saves what there is by then.
func run(ctx context.Context, w io.Writer, o *options) (err error) {
	defer catch(&err)
	text := opticks
	if o.text != "" {
		text = string(must(os.ReadFile(o.text)))
	}
	v := vocabularyOf(text)
	o.vocab = len(v)
	switch n, given := o.context, len(o.prompt); {
	case len(text) <= 10*(n+1):
		return fmt.Errorf("a text of %d characters: its tenth must be longer than the context of %d", len(text), n)
	case given == 0 || given > n:
		return fmt.Errorf("a prompt of %d characters, not of 1 to %d", given, n)
	case !(o.temperature >= 0 && o.temperature <= 1e30) || o.length < 1 || o.steps < 1:
		return fmt.Errorf("-temperature is 0 to 1e30, -length and -steps are 1 or more")
	}
	prompt := v.tokens(o.prompt)
	s := must(o.open(o.backend))
	defer s.Close() // frees the arrays, too
	t := newTrainer(s.Sessions(), o, v, v.tokens(text))
	if o.load != "" {
		check(t.load(o.load))
	}
	fmt.Fprintf(w, "%s: %d weights, %d characters of %d kinds\n", strings.Join(t.devices, ", "),
		t.models[0].size, len(text), len(v))
	t.train(ctx)
	loss := t.evaluate()
	if math.IsNaN(loss) {
		return fmt.Errorf("after step %d the loss is no number", t.done)
	} else if o.rank > 0 {
		return nil
	}
	where := "not saved"
	if o.save != "" {
		t.save(o.save)
		where = "saved in " + o.save
	}
	if t.stop {
		return fmt.Errorf("interrupted at step %d, and %s", t.done, where)
	}
	fmt.Fprintf(w, "loss by step: %s\nloss after %d steps, of text kept back: %.4f\n\n%s",
		curve(t.losses), t.done, loss, o.prompt)
	m := t.writer()
	if o.int8 {
		m.shrink()
	}
	m.read(prompt)
	weights, scores := sha256.New(), sha256.New()
	check(t.models[0].weights.WriteRaw(weights), m.scores.Slice(0, m.vocab, 0, len(prompt)).WriteRaw(scores))
	start := time.Now()
	m.write(ctx, prompt, o, func(token int32) { fmt.Fprint(w, v[token:token+1]) })
	fmt.Fprintf(o.progress, "\n\n%.0f characters/s\n", float64(o.length)/time.Since(start).Seconds())
	fmt.Fprintf(w, "\n\ndigest of the weights: %x\n", weights.Sum(nil))
	fmt.Fprintf(w, "digest of the prompt's scores: %x\n", scores.Sum(nil))
	return nil
}

// A vocabulary is the bytes that a text has, in order. The number of one is its token.
type vocabulary string

func vocabularyOf(text string) vocabulary {
	return vocabulary(slices.Compact(slices.Sorted(slices.Values([]byte(text)))))
}

func (v vocabulary) tokens(text string) []int32 {
	tokens := make([]int32, len(text))
	for i := range tokens {
		at := strings.IndexByte(string(v), text[i])
		if at < 0 {
			check(fmt.Errorf("prompt: %q, at byte %d, is not in the text that is learned", []rune(text[i:])[0], i))
		}
		tokens[i] = int32(at)
	}
	return tokens
}

// onRanks is run on each rank of an MPI job, of which rank 0 alone writes. They may have devices of
// several kinds, but must have all else in common.
func onRanks(ctx context.Context, w io.Writer, o *options) error {
	key := fmt.Append(nil, o.shape, o.prompt, o.batch, o.steps, o.length, o.seed, o.temperature, o.int8)
	for _, name := range []string{o.text, o.load} {
		data, _ := os.ReadFile(name) // run says what is wrong
		key = append(key, data...)
	}
	err := cluster.Run(context.WithoutCancel(ctx), func(job context.Context, c *cluster.Comm) error {
		if err := c.Same(job, "other flags, or another file of -text or -load,", key); err != nil {
			return err
		}
		o.rank, o.ranks, o.open = c.Rank(), c.Size(), c.Open
		o.gather = func(part []float32) ([]float32, error) { return cluster.AllGather(job, c, part) }
		if o.rank > 0 {
			w, o.progress = io.Discard, io.Discard
		}
		return run(ctx, w, o)
	})
	if e := (*cluster.Error)(nil); errors.As(err, &e) && e.Here > 0 {
		return nil // rank 0 says it, and ends the job
	}
	return err
}

// check ends run at the first error, which catch has it return.
func check(errs ...error) {
	if err := cmp.Or(errs...); err != nil {
		panic(err)
	}
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

func catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case runtime.Error:
		panic(r)
	case error:
		*err = r
	}
}
