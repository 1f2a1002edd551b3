// SPDX-License-Identifier: Apache-2.0

package report

import (
	"github.com/coreos/go-systemd/v22/daemon"
)

// SystemdNotifier is a Sink that sets systemd's STATUS= to the running step and its awaited
// condition. It does nothing without a notification socket.
type SystemdNotifier struct{}

// Emit sends the status of one event.
func (SystemdNotifier) Emit(event Event) {
	status := ""
	switch event.Kind {
	case StepStarted:
		status = event.Step
	case Waiting, StepFailed:
		status = event.Step + ": " + event.Message
	case Headline, StepDone, StepUnchanged, StepSkipped, Note, Warning, Detail, CommandFailed:
		return
	}
	_, _ = daemon.SdNotify(false, "STATUS="+status) // a lost status is harmless
}
