package ignitionserver

import "github.com/google/uuid"

// tokens are the two that a NodePool's token Secret holds. HyperShift rotates
// every 5.5 h: the current one becomes the old one, which stays good for one
// period more.
type tokens struct {
	current, old string
	generation   int
}

func newTokens() tokens { return tokens{current: uuid.NewString()} }

func (t *tokens) rotate() {
	t.old, t.current = t.current, uuid.NewString()
	t.generation++
}

// delete takes both away, as when the NodePool got another configuration and
// the grace of two hours is over.
func (t *tokens) delete() { t.current, t.old = "", "" }

func (t *tokens) good(token string) bool {
	return token != "" && (token == t.current || token == t.old)
}
