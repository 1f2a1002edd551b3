// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"testing"
)

func TestRunTail(t *testing.T) {
	for text, want := range map[string]struct {
		kept string
		cut  bool
	}{
		"":              {"", false},
		"12345678":      {"12345678", false},
		"1234567890":    {"34567890", true},
		"a%0100dBCDEFG": {"00BCDEFG", true}, // more than is ever kept
	} {
		got, cut, err := RunTail(t.Context(), 8, "printf", text)
		if err != nil || string(got) != want.kept || cut != want.cut {
			t.Errorf("%q: %q, %t, %v", text, got, cut, err)
		}
	}
	var failed *Error
	if got, _, err := RunTail(t.Context(), 8, "sh", "-c", "echo said; exit 3"); !errors.As(err, &failed) ||
		failed.Code != 3 || string(got) != "said\n" {
		t.Errorf("a failure: %q, %v", got, err)
	}
}
