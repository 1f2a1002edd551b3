// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func read(t *testing.T, cases string, names ...string) (*Result, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "junit.xml")
	content := `<testsuites><testsuite>` + cases + `</testsuite></testsuites>`
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	p := plan{run: names, skipped: map[string][]string{"no route": {"[sig-a] four [Conformance]"}}}
	return readReport(file, p, []string{"[sig-a]"})
}

func TestReport(t *testing.T) {
	result, err := read(t, `
<testcase name="[SynchronizedBeforeSuite]" status="passed" time="1"/>
<testcase name="[It] [sig-a] one [Conformance]" status="passed" time="61.2"/>
<testcase name="[It] [sig-a] two [Conformance]" status="failed" time="2"><failure type="failed">
[FAILED] no | response
more</failure></testcase>
<testcase name="[It] [sig-a] other" status="skipped" time="0"><skipped/></testcase>`,
		"[sig-a] one [Conformance]", "[sig-a] two [Conformance]", "[sig-a] three [Conformance]")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"[sig-a] three: was not run", "[sig-a] two: [FAILED] no | response"}; !slices.Equal(result.Failures(), want) {
		t.Errorf("failures are %q, want %q", result.Failures(), want)
	}
	text := result.Markdown()
	for _, want := range []string{
		"| sig-a | 4 | 3 | 1 | 2 | 1 | 0 |", "| [sig-a] one | passed | 1m1s |", `| failed: [FAILED] no \| response | 2s |`,
		"| [sig-a] four | no route |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the tables lack %q:\n%s", want, text)
		}
	}
}

func TestReportIsRefused(t *testing.T) {
	for cases, want := range map[string]string{
		`<testcase name="[BeforeSuite]" status="failed"><failure>no nodes</failure></testcase>`: "no nodes",
		`<testcase name="[It] [sig-a] two" status="passed"/>`:                                   "was not planned",
		`<testcase`: "decoding",
	} {
		if _, err := read(t, cases, "[sig-a] one"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", cases, err, want)
		}
	}
}
