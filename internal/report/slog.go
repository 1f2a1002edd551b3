// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"log/slog"
	"time"
)

// Names of record attributes. In the journal they are fields, in capitals.
const (
	attrStep    = "step"
	attrEvent   = "event"      // kind of the event
	attrRemedy  = "remedy"     // commands of the remedy
	attrNote    = "note"       // notes of the remedy
	attrSeconds = "seconds"    // elapsed time of the step
	attrNext    = "next"       // time of the next attempt
	attrChange  = "change"     // KIND:TARGET of the changed object
	attrRequest = "request_id" // certificate signing request
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
	record.AddAttrs(slog.String(attrEvent, string(event.Kind)))
	remedy := event.Remedy
	for _, attr := range [][2]string{
		{attrStep, event.Step},
		{attrRemedy, remedy.Command()},
		{attrNote, remedy.Note()},
		{attrChange, event.Change},
		{attrRequest, event.Request},
	} {
		if attr[1] != "" {
			record.AddAttrs(slog.String(attr[0], attr[1]))
		}
	}
	if event.Elapsed > 0 {
		record.AddAttrs(slog.Float64(attrSeconds, float64(event.Elapsed.Round(time.Millisecond).Milliseconds())/1000))
	}
	if !event.RetryAt.IsZero() {
		record.AddAttrs(slog.Time(attrNext, event.RetryAt))
	}
	_ = s.Handler.Handle(ctx, record) // a failing log does not stop a join
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
