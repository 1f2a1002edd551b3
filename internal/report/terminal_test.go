// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func joinEvents() []Event {
	return []Event{
		{Kind: Headline, Message: "worker-7 joins NodePool clusters/demo-workers"},
		{Kind: StepStarted, Step: "preflight"},
		{Kind: Warning, Step: "preflight", Message: "swap is on", Remedy: "swapoff -a # until the next boot"},
		{Kind: StepDone, Step: "preflight", Message: "24 checks, 1 warning", Elapsed: 400 * time.Millisecond},
		{Kind: StepStarted, Step: "client-certificate"},
		{
			Kind:    Waiting,
			Step:    "client-certificate",
			Message: "waiting for approval",
			Remedy:  "oc adm certificate approve node-csr-x",
		},
		{
			Kind:    Waiting,
			Step:    "client-certificate",
			Message: "waiting for approval",
			Remedy:  "oc adm certificate approve node-csr-x",
		},
		{Kind: Detail, Step: "client-certificate", Message: "changed file /a", Change: "file:/a"},
		{Kind: Waiting, Step: "client-certificate", Message: "waiting for the signer"},
		{Kind: StepFailed, Step: "client-certificate", Message: "denied", Remedy: "# ask why"},
	}
}

func TestLinesHaveOneLinePerEvent(t *testing.T) {
	const quiet = `1970-01-01T00:00:00Z preflight           warning   swap is on
1970-01-01T00:00:00Z preflight           remedy    # until the next boot
1970-01-01T00:00:00Z preflight           remedy    swapoff -a
1970-01-01T00:00:00Z client-certificate  failed    denied
1970-01-01T00:00:00Z client-certificate  remedy    # ask why
`
	const normal = `1970-01-01T00:00:00Z                     headline  worker-7 joins NodePool clusters/demo-workers
1970-01-01T00:00:00Z preflight           warning   swap is on
1970-01-01T00:00:00Z preflight           remedy    # until the next boot
1970-01-01T00:00:00Z preflight           remedy    swapoff -a
1970-01-01T00:00:00Z preflight           ok        24 checks, 1 warning (0.4s)
1970-01-01T00:00:00Z client-certificate  waiting   waiting for approval
1970-01-01T00:00:00Z client-certificate  remedy    oc adm certificate approve node-csr-x
1970-01-01T00:00:00Z client-certificate  waiting   waiting for the signer
1970-01-01T00:00:00Z client-certificate  failed    denied
1970-01-01T00:00:00Z client-certificate  remedy    # ask why
`
	for level, want := range map[slog.Level]string{slog.LevelWarn: quiet, slog.LevelInfo: normal} {
		var out bytes.Buffer
		sink := &Heartbeat{Sink: &Lines{W: &out, Level: level}, First: time.Hour, Interval: time.Hour}
		for _, event := range joinEvents() {
			event.Time = time.Unix(0, 0)
			sink.Emit(event)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", level, diff)
		}
	}
}

func TestRecorderCollectsSteps(t *testing.T) {
	var recorder Recorder
	for _, event := range joinEvents() {
		recorder.Emit(event)
	}
	if len(recorder.Steps) != 2 || recorder.Steps[0].Result != StatusOK || len(recorder.Steps[0].Warnings) != 1 ||
		recorder.Steps[1].Result != StatusFailed || recorder.Steps[1].Remedy != "# ask why" {
		t.Errorf("recorded %+v", recorder)
	}
}

func TestCodeAndRemedyOfAnError(t *testing.T) {
	cause := errors.New("cause")
	failure := fmt.Errorf("joining: %w", Fail(CredentialRefused, "get a new user data", "fetching: %w", cause))
	if CodeOf(failure) != CredentialRefused || RemedyOf(failure) != "get a new user data" || !errors.Is(failure, cause) {
		t.Errorf("code %d, remedy %q", CodeOf(failure), RemedyOf(failure))
	}
	if CodeOf(cause) != Failed || CodeOf(nil) != Success || RemedyOf(cause) != "" {
		t.Error("plain errors are code 1 without a remedy, no error is code 0")
	}
}
