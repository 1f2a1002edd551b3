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
	case Headline, StepDone, StepSame, StepSkipped, Note, Warning:
		return
	}
	_, _ = daemon.SdNotify(false, "STATUS="+status) // a status that is lost harms nothing
}

// Ready tells systemd that the service does its work now.
func Ready(status string) {
	_, _ = daemon.SdNotify(false, daemon.SdNotifyReady+"\nSTATUS="+status) // without systemd nobody waits for it
}

// Alive tells systemd that the service has not got stuck, and how things are.
func Alive(status string) {
	_, _ = daemon.SdNotify(false, daemon.SdNotifyWatchdog+"\nSTATUS="+status) // a lost one is followed by the next
}
