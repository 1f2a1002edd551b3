package report

import (
	"bytes"
	"errors"
	"fmt"
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
		{Kind: Waiting, Step: "client-certificate", Message: "waiting for approval", Remedy: "oc adm certificate approve node-csr-x"},
		{Kind: Waiting, Step: "client-certificate", Message: "waiting for approval", Remedy: "oc adm certificate approve node-csr-x"},
		{Kind: Detail, Step: "client-certificate", Message: "changed file /a", Change: "file:/a"},
		{Kind: Waiting, Step: "client-certificate", Message: "for the signer"},
		{Kind: StepFailed, Step: "client-certificate", Message: "denied", Remedy: "# ask why"},
	}
}

func TestTextInPipeIsOneLinePerEvent(t *testing.T) {
	var out bytes.Buffer
	face := &Text{W: &out}
	for _, event := range joinEvents() {
		face.Emit(event)
	}
	want := `worker-7 joins NodePool clusters/demo-workers

          warning           swap is on
# until the next boot
swapoff -a
  ok    preflight           24 checks, 1 warning                                    0.4s
  wait  client-certificate  waiting for approval
oc adm certificate approve node-csr-x
  wait  client-certificate  for the signer
  fail  client-certificate  denied
# ask why
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
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
