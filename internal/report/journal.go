// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"log/slog"
	"maps"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/journal"
)

// Journal is a handler of log/slog that writes to the systemd journal: the message in readable
// form, its priority, and every attribute as a field.
//
//	journalctl -u hcp-node-agent STEP=identity
//	journalctl -u hcp-node-agent -p warning
type Journal struct {
	Level      slog.Level
	Identifier string // name of the program
	// Send is usually journal.Send.
	Send func(message string, priority journal.Priority, fields map[string]string) error

	fields map[string]string
}

// Enabled reports whether records of the level are written.
func (j Journal) Enabled(_ context.Context, level slog.Level) bool { return level >= j.Level }

// Handle writes one record.
func (j Journal) Handle(_ context.Context, record slog.Record) error {
	fields := map[string]string{"SYSLOG_IDENTIFIER": j.Identifier}
	maps.Copy(fields, j.fields)
	record.Attrs(func(attr slog.Attr) bool {
		fields[journalField(attr.Key)] = attrText(attr.Value)
		return true
	})
	return j.Send(Escape(journalMessage(record.Message, fields)), journalPriority(record.Level), fields)
}

// WithAttrs returns a handler that adds the attributes to every record.
func (j Journal) WithAttrs(attrs []slog.Attr) slog.Handler {
	fields := maps.Clone(j.fields)
	if fields == nil {
		fields = map[string]string{}
	}
	for _, attr := range attrs {
		fields[journalField(attr.Key)] = attrText(attr.Value)
	}
	j.fields = fields
	return j
}

// WithGroup returns the handler itself, because journal fields have no groups.
func (j Journal) WithGroup(string) slog.Handler { return j }

// journalMessage returns the message for journalctl, which does not show fields: prefixed with
// the step, and followed by the remedy.
func journalMessage(message string, fields map[string]string) string {
	if step := fields[journalField(attrStep)]; step != "" && !strings.HasPrefix(message, step) {
		message = step + ": " + message
	}
	if note := fields[journalField(attrNote)]; note != "" {
		message += "\n# " + strings.ReplaceAll(note, "\n", "\n# ")
	}
	if remedy := fields[journalField(attrRemedy)]; remedy != "" {
		message += "\n" + remedy
	}
	return message
}

// journalField returns the journal field name of an attribute: capitals, digits and underscores
// (systemd.journal-fields(7)).
func journalField(key string) string {
	return strings.TrimLeft(strings.Map(func(c rune) rune {
		if (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return '_'
		}
		return c
	}, strings.ToUpper(key)), "_")
}

func attrText(value slog.Value) string {
	if value.Kind() == slog.KindTime {
		return value.Time().UTC().Format(time.RFC3339)
	}
	return value.String()
}

func journalPriority(level slog.Level) journal.Priority {
	switch {
	case level >= slog.LevelError:
		return journal.PriErr
	case level >= slog.LevelWarn:
		return journal.PriWarning
	case level >= slog.LevelInfo:
		return journal.PriInfo
	}
	return journal.PriDebug
}
