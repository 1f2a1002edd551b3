package vm

import (
	"bytes"
	"strings"
)

// Watcher receives the output of a command in the machine and signals when it contains a text.
type Watcher struct {
	// Said is closed when the output contains the text.
	Said chan struct{}

	text string
	all  bytes.Buffer
	seen bool
}

// NewWatcher returns a watcher for text.
func NewWatcher(text string) *Watcher { return &Watcher{Said: make(chan struct{}), text: text} }

// Write implements [io.Writer].
func (w *Watcher) Write(p []byte) (int, error) {
	n, err := w.all.Write(p)
	if !w.seen && strings.Contains(w.all.String(), w.text) {
		w.seen = true
		close(w.Said)
	}
	return n, err
}

// String returns the whole output. It must be called after the command has ended.
func (w *Watcher) String() string { return w.all.String() }
