// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/journal"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// progressSink is a Sink for progress. Stop ends what it prints repeatedly.
type progressSink interface {
	report.Sink
	Stop()
}

// openProgress returns the sink for progress: a log if one is requested, else text.
func (p *Printer) openProgress() progressSink {
	level := slog.LevelInfo
	switch {
	case *p.quiet:
		level = slog.LevelWarn
	case *p.verbose > 0:
		level = slog.LevelDebug
	}
	stream := p.Out
	if !p.isText() {
		stream = p.Err
	}
	heartbeat := &report.Heartbeat{First: time.Minute, Interval: 10 * time.Minute}
	switch format := p.resolvedLogFormat(); {
	case format == "json":
		heartbeat.Sink = &report.Slog{Handler: slog.NewJSONHandler(p.Err, &slog.HandlerOptions{Level: level})}
	case format == "journal":
		heartbeat.Sink = report.Journal{Level: level, Identifier: p.Program.Name, Send: journal.Send}
	case isTerminal(stream) && os.Getenv("TERM") != "dumb" && !*p.quiet:
		return p.newTerminal(stream)
	default:
		heartbeat.Sink, heartbeat.Interval = &report.Lines{W: stream, Level: level}, time.Minute
	}
	return heartbeat
}

// resolvedLogFormat returns the requested format of the log: text, json or journal. The format of a
// service is journal if standard error is connected to it. The environment variable alone is not
// sufficient: a child of a service inherits it, even with other output.
func (p *Printer) resolvedLogFormat() string {
	if *p.logFormat != "auto" {
		return *p.logFormat
	}
	if connected, err := journal.StderrIsJournalStream(); err == nil && connected && journal.Enabled() {
		return "journal"
	}
	return "text"
}

// newTerminal returns the sink for progress on a terminal.
func (p *Printer) newTerminal(stream io.Writer) *report.Terminal {
	symbols := report.ASCII()
	if isUTF8() {
		symbols = report.Unicode()
	}
	return &report.Terminal{
		W:       stream,
		Symbols: symbols,
		Color:   p.hasColors(stream),
		Verbose: *p.verbose > 0,
		Size:    func() (width, height int) { return terminalSize(stream) },
	}
}
