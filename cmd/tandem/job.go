package main

import (
	"context"
	"io"
	"time"

	"github.com/tandem-gpu/tandem/cmd/tandem/internal/files"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/operation"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/screen"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/wait"
	"github.com/tandem-gpu/tandem/internal/clock"
	"github.com/tandem-gpu/tandem/internal/npy"
	"github.com/tandem-gpu/tandem/linalg"
	npyfiles "github.com/tandem-gpu/tandem/linalg/files"
)

// A job is what a command computes of files: where from, what, and where to.
type job struct {
	command string
	in      []string
	header  func(io.Reader) (*npy.Header, error) // that reads theirs
	out     []files.Target                       // the first of them -o
	prints  bool                                 // without -o it prints the elements, and no report
	op      operation.Operation
}

// compute is what all commands on matrices do: read, compute, write, report.
func (a *app) compute(ctx context.Context, j job) error {
	start := time.Now()
	if err := files.CheckInputs(j.in); err != nil {
		return err
	}
	if len(j.out) == 0 && j.prints {
		out := &files.Output{Writer: a.stdout, Stdout: true, Text: true}
		return a.deliver(start, files.Outputs{out}, &record{}, func(bar *screen.Progress) error {
			return a.inMemory(ctx, j, files.Outputs{out}, bar, &record{})
		})
	}
	if err := files.CheckTargets(j.out, 1); err != nil {
		return err
	}
	outs, err := files.CreateAll(ctx, j.out, a.stdout, a.fortran)
	if err != nil {
		return err
	}
	rec := &record{Command: j.command}
	return a.deliver(start, outs, rec, func(bar *screen.Progress) error {
		if done, err := a.inParts(ctx, j, outs[0], bar, rec); done || err != nil {
			return err
		}
		return a.inMemory(ctx, j, outs, bar, rec)
	})
}

// deliver has f write to outputs, commits them, and reports what took from start on.
func (a *app) deliver(start time.Time, outs files.Outputs, rec *record, f func(bar *screen.Progress) error) error {
	defer outs.Abort()
	bar := screen.NewProgress(a.stderr)
	defer bar.Close()
	if err := f(bar); err != nil {
		return err
	}
	if err := outs.Commit(); err != nil || outs[0].Text {
		return err
	}
	bar.Close()
	rec.TotalSeconds = time.Since(start).Seconds()
	return a.report(rec, outs.OnStdout())
}

// inMemory computes with all files in memory.
func (a *app) inMemory(ctx context.Context, j job, outs files.Outputs, bar *screen.Progress, rec *record) error {
	r := files.Reader{Stdin: a.stdin, Bar: bar, Header: j.header}
	in, err := r.LoadAll(ctx, j.in)
	if err != nil {
		return err
	}
	rec.Inputs = fileRecords(in)
	p, err := j.op(in)
	if err != nil {
		return err
	}
	var results []files.Result
	err = a.onDevice(ctx, bar, func(s *linalg.Session) (err error) {
		if err := files.FitsHost(p.Bytes); err != nil {
			return err
		}
		bar.Begin("computing on " + s.Info().Name)
		start := clock.Now()
		results, err = p.Compute(linalg.WithProgress(ctx, bar.At), s)
		rec.setTime(start, p.Flops, p.Bytes)
		rec.setDevices(s)
		return err
	})
	if err != nil {
		return err
	}
	return rec.putAll(ctx, outs, bar, results)
}

// inParts computes from files to a file, and tells whether it has: where that is possible, and all
// of them together are more than a quarter of what may be used of the host's memory.
func (a *app) inParts(ctx context.Context, j job, out *files.Output, bar *screen.Progress, rec *record,
) (done bool, err error) {
	limit, err := npyfiles.HostMemory()
	if err != nil || !out.InParts() {
		return false, err
	}
	r := files.Reader{Header: j.header}
	in := r.Leave(j.in)
	if in == nil {
		return false, nil
	}
	defer files.CloseAll(in)
	rec.Inputs = fileRecords(in)
	p, err := j.op(in)
	if err != nil || p.InParts == nil || p.Bytes <= float64(limit)/4 {
		return false, err
	}
	if err := out.Reserve(&p.Header); err != nil {
		return true, err
	}
	err = a.onDevice(ctx, bar, func(s *linalg.Session) error {
		bar.Begin("computing from files on " + s.Info().Name)
		start := clock.Now()
		o := npyfiles.Options{Memory: limit, Fortran: out.Fortran}
		err := p.InParts(linalg.WithProgress(ctx, bar.At), s, out, o)
		rec.setTime(start, p.Flops, p.Bytes)
		rec.setDevices(s)
		return err
	})
	if err != nil {
		return true, err
	}
	size, err := out.Size()
	rec.InParts = true
	rec.Outputs = []fileRecord{{out.Path, p.Header.Type.String(), p.Header.Shape, size}}
	return true, err
}

// onDevice opens the device and calls f, until ctx is done.
func (a *app) onDevice(ctx context.Context, bar *screen.Progress, f func(s *linalg.Session) error) error {
	bar.Begin("opening the device")
	_, err := wait.For(ctx, wait.Grace, func() (struct{}, error) {
		s, err := linalg.Open(a.backend)
		if err != nil {
			return struct{}{}, err
		}
		defer s.Close()
		return struct{}{}, f(s)
	})
	return err
}
