// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPrintable(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	columns := []metav1.TableColumnDefinition{
		{Name: "Name"}, {Name: "Reason"}, {Name: "Certificate", Format: "date-time"}, {Name: "Addresses", Priority: 1},
	}
	reason := "kubelet " + strings.Repeat("x", 100)
	for name, test := range map[string]struct {
		isWide      bool
		cells, want []any
	}{
		"texts": {false, []any{"worker-1", "down", nil, int64(1)}, []any{"worker-1", "down", nil, int64(1)}},
		"future time": {
			false, []any{"a", "", now.Add(87*24*time.Hour + time.Minute).Format(time.RFC3339)}, []any{"a", "", "87d"},
		},
		"past time":    {false, []any{"a", "", "2026-11-27T11:59:59Z"}, []any{"a", "", "expired"}},
		"invalid time": {false, []any{"a", "", "tomorrow"}, []any{"a", "", "tomorrow"}},
		"time in a text": {
			false, []any{"a", "2026-11-27T11:59:59Z"}, []any{"a", "2026-11-27T11:59:59Z"},
		},
		"long text":         {false, []any{"a", reason}, []any{"a", reason[:60] + "…"}},
		"long text, wide":   {true, []any{"a", reason}, []any{"a", reason}},
		"list":              {true, []any{"a", "", nil, `["192.0.2.1","2001:db8::/64"]`}, []any{"a", "", nil, "192.0.2.1,2001:db8::/64"}},
		"more cells":        {false, []any{"a", "", nil, "", "2026-11-27T11:59:59Z"}, []any{"a", "", nil, "", "2026-11-27T11:59:59Z"}},
		"control sequences": {true, []any{"a", "\x1b[2Jx\r\ny\tz\u202e\u009b"}, []any{"a", "[2Jx  y z"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Table{Columns: columns, Rows: []Row{{Cells: test.cells}}}.Printable(now, test.isWide)
			if diff := cmp.Diff(test.want, got.Rows[0].Cells); diff != "" {
				t.Errorf("cells (-want +got):\n%s", diff)
			}
		})
	}
}

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
