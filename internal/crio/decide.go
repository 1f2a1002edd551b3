// SPDX-License-Identifier: Apache-2.0

package crio

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Desired returns the configuration of the payload's files. The administrator's pauseImage
// replaces the pause image of the payload if it is set.
func Desired(payload Config, pauseImage string) (Config, error) {
	if pauseImage != "" {
		payload.PauseImage = pauseImage
	}
	if payload.PauseImage == "" {
		return Config{}, report.Fail(report.Refused,
			"hcp-node-agent join --pause-image IMAGE # to find the release's image: oc adm release info "+
				"--image-for=pod",
			"the payload's CRI-O configuration contains no pause image")
	}
	return payload, nil
}

// Changes returns the changes that set CRI-O's pause image.
func Changes(wanted Config) []ledger.Change {
	return []ledger.Change{{
		Kind: ledger.File, Target: dropIn, Reason: "the release's pause image",
		Desired: ledger.FileState(render(wanted), 0o644),
	}}
}

// Verify compares the effective configuration of the running CRI-O with the desired
// configuration.
func Verify(effective, wanted Config) error {
	for _, field := range []struct{ name, is, want string }{
		{"pause_image", effective.PauseImage, wanted.PauseImage},
		{"pause_command", effective.PauseCommand, wanted.PauseCommand},
		{"network_dir", effective.NetworkDir, wanted.NetworkDir},
	} {
		if field.want != "" && field.is != field.want {
			return report.Fail(report.Failed,
				report.Remedy("grep -rn "+field.name+" /etc/crio # a file that is read after "+dropIn+
					" overrides it; remove the setting there"),
				"CRI-O runs with %s %q instead of %q", field.name, field.is, field.want)
		}
	}
	return nil
}
