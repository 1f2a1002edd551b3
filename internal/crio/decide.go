package crio

import (
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Wanted is the configuration that the release and the administrator ask for:
// that of the payload's files, with the pause image that was given to the
// agent if one was.
func Wanted(payload Config, pauseImage string) (Config, error) {
	if pauseImage != "" {
		payload.PauseImage = pauseImage
	}
	if payload.PauseImage == "" {
		return Config{}, report.Fail(report.Refused,
			"hcp-node-agent join --pause-image IMAGE # oc adm release info --image-for=pod names the release's",
			"the payload's CRI-O configuration names no pause image")
	}
	return payload, nil
}

// Changes is what is to be written so that CRI-O takes the wanted pause image.
func Changes(wanted Config) []ledger.Change {
	return []ledger.Change{{
		Kind: ledger.File, Target: DropIn, Why: "the release's own pause image",
		Want: ledger.FileState(Render(wanted), 0o644),
	}}
}

// Action is what is to be done with the service.
type Action string

// The actions.
const (
	Nothing Action = "nothing"
	Start   Action = "start"
	Restart Action = "restart"
)

// Decide tells whether CRI-O is to be started or restarted: only if it does
// not run, or if one of its inputs is newer than its start. A restart is no
// light thing: kubelet.service requires crio.service and restarts with it.
func Decide(active bool, since, newestInput time.Time) Action {
	switch {
	case !active:
		return Start
	case newestInput.After(since):
		return Restart
	}
	return Nothing
}

// Verify compares what the running CRI-O says of itself with what is wanted.
func Verify(effective, wanted Config) error {
	for _, field := range []struct{ name, is, want string }{
		{"pause_image", effective.PauseImage, wanted.PauseImage},
		{"pause_command", effective.PauseCommand, wanted.PauseCommand},
		{"network_dir", effective.NetworkDir, wanted.NetworkDir},
	} {
		if field.want != "" && field.is != field.want {
			return report.Fail(report.Failed,
				"grep -rn "+field.name+" /etc/crio # a file that is read after "+DropIn+" wins; remove the setting there",
				"CRI-O runs with %s %q and should have %q", field.name, field.is, field.want)
		}
	}
	return nil
}
