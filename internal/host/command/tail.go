// SPDX-License-Identifier: Apache-2.0

package command

// tail is a writer that keeps the last bytes written to it.
type tail struct {
	limit     int
	kept      []byte
	truncated bool // earlier bytes were discarded
}

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if len(t.kept) > 2*t.limit { // not at every write, because shrinking copies the kept bytes
		t.shrink()
	}
	return len(p), nil
}

func (t *tail) shrink() {
	if over := len(t.kept) - t.limit; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
		t.truncated = true
	}
}

// bytes returns the kept bytes, and reports whether there were more.
func (t *tail) bytes() ([]byte, bool) {
	t.shrink()
	return t.kept, t.truncated
}
