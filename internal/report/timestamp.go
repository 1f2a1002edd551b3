package report

import "time"

// Timestamp formats a time for messages: in UTC, to the second.
func Timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
