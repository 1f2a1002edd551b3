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

	last Event // suppresses repeated waiting messages
}

// Emit writes one record.
func (s *Slog) Emit(event Event) {
	if event.Kind == Waiting && s.last.Kind == Waiting && s.last.Step == event.Step && s.last.Message == event.Message {
		return
	}
	s.last = event
	level := levelOf(event.Kind)
	ctx := context.Background()
	if !s.Handler.Enabled(ctx, level) {
		return
	}
	message := event.Message
	if message == "" {
		message = event.Step + " started"
	}
	record := slog.NewRecord(event.Time, level, message, 0)
	record.AddAttrs(slog.String(attrEvent, string(event.Kind)))
	remedy := event.Remedy
	for _, attr := range [][2]string{{attrStep, event.Step}, {attrRemedy, remedy.Command()}, {attrNote, remedy.Note()}, {attrChange, event.Change}, {attrRequest, event.Request}} {
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

func levelOf(kind EventKind) slog.Level {
	switch kind {
	case Detail:
		return slog.LevelDebug
	case Warning:
		return slog.LevelWarn
	case StepFailed, CommandFailed:
		return slog.LevelError
	}
	return slog.LevelInfo
}
