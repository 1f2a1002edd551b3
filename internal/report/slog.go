package report

import (
	"context"
	"log/slog"
	"time"
)

// Names of record attributes. In the journal they are fields, in capitals.
const (
	AttrStep    = "step"
	AttrEvent   = "event"      // kind of the event
	AttrRemedy  = "remedy"     // commands of the remedy
	AttrNote    = "note"       // notes of the remedy
	AttrSeconds = "seconds"    // elapsed time of the step
	AttrNext    = "next"       // time of the next attempt
	AttrChange  = "change"     // KIND:TARGET of the changed object
	AttrRequest = "request_id" // certificate signing request
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
		message = event.Step + " begins"
	}
	record := slog.NewRecord(event.Time, level, message, 0)
	record.AddAttrs(slog.String(AttrEvent, string(event.Kind)))
	remedy := event.Remedy
	for _, attr := range [][2]string{{AttrStep, event.Step}, {AttrRemedy, remedy.Command()}, {AttrNote, remedy.Note()}, {AttrChange, event.Change}, {AttrRequest, event.Request}} {
		if attr[1] != "" {
			record.AddAttrs(slog.String(attr[0], attr[1]))
		}
	}
	if event.Elapsed > 0 {
		record.AddAttrs(slog.Float64(AttrSeconds, float64(event.Elapsed.Round(time.Millisecond).Milliseconds())/1000))
	}
	if !event.RetryAt.IsZero() {
		record.AddAttrs(slog.Time(AttrNext, event.RetryAt))
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
