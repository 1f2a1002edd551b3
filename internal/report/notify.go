// SPDX-License-Identifier: Apache-2.0

package report

import "github.com/coreos/go-systemd/v22/daemon"

// SystemdNotifier is a Sink that sets systemd's STATUS= to the running step and its awaited
// condition. It does nothing without a notification socket.
type SystemdNotifier struct{}

// Emit sends the status of one event.
func (n SystemdNotifier) Emit(event Event) {
	switch event.Kind {
	case StepStarted:
		n.Status(event.Step)
	case Waiting, StepFailed:
		n.Status(event.Step + ": " + event.Message)
	}
}

// Ready notifies systemd that the service has started, and sets its status.
func (SystemdNotifier) Ready(status string) {
	// A lost notification is harmless.
	_, _ = daemon.SdNotify(false, daemon.SdNotifyReady+"\nSTATUS="+status)
}

// Status sets the service's status in systemd. A lost status is harmless.
func (SystemdNotifier) Status(status string) {
	_, _ = daemon.SdNotify(false, "STATUS="+status)
}

// Watchdog resets systemd's watchdog and sets the service's status.
func (SystemdNotifier) Watchdog(status string) {
	// A lost notification is followed by the next one.
	_, _ = daemon.SdNotify(false, daemon.SdNotifyWatchdog+"\nSTATUS="+status)
}
