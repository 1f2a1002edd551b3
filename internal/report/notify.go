package report

import (
	"github.com/coreos/go-systemd/v22/daemon"
)

// Notify is a Sink that sets systemd's STATUS= to the running step and its awaited
// condition. It does nothing without a notification socket.
type Notify struct{}

// Emit sends the status of one event.
func (Notify) Emit(event Event) {
	status := ""
	switch event.Kind {
	case StepStarted:
		status = event.Step
	case Waiting, StepFailed:
		status = event.Step + ": " + event.Message
	case Headline, StepDone, StepSame, StepSkipped, Note, Warning, Detail, Ended:
		return
	}
	_, _ = daemon.SdNotify(false, "STATUS="+status) // a lost status is harmless
}
