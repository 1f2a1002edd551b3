// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/journal"
)

// Slog is a Sink that writes every event as a record of log/slog.
type Slog struct {
	Handler slog.Handler
}

// Emit writes one record.
func (s *Slog) Emit(event Event) {
	level := levelOf(event)
	ctx := context.Background()
	if !s.Handler.Enabled(ctx, level) {
		return
	}
	record := slog.NewRecord(event.Time, level, message(event), 0)
	record.AddAttrs(attributes(event)...)
	_ = s.Handler.Handle(ctx, record) // a failing log does not stop a join
}

// Journal is a Sink that writes to the systemd journal: the message in readable form, its priority, and
// every attribute as a field.
//
//	journalctl -u hcp-node-agent STEP=identity
//	journalctl -u hcp-node-agent -p warning
type Journal struct {
	Level      slog.Level // events below it are not written
	Identifier string     // name of the program
	// Send is usually journal.Send.
	Send func(message string, priority journal.Priority, fields map[string]string) error
}

// Emit writes one entry. journalctl does not show fields, so the message has the step and the remedy.
func (j Journal) Emit(event Event) {
	level := levelOf(event)
	if level < j.Level {
		return
	}
	fields := map[string]string{"SYSLOG_IDENTIFIER": j.Identifier}
	for _, attr := range attributes(event) {
		fields[strings.ToUpper(attr.Key)] = attr.Value.String()
	}
	if !event.RetryAt.IsZero() {
		fields["NEXT"] = Timestamp(event.RetryAt)
	}
	text := message(event)
	if event.Step != "" && !strings.HasPrefix(text, event.Step) {
		text = event.Step + ": " + text
	}
	if note := event.Remedy.Note(); note != "" {
		text += "\n# " + strings.ReplaceAll(note, "\n", "\n# ")
	}
	if command := event.Remedy.Command(); command != "" {
		text += "\n" + command
	}
	priorities := map[slog.Level]journal.Priority{
		slog.LevelDebug: journal.PriDebug, slog.LevelInfo: journal.PriInfo,
		slog.LevelWarn: journal.PriWarning, slog.LevelError: journal.PriErr,
	}
	_ = j.Send(Escape(text), priorities[level], fields) // a failing log does not stop a join
}

// attributes returns the attributes of a record. In the journal they are fields, in capitals.
func attributes(event Event) []slog.Attr {
	attrs := []slog.Attr{slog.String("event", string(event.Kind))}
	for _, attr := range [][2]string{
		{"step", event.Step},
		{"remedy", event.Remedy.Command()},
		{"note", event.Remedy.Note()},
		{"change", event.Change},
		{"request_id", event.Request},
	} {
		if attr[1] != "" {
			attrs = append(attrs, slog.String(attr[0], attr[1]))
		}
	}
	if event.Elapsed > 0 {
		seconds := float64(event.Elapsed.Round(time.Millisecond).Milliseconds()) / 1000
		attrs = append(attrs, slog.Float64("seconds", seconds))
	}
	if !event.RetryAt.IsZero() {
		attrs = append(attrs, slog.Time("next", event.RetryAt))
	}
	return attrs
}

// message returns the message of an event, which is not empty.
func message(event Event) string {
	if event.Message == "" {
		return event.Step + " started"
	}
	return event.Message
}

// levelOf returns the level of an event. A wait that an administrator can end is a warning if it
// takes longer than a minute.
func levelOf(event Event) slog.Level {
	switch event.Kind {
	case Detail, StepStarted:
		return slog.LevelDebug
	case Warning:
		return slog.LevelWarn
	case StepFailed, CommandFailed:
		return slog.LevelError
	case Waiting:
		if event.Remedy != "" && event.Elapsed >= time.Minute {
			return slog.LevelWarn
		}
	}
	return slog.LevelInfo
}
