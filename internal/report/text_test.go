// SPDX-License-Identifier: Apache-2.0

package report

import (
	"os/exec"
	"testing"
)

func TestShellWordIsSingleWord(t *testing.T) {
	for _, text := range []string{
		"", "/srv/root", "a b", "it's", "$(reboot)", "`id`", "a;b", "*", "~", "a\nb", `\`, "-n", "#x", "a&",
	} {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s,%s "+ShellWord(text)+" end").CombinedOutput()
		if err != nil || string(out) != text+",end" {
			t.Errorf("%q: the shell reads %q from %s (%v)", text, out, ShellWord(text), err)
		}
	}
}
