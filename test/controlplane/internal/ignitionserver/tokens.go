// SPDX-License-Identifier: Apache-2.0

package ignitionserver

import "github.com/google/uuid"

// tokens are the two tokens of a NodePool's token Secret. HyperShift rotates them every 5.5 h:
// the current token becomes the old token, which is valid for one more period.
type tokens struct {
	current, old string
	generation   int
}

func newTokens() tokens { return tokens{current: uuid.NewString()} }

func (t *tokens) rotate() {
	t.old, t.current = t.current, uuid.NewString()
	t.generation++
}

// delete removes both tokens, as two hours after the NodePool received another configuration.
func (t *tokens) delete() { t.current, t.old = "", "" }

func (t *tokens) isValid(token string) bool {
	return token != "" && (token == t.current || token == t.old)
}
