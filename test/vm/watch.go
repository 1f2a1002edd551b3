package vm

import (
	"bytes"
	"strings"
)

// Watcher takes what a command in the machine says and tells when a text was
// in it.
type Watcher struct {
	// Said is closed then.
	Said chan struct{}

	text string
	all  bytes.Buffer
	seen bool
}

// NewWatcher watches for text.
func NewWatcher(text string) *Watcher { return &Watcher{Said: make(chan struct{}), text: text} }

// Write takes more of what is said.
func (w *Watcher) Write(p []byte) (int, error) {
	n, err := w.all.Write(p)
	if !w.seen && strings.Contains(w.all.String(), w.text) {
		w.seen = true
		close(w.Said)
	}
	return n, err
}

// String is all that was said, once the command has ended.
func (w *Watcher) String() string { return w.all.String() }
