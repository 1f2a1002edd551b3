// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/trace"
)

// Trace calls run, and writes a trace of it to a new file. It writes none if the name is empty. A failure to write is
// a warning: the host has changed nevertheless.
func Trace(
	ctx context.Context, name string, sink report.Sink, run func(context.Context, report.Sink) error,
) error {
	if name == "" {
		return run(ctx, sink)
	}
	file, err := hostfs.CreatePrivate(name)
	if err != nil {
		return report.Fail(report.Usage, "# name a new file", "--trace: %w", err)
	}
	recorder := trace.NewRecorder()
	ctx = recorder.Context(ctx)
	sink = report.Sinks{sink, &waits{recorder: recorder}}
	err = run(ctx, sink)
	if failed := errors.Join(recorder.Encode(file), file.Close()); failed != nil {
		report.Log{Sink: sink}.Warn("the trace could not be written: "+failed.Error(), "")
	}
	return err
}

// waits records how long each awaited condition takes.
type waits struct {
	recorder *trace.Recorder
	message  string
	end      func() // nil: nothing is awaited
}

// Emit records an event of the run.
func (w *waits) Emit(event report.Event) {
	if event.Kind == report.Waiting && w.end != nil && event.Message == w.message {
		return
	}
	if w.end != nil {
		w.end()
		w.end = nil
	}
	if event.Kind == report.Waiting {
		w.message, w.end = event.Message, w.recorder.Start(trace.Wait, event.Message)
	}
}
