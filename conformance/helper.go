package conformance

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/kernels"
)

// A helper says what it is to do in its first word, as planOf has it. It then gets the numbers of units, one at a time, and gives the answers of each. Words are JSON values.

// An answer is what became of a job.
type answer struct {
	Digest string `json:",omitempty"`
	Error  string `json:",omitempty"`
}

// planOf tells apart devices, and lists of jobs.
func planOf(info backend.Info, jobs []*job) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d %+v\n", info.Index, kernels.DeviceIDOf(&info))
	for _, j := range jobs {
		fmt.Fprintf(h, "%s %s\n", j.c.Name(), j.v.params)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Serve helps a Run of another process, at the other end of conn, with the same cases and parameters on the same device. It returns when there is no more to do: when nothing more
// comes from conn.
func Serve(ctx context.Context, dev backend.Device, o Options, conn io.ReadWriter) error {
	s, err := newSession(dev)
	if err != nil {
		return err
	}
	defer s.q.Close()
	r := &Report{Device: dev.Info()}
	jobs := r.plan(o)
	units := unitsOf(jobs)
	in, out := json.NewDecoder(conn), json.NewEncoder(conn)
	if err := out.Encode(planOf(r.Device, jobs)); err != nil {
		return err
	}
	for {
		var number int
		if err := in.Decode(&number); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if number < 0 || number >= len(units) {
			return fmt.Errorf("conformance: there is no unit %d", number)
		}
		if err := s.do(ctx, units[number], func(int) {}); err != nil {
			return err
		}
		if err := out.Encode(answersOf(units[number])); err != nil {
			return err
		}
	}
}

func answersOf(u *unit) (answers []answer) {
	for _, j := range u.jobs {
		a := answer{Digest: j.digest}
		if j.err != nil {
			a.Error = j.err.Error()
		}
		answers = append(answers, a)
	}
	return answers
}

// A helper is another process as a worker.
type helper struct {
	conn io.Closer
	in   *json.Decoder
	out  *json.Encoder
}

// greet waits for the first word of the helper at the other end of conn, until ctx is done. It is nil where there is no helper, or one with another plan.
func greet(ctx context.Context, conn io.ReadWriteCloser, plan string) *helper {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	h := &helper{conn, json.NewDecoder(conn), json.NewEncoder(conn)}
	var word string
	err := h.in.Decode(&word)
	if !stop() || err != nil || word != plan {
		return nil
	}
	return h
}

func (h *helper) do(ctx context.Context, u *unit, done func(n int)) error {
	answers, err := h.ask(u)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("conformance: a helper ended before its work was done: %w", errors.Join(err, h.conn.Close()))
	}
	for i, j := range u.jobs {
		j.digest = answers[i].Digest
		if answers[i].Error != "" {
			j.err = errors.New(answers[i].Error)
		}
	}
	done(len(u.jobs))
	return nil
}

// ask has the helper do u.
func (h *helper) ask(u *unit) (answers []answer, err error) {
	if err := h.out.Encode(u.number); err != nil {
		return nil, err
	}
	if err := h.in.Decode(&answers); err != nil {
		return nil, err
	}
	if len(answers) != len(u.jobs) {
		return nil, fmt.Errorf("%d answers for %d runs", len(answers), len(u.jobs))
	}
	return answers, nil
}
