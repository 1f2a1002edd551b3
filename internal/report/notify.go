package report

import (
	"github.com/coreos/go-systemd/v22/daemon"
)

// Notify tells systemd's STATUS= which step runs and what it waits for. It
// does nothing where there is no notification socket.
type Notify struct{}

// Emit tells one event.
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
	_, _ = daemon.SdNotify(false, "STATUS="+status) // a status that is lost harms nothing
}
