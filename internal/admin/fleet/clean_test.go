// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"strings"
	"testing"
)

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		"näher":                         "näher",
		"abcdef":                        "abcde…",
		"ääääää":                        "äääää…",
		strings.Repeat("a", 256<<10):    "aaaaa…",
		strings.Repeat("\x1b", 30):      "",
		"\xff\xfea":                     "a",
		"a\nb":                          "a b",
		strings.Repeat("ä", 12)[:23]:    "äääää…",
		"\x1b]0;x\x07":                  "]0;x",
		strings.Repeat("\U0001f600", 9): strings.Repeat("\U0001f600", 5) + "…",
	} {
		if got := Clean(text, 5); got != want {
			t.Errorf("Clean(%.40q) = %q, want %q", text, got, want)
		}
	}
}
