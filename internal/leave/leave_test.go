// SPDX-License-Identifier: Apache-2.0

package leave

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestLeaveListsChangesNotRestored(t *testing.T) {
	root := t.TempDir()
	tree, err := hostfs.OpenTree(root)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	module := func(name string, there bool) ledger.Item {
		return ledger.Item{Change: ledger.Change{Kind: ledger.Module, Target: name}, Before: ledger.State{Present: there}}
	}
	storage := ledger.Item{Change: ledger.Change{Kind: crio.StorageKind, Target: "/var/lib/containers"}}
	hostname := ledger.Item{Change: ledger.Change{Kind: ledger.File, Target: hostnameUnit}}
	other := ledger.Item{Change: ledger.Change{Kind: ledger.File, Target: "/etc/a"}}
	f := &Flow{Machine: &machine.Machine{Tree: tree}}
	if texts := f.notRestored([]ledger.Item{other, module("bridge", true), storage}); texts != nil {
		t.Errorf("all was restored, and it says %q", texts)
	}
	if err := os.MkdirAll(filepath.Join(root, "var/lib/containers"), 0o750); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"images are kept in /var/lib/containers, which CRI-O shares with podman: " +
			"\"podman image prune --all\" removes unused images",
		"/etc/hostname keeps the host name that node-valid-hostname.service wrote at boot",
		"kernel modules remain loaded until the next boot: br_netfilter, overlay",
	}
	got := f.notRestored([]ledger.Item{
		module("br_netfilter", false), other, storage, hostname, module("bridge", true),
		module("overlay", false),
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLeaveStepsWithoutDrain(t *testing.T) {
	names := func(evict, purge bool) []string {
		var list []string
		for _, step := range leaveSteps(&Document{}, Options{Drain: evict, Purge: purge, RestoreImage: purge}, false) {
			if step.Description == "" || step.Run == nil {
				t.Errorf("step %s says or does nothing", step.Name)
			}
			list = append(list, step.Name)
		}
		return list
	}
	if diff := cmp.Diff([]string{"drain", "stop", "unmount", "undo"}, names(true, false)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"stop", "unmount", "undo"}, names(false, false)); diff != "" {
		t.Errorf("--no-drain (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"drain", "image", "stop", "images", "unmount", "undo", "packages"},
		names(true, true)); diff != "" {
		t.Errorf("--purge --restore-image (-want +got):\n%s", diff)
	}
}

func TestDrainFailureSuggestsNoDrain(t *testing.T) {
	cause := errors.New("a pod stays")
	const on = "hcp-node-agent leave --no-drain # continues without draining and terminates the pods"
	for name, test := range map[string]struct {
		err    error
		code   report.Code
		remedy report.Remedy
	}{
		"plain": {cause, report.Failed, on},
		"with a remedy": {
			report.Fail(report.CredentialRefused, "oc get pods", "%w", cause), report.CredentialRefused,
			"oc get pods\n" + on,
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := suggestNoDrain(test.err)
			if !errors.Is(err, cause) || report.CodeOf(err) != test.code || report.RemedyOf(err) != test.remedy {
				t.Errorf("%v, code %d, remedy %q", err, report.CodeOf(err), report.RemedyOf(err))
			}
		})
	}
}

// An interrupted leave must be reported as an interruption, not as a failure to
// repair.
func TestUndoFailureHasResumeCommand(t *testing.T) {
	failure := report.Fail(report.Failed, "umount /a", "a file system is mounted")
	if err := withResumeHint(t.Context(), failure); report.CodeOf(err) != report.Failed ||
		report.RemedyOf(err) != "umount /a\nhcp-node-agent leave # resumes the leave" {
		t.Errorf("%v => %s", err, report.RemedyOf(err))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := report.ExplainInterruption(ctx, withResumeHint(ctx, errors.Join(ctx.Err())))
	if report.CodeOf(err) != report.Interrupted {
		t.Errorf("code %d: %v", report.CodeOf(err), err)
	}
}
