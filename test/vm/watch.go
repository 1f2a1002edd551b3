// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"bytes"
	"regexp"
)

// Watcher receives the output of a command in the machine and signals when it matches a regular
// expression.
type Watcher struct {
	// Seen is closed when the output matches.
	Seen chan struct{}

	pattern *regexp.Regexp
	output  bytes.Buffer
	closed  bool
}

// NewWatcher returns a watcher for text.
func NewWatcher(text string) *Watcher {
	return NewPatternWatcher(regexp.MustCompile(regexp.QuoteMeta(text)))
}

// NewPatternWatcher returns a watcher for a regular expression.
func NewPatternWatcher(pattern *regexp.Regexp) *Watcher {
	return &Watcher{Seen: make(chan struct{}), pattern: pattern}
}

// Write implements [io.Writer].
func (w *Watcher) Write(p []byte) (int, error) {
	n, err := w.output.Write(p)
	if !w.closed && w.pattern.Match(w.output.Bytes()) {
		w.closed = true
		close(w.Seen)
	}
	return n, err
}

// String returns the whole output. It must be called after the command has ended.
func (w *Watcher) String() string { return w.output.String() }
