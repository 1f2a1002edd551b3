package report

import (
	"github.com/coreos/go-systemd/v22/daemon"
)

// Ready tells systemd that a service has begun its work, and how it is.
func (Notify) Ready(status string) {
	_, _ = daemon.SdNotify(false, daemon.SdNotifyReady+"\nSTATUS="+status) // a state that is lost harms nothing
}

// Status tells systemd how a service is.
func (Notify) Status(status string) {
	_, _ = daemon.SdNotify(false, "STATUS="+status)
}

// Alive tells systemd that the service has not got stuck, and how things are.
func (Notify) Alive(status string) {
	_, _ = daemon.SdNotify(false, daemon.SdNotifyWatchdog+"\nSTATUS="+status) // a lost one is followed by the next
}
