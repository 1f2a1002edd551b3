// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/hostclass"
)

func TestDropStaged(t *testing.T) {
	for name, test := range map[string]struct {
		status  Status
		want    string
		refusal string
	}{
		"nothing is staged": {status: Status{Rollback: imageOf(second)}},
		"it is staged":      {status: Status{Staged: imageOf(second)}, want: "rpm-ostree cleanup -p"},
		"another is staged": {
			status: Status{Staged: imageOf(third)}, refusal: "removing the staged deployment: another deployment is staged",
		},
	} {
		for _, class := range []hostclass.Class{hostclass.CoreOS, hostclass.Bootc} {
			test.status.Booted = *imageOf(first)
			programs := newPrograms(t, test.status, "", "bootc", "rpm-ostree")
			err := programs.host(t, class).DropStaged(t.Context(), second)
			if (err == nil) != (test.refusal == "") || err != nil && !strings.Contains(err.Error(), test.refusal) {
				t.Errorf("%s on %s: error %v, want %q", name, class, err, test.refusal)
			}
			if got := programs.commands(t); got != test.want {
				t.Errorf("%s on %s: commands %q, want %q", name, class, got, test.want)
			}
		}
	}
}

// rpm-ostree cleanup -p would remove the deployment of the queued rollback as well.
func TestDropStagedKeepsQueuedRollback(t *testing.T) {
	programs := newPrograms(t, Status{
		Booted: *imageOf(first), Staged: imageOf(second), Rollback: imageOf(third), RollbackQueued: true,
	}, "", "bootc", "rpm-ostree")
	err := programs.host(t, hostclass.Bootc).DropStaged(t.Context(), second)
	if err == nil || !strings.Contains(err.Error(), "a rollback is queued") || programs.commands(t) != "" {
		t.Errorf("error %v, commands %q", err, programs.commands(t))
	}
}

func TestRollback(t *testing.T) {
	for name, test := range map[string]struct {
		status  Status
		want    string // the program is the class's
		refusal string
	}{
		"previous image": {status: Status{Rollback: imageOf(first)}, want: "PROGRAM rollback"},
		"its own image is staged": {
			status: Status{Rollback: imageOf(first), Staged: imageOf(third)},
			want:   "rpm-ostree cleanup -p; PROGRAM rollback",
		},
		"another image is staged": {
			status:  Status{Rollback: imageOf(first), Staged: imageOf(second)},
			refusal: "removing the staged deployment: another deployment is staged",
		},
		"it is queued": {status: Status{Rollback: imageOf(first), RollbackQueued: true}},
		"no previous image": {
			refusal: "the host has no previous deployment, but must be rolled back to sha256:111111111111",
		},
		"another previous image": {
			status: Status{Rollback: imageOf(third)},
			refusal: "the host can be rolled back to " + repository + "@" + third + " sha256:333333333333, " +
				"but must be rolled back to sha256:111111111111",
		},
	} {
		for class, program := range map[hostclass.Class]string{hostclass.CoreOS: "rpm-ostree", hostclass.Bootc: "bootc"} {
			test.status.Booted = *imageOf(second)
			programs := newPrograms(t, test.status, "", "bootc", "rpm-ostree")
			err := programs.host(t, class).Rollback(t.Context(), first, third)
			if (err == nil) != (test.refusal == "") || err != nil && !strings.Contains(err.Error(), test.refusal) {
				t.Errorf("%s on %s: error %v, want %q", name, class, err, test.refusal)
			}
			if got, want := programs.commands(t), strings.ReplaceAll(test.want, "PROGRAM", program); got != want {
				t.Errorf("%s on %s: commands %q, want %q", name, class, got, want)
			}
		}
	}
}
