// SPDX-License-Identifier: Apache-2.0

package vm

import "testing"

func TestWatcher(t *testing.T) {
	w := NewWatcher("ready")
	matched := func() bool {
		select {
		case <-w.Seen:
			return true
		default:
			return false
		}
	}
	for _, step := range []struct {
		text string
		want bool
	}{{"not yet, re", false}, {"ady", true}, {" and ready again", true}} {
		if n, err := w.Write([]byte(step.text)); n != len(step.text) || err != nil {
			t.Fatalf("%q: %d, %v", step.text, n, err)
		}
		if matched() != step.want {
			t.Errorf("after %q: %t", w.String(), !step.want)
		}
	}
}
