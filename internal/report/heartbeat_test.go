// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/go-systemd/v22/journal"
	"github.com/google/go-cmp/cmp"
)

// A pipe shows each minute that a step still runs, and what it waits for. The remedy is printed once.
func TestHeartbeatInPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		heartbeat := &Heartbeat{Sink: &Lines{W: &out}, First: time.Minute, Interval: time.Minute}
		log := Log{Sink: heartbeat, Step: "client-certificate"}
		heartbeat.Emit(Event{Time: time.Now(), Kind: StepStarted, Step: "client-certificate"})
		time.Sleep(61 * time.Second)
		for range 125 { // each poll reports what is awaited
			log.Wait("waiting for approval of CSR x", "# on the hosted cluster:\noc adm certificate approve x")
			time.Sleep(time.Second)
		}
		heartbeat.Emit(Event{
			Time:    time.Now(),
			Kind:    StepDone,
			Step:    "client-certificate",
			Message: "approved",
			Elapsed: 186 * time.Second,
		})
		time.Sleep(time.Hour)
		heartbeat.Emit(Event{Time: time.Now(), Kind: StepStarted, Step: "kubelet"})
		heartbeat.Stop()
		time.Sleep(time.Hour)
		want := `2000-01-01T00:01:00Z client-certificate  waiting   waiting for the step to complete (1m0s)
2000-01-01T00:01:01Z client-certificate  waiting   waiting for approval of CSR x
2000-01-01T00:01:01Z client-certificate  remedy    # on the hosted cluster:
2000-01-01T00:01:01Z client-certificate  remedy    oc adm certificate approve x
2000-01-01T00:02:01Z client-certificate  waiting   waiting for approval of CSR x (1m0s)
2000-01-01T00:03:01Z client-certificate  waiting   waiting for approval of CSR x (2m0s)
2000-01-01T00:03:06Z client-certificate  ok        approved (3m6s)
`
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// In the journal, a wait that an administrator can end becomes a warning after a minute.
func TestHeartbeatInJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []journal.Priority
		send := func(_ string, priority journal.Priority, _ map[string]string) error {
			got = append(got, priority)
			return errors.New("a log that cannot be written is no reason to stop")
		}
		sink := Journal{Level: slog.LevelInfo, Send: send}
		heartbeat := &Heartbeat{Sink: sink, First: time.Minute, Interval: 10 * time.Minute}
		log := Log{Sink: heartbeat, Step: "client-certificate"}
		log.Wait("waiting for approval", "oc adm certificate approve x")
		time.Sleep(22 * time.Minute)
		log.Wait("waiting for the signer", "")
		time.Sleep(2 * time.Minute)
		heartbeat.Stop()
		want := []journal.Priority{
			journal.PriInfo, journal.PriWarning, journal.PriWarning, journal.PriWarning, journal.PriInfo, journal.PriInfo,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
