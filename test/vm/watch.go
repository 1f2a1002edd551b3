package vm

import (
	"bytes"
	"strings"
)

// Watcher receives the output of a command in the machine and signals when it contains a text.
type Watcher struct {
	// Seen is closed when the output contains the text.
	Seen chan struct{}

	text   string
	output bytes.Buffer
	closed bool
}

// NewWatcher returns a watcher for text.
func NewWatcher(text string) *Watcher { return &Watcher{Seen: make(chan struct{}), text: text} }

// Write implements [io.Writer].
func (w *Watcher) Write(p []byte) (int, error) {
	n, err := w.output.Write(p)
	if !w.closed && strings.Contains(w.output.String(), w.text) {
		w.closed = true
		close(w.Seen)
	}
	return n, err
}

// String returns the whole output. It must be called after the command has ended.
func (w *Watcher) String() string { return w.output.String() }
