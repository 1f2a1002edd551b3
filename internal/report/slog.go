package report

import (
	"context"
	"log/slog"
	"time"
)

// Names of the attributes of records. In the journal they are fields, in
// capitals.
const (
	AttrStep    = "step"
	AttrEvent   = "event"      // the kind of event
	AttrRemedy  = "remedy"     // the next command to type
	AttrNote    = "note"       // what is to know about it, or to do instead
	AttrSeconds = "seconds"    // that the step took
	AttrNext    = "next"       // when it is tried again
	AttrChange  = "change"     // KIND:TARGET of what was changed
	AttrRequest = "request_id" // the certificate signing request
)

// Slog makes a record of log/slog of every event.
type Slog struct {
	Handler slog.Handler

	last Event // what is waited for is told once
}

// Emit makes one record.
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
	remedy := Remedy(event.Remedy)
	for _, attr := range [][2]string{{AttrStep, event.Step}, {AttrRemedy, remedy.Command()}, {AttrNote, remedy.Note()}, {AttrChange, event.Change}, {AttrRequest, event.Request}} {
		if attr[1] != "" {
			record.AddAttrs(slog.String(attr[0], attr[1]))
		}
	}
	if event.Elapsed > 0 {
		record.AddAttrs(slog.Float64(AttrSeconds, float64(event.Elapsed.Round(time.Millisecond).Milliseconds())/1000))
	}
	if !event.Next.IsZero() {
		record.AddAttrs(slog.Time(AttrNext, event.Next))
	}
	_ = s.Handler.Handle(ctx, record) // a log that cannot be written does not stop a join
}

func levelOf(kind Kind) slog.Level {
	switch kind {
	case Detail:
		return slog.LevelDebug
	case Warning:
		return slog.LevelWarn
	case StepFailed, Ended:
		return slog.LevelError
	}
	return slog.LevelInfo
}
