package host

// tail is a writer that keeps the last bytes of what is written to it.
type tail struct {
	most   int
	kept   []byte
	passed bool // something was let go
}

// Write takes all of it.
func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if len(t.kept) > 2*t.most { // not at every write: what is kept moves each time
		t.shrink()
	}
	return len(p), nil
}

func (t *tail) shrink() {
	if over := len(t.kept) - t.most; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
		t.passed = true
	}
}

// last gives what is kept, and whether there was more.
func (t *tail) last() ([]byte, bool) {
	t.shrink()
	return t.kept, t.passed
}
