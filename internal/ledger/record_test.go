// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// goldenRecords returns one record of each type. testdata/v1alpha1.log contains them. An agent must roll back
// a host that an older version joined, so the file never changes without a new apiVersion.
func goldenRecords() []record {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	mode, root := uint32(0o640), 0
	return []record{
		{Type: header, Seq: 0, Time: at, Meta: metaOf("hcp-node-agent.io/v1alpha1")},
		{Type: intent, Seq: 1, Time: at, Step: "files", Entries: []entry{
			{
				Change: Change{
					Kind: File, Target: "/etc/a", Reason: "payload", Desired: FileState([]byte("secret"), 0o600),
					Overwrite: true,
				},
				Before: State{
					Present: true, Type: "file", Digest: digest([]byte("old")), Size: 3, Mode: &mode, UID: &root, GID: &root,
					Xattrs: map[string][]byte{"security.selinux": []byte("system_u:object_r:etc_t:s0\x00")},
				},
			},
			{Change: Change{Kind: Symlink, Target: "/etc/b", Desired: State{Present: true, Link: "/dev/null"}}},
			{Change: Change{Kind: Unit, Target: "crio.service", Desired: State{
				Present: true, Enabled: "enabled",
				Active: "active",
			}}, Before: State{Present: true, Enabled: "disabled", Active: "inactive"}},
			{
				Change: Change{Kind: Sysctl, Target: "vm.panic_on_oom", Desired: State{Present: true, Value: "0"}},
				Before: State{Present: true, Value: "1"},
			},
			{
				Change: Change{Kind: Contents, Target: "/var/lib/kubelet", Desired: State{Present: true}},
				Before: State{Present: true, Names: []string{"/var/lib/kubelet/a"}},
			},
			{
				Change: Change{Kind: "bridge", Target: "br-ex", Desired: State{Present: true}},
				Before: State{Data: []byte(`{"uplink":"eth0"}`)},
			},
		}},
		{Type: done, Seq: 2, Time: at, Intent: 1, After: []State{{Present: true, Value: "x"}}},
		{Type: undone, Seq: 3, Time: at, Key: "file:/etc/a"},
	}
}

func metaOf(apiVersion string) *report.TypeMeta {
	return &report.TypeMeta{APIVersion: apiVersion, Kind: "Ledger"}
}

func TestFileFormat(t *testing.T) {
	var log strings.Builder
	for _, r := range goldenRecords() {
		line, err := r.line()
		if err != nil {
			t.Fatal(err)
		}
		log.Write(line)
	}
	name := filepath.Join("testdata", "v1alpha1.log")
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(log.String(), "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
	if strings.Contains(log.String(), "secret") {
		t.Error("a content is in the log")
	}
}

func TestFileFormatRoundTrip(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("testdata", "v1alpha1.log"))
	if err != nil {
		t.Fatal(err)
	}
	records, good, err := parse(content)
	if err != nil || good != len(content) {
		t.Fatalf("%d of %d bytes, %v", good, len(content), err)
	}
	want := goldenRecords()
	want[1].Entries[0].Desired.Content = nil // never written
	if diff := cmp.Diff(want, records); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseDistinguishesTruncationFromDamage(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("testdata", "v1alpha1.log"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(content), "\n"), "\n")
	whole := string(content)
	newer, err := record{Type: header, Meta: metaOf("hcp-node-agent.io/v9")}.line()
	if err != nil {
		t.Fatal(err)
	}
	zeros := func(n int) string { return strings.Repeat("\x00", n) }
	flipped := func(line string) string { return strings.Replace(line, "2026", "2027", 1) }
	head, intended, finished, restored := lines[0], lines[1], lines[2], lines[3]
	next := func(r record, seq int) string {
		r.Seq = seq
		line, err := r.line()
		if err != nil {
			t.Fatal(err)
		}
		return string(line)
	}
	again, once := next(goldenRecords()[3], 4), next(goldenRecords()[3], 5)
	for name, test := range map[string]struct {
		log     string
		records int
		want    string // of the error
	}{
		"empty":                      {"", 0, ""},
		"last line without its end":  {strings.TrimSuffix(whole, "\n"), 3, ""},
		"last line cut short":        {whole[:len(whole)-9], 3, ""},
		"only half a header":         {whole[:20], 0, ""},
		"zeros for a header":         {zeros(len(head)), 0, ""},
		"zeros at the end":           {whole + zeros(3), 4, ""},
		"a page of zeros at the end": {whole + zeros(4096), 4, ""},
		"an intent cut short":        {head + intended[:len(intended)/2], 1, ""},
		"an intent with zeros in it": {head + intended[:50] + zeros(100) + intended[150:], 1, ""},
		"zeros for an intent":        {head + zeros(len(intended)), 1, ""},
		"zeros before an undone":     {whole + zeros(len(again)) + once, 4, ""},
		"zeros in an undone before others": {
			head + intended + finished + restored[:40] + zeros(len(restored)-40) + again + once, 3, "",
		},
		"an undone cut short before zeros":    {whole + again[:30] + zeros(500), 4, ""},
		"a done with a bad byte":              {head + intended + flipped(finished), 2, ""},
		"an undone with a bad byte":           {whole + flipped(again) + once, 4, ""},
		"the last intent has a bad byte":      {head + flipped(intended), 0, "checksum mismatch"},
		"a header with a bad byte, alone":     {flipped(head), 0, "checksum mismatch"},
		"a header with a bad byte":            {flipped(head) + intended, 0, "checksum mismatch"},
		"nothing but zeros":                   {zeros(4096), 0, "checksum mismatch"},
		"nothing but a part of an intent":     {intended[:len(intended)-1], 0, "record is incomplete"},
		"zeros for a header before an intent": {zeros(len(head)) + intended, 0, "checksum mismatch"},
		"zeros before a done":                 {head + zeros(len(intended)) + finished, 0, "checksum mismatch"},
		"a bad undone before a done": {
			head + flipped(next(goldenRecords()[3], 1)) + next(goldenRecords()[2], 2), 0,
			"checksum mismatch",
		},
		"damage before the end":       {strings.Replace(whole, "/etc/b", "/etc/c", 1), 0, "checksum mismatch"},
		"a line is missing":           {head + strings.Join(lines[2:], ""), 0, "found record 2 instead of 1"},
		"a line occurs twice":         {head + head + intended, 0, "found record 0 instead of 1"},
		"written by a newer version":  {string(newer), 0, "hcp-node-agent.io/v9 Kind:Ledger} is not supported"},
		"a record of an unknown type": {whole + next(record{Type: "moved"}, 4), 0, `record type "moved" is not supported`},
		"a record with an unknown field": {
			whole + unknownField(t, `{"type":"done","seq":4,"intent":1,"future":true}`), 0,
			`unknown field "future"`,
		},
		"newer, and cut short": {string(newer) + "12345", 0, "hcp-node-agent.io/v9 Kind:Ledger} is not supported"},
	} {
		t.Run(name, func(t *testing.T) {
			records, good, err := parse([]byte(test.log))
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("error %v, want %q", err, test.want)
				}
				return
			}
			if err != nil || len(records) != test.records {
				t.Fatalf("%d records, %v", len(records), err)
			}
			if again, _, err := parse([]byte(test.log)[:good]); err != nil || len(again) != test.records {
				t.Errorf("what is left after the cut: %d records, %v", len(again), err)
			}
		})
	}
}

// unknownField returns the line of a record that a newer version of the agent has written.
func unknownField(t *testing.T, body string) string {
	t.Helper()
	return fmt.Sprintf("%08x %s\n", crc32.Checksum([]byte(body), castagnoli), body)
}

// A ledger of another version is refused with the remedy, and its file remains unchanged.
func TestForeignLedgerIsRefused(t *testing.T) {
	own, err := goldenRecords()[0].line()
	must(t, err)
	newer, err := record{Type: header, Meta: metaOf("hcp-node-agent.io/v9")}.line()
	must(t, err)
	for name, content := range map[string]string{
		"version": string(newer),
		"field":   string(own) + unknownField(t, `{"type":"undone","seq":1,"key":"file:/etc/a","future":true}`),
	} {
		dir := t.TempDir()
		log := filepath.Join(dir, logName)
		must(t, os.WriteFile(log, []byte(content), 0o600))
		_, errWrite := Open(dir, Drivers{})
		_, errRead := OpenReadOnly(dir, Drivers{})
		for _, err := range []error{errWrite, errRead} {
			if report.CodeOf(err) != report.Refused || !strings.Contains(string(report.RemedyOf(err)),
				"dnf upgrade 'hcp-node-*'") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if now, err := os.ReadFile(log); err != nil || string(now) != content {
			t.Errorf("%s: the file is now %q, %v", name, now, err)
		}
	}
}
