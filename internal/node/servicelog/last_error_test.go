// SPDX-License-Identifier: Apache-2.0

package servicelog

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseLastError(t *testing.T) {
	line := func(micros, message string) string {
		return `{"__REALTIME_TIMESTAMP":"` + micros + `","MESSAGE":` + message + `}` + "\n"
	}
	const klog = `"E0102 03:04:05.000000    1234 kubelet.go:1] \"Container runtime network not ready\""`
	for name, test := range map[string]struct {
		journal string
		want    *Error
	}{
		"nothing":  {"", nil},
		"no error": {line("1767323045000000", `"I0102 03:04:05.000000    1234 kubelet.go:1] \"fine\""`), nil},
		"the last": {
			line("1767323045000000", `"Error: an older one"`) + line("1767323046000000", klog) +
				line("1767323047000000", `"I0102 fine"`),
			&Error{Time: time.UnixMicro(1767323046000000).UTC(), Text: `"Container runtime network not ready"`},
		},
		"CRI-O, and no text": {
			line("1767323045000000", `"time=\"2026\" level=error msg=\"no\""`) + line("1767323046000000", `[1,2]`) +
				"torn {",
			&Error{Time: time.UnixMicro(1767323045000000).UTC(), Text: `time="2026" level=error msg="no"`},
		},
	} {
		if diff := cmp.Diff(test.want, parseLastError(test.journal)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
