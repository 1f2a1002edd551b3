// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/coreos/go-systemd/v22/journal"
	"github.com/google/go-cmp/cmp"
)

func emitSamples(sink Sink) {
	log := Log{Sink: sink, Step: "client-certificate"}
	sink.Emit(Event{Kind: StepStarted, Step: "client-certificate"})
	log.ForRequest("csr-7").Wait("waiting for approval", "oc adm certificate approve csr-7\n# or wait")
	log.Changed("file", "/etc/a")
	log.Warn("the clock is wrong", "")
	sink.Emit(Event{Kind: StepDone, Step: "client-certificate", Message: "it exists", Elapsed: 1234567 * time.Microsecond})
	sink.Emit(Event{Kind: CommandFailed, Message: "join: no user data", Remedy: "join --user-data FILE"})
}

type journalEntry struct {
	message  string
	priority journal.Priority
	fields   map[string]string
}

func TestJournal(t *testing.T) {
	for level, details := range map[slog.Level]bool{slog.LevelInfo: false, slog.LevelDebug: true} {
		var got []journalEntry
		send := func(message string, priority journal.Priority, fields map[string]string) error {
			got = append(got, journalEntry{message, priority, fields})
			return errors.New("a log that cannot be written is no reason to stop")
		}
		emitSamples(Journal{Level: level, Identifier: "hcp-node-agent", Send: send})
		fields := func(pairs ...string) map[string]string {
			m := map[string]string{"SYSLOG_IDENTIFIER": "hcp-node-agent"}
			for i := 0; i < len(pairs); i += 2 {
				m[pairs[i]] = pairs[i+1]
			}
			return m
		}
		want := []journalEntry{
			{"client-certificate started", journal.PriDebug, fields("EVENT", "started", "STEP", "client-certificate")},
			{
				"client-certificate: waiting for approval\n# or wait\noc adm certificate approve csr-7", journal.PriInfo,
				fields("EVENT", "waiting", "STEP", "client-certificate", "REQUEST_ID", "csr-7", "REMEDY",
					"oc adm certificate approve csr-7", "NOTE", "or wait"),
			},
			{
				"client-certificate: changed file /etc/a", journal.PriDebug,
				fields("EVENT", "detail", "STEP", "client-certificate", "CHANGE", "file:/etc/a"),
			},
			{
				"client-certificate: the clock is wrong", journal.PriWarning,
				fields("EVENT", "warning", "STEP", "client-certificate"),
			},
			{
				"client-certificate: it exists", journal.PriInfo,
				fields("EVENT", "ok", "STEP", "client-certificate", "SECONDS", "1.235"),
			},
			{
				"join: no user data\njoin --user-data FILE", journal.PriErr,
				fields("EVENT", "error", "REMEDY", "join --user-data FILE"),
			},
		}
		if !details {
			want = append(want[1:2], want[3:]...)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(journalEntry{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", level, diff)
		}
	}
}

func TestJSONLog(t *testing.T) {
	var out bytes.Buffer
	handler := slog.NewJSONHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	emitSamples(&Slog{Handler: handler})
	want := `{"level":"INFO","msg":"waiting for approval","event":"waiting","step":"client-certificate",` +
		`"remedy":"oc adm certificate approve csr-7","note":"or wait","request_id":"csr-7"}
{"level":"WARN","msg":"the clock is wrong","event":"warning","step":"client-certificate"}
{"level":"INFO","msg":"it exists","event":"ok","step":"client-certificate","seconds":1.235}
{"level":"ERROR","msg":"join: no user data","event":"error","remedy":"join --user-data FILE"}
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
