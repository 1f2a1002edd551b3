// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

const disabledUnits = `{"ignition":{"version":"3.2.0"},"systemd":{"units":[
	{"name":"a.service","enabled":false,"contents":"[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"},
	{"name":"b.service","enabled":false},
	{"name":"c.service","enabled":true}]}}`

// imageWithUnit creates an image in which b.service is enabled.
func imageWithUnit(t *testing.T) string {
	t.Helper()
	root := CreateImage(t)
	for _, dir := range []string{"usr/lib/systemd/system", "etc/systemd/system/multi-user.target.wants"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil { //nolint:gosec // as in an image
			t.Fatal(err)
		}
	}
	const unit = "/usr/lib/systemd/system/b.service"
	err := errors.Join(
		os.WriteFile(root+unit, []byte("[Install]\nWantedBy=multi-user.target\n"), 0o640), //nolint:gosec // as in an image
		os.Symlink(unit, root+"/etc/systemd/system/multi-user.target.wants/b.service"),
		os.Chmod(root+"/etc/systemd/system/multi-user.target.wants", 0o750)) //nolint:gosec // a mode that no default has
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// systemctl disables an enabled unit; an undo restores its link and the directory
// of the link.
func TestApplyDisablesUnits(t *testing.T) {
	if !command.Exists("systemctl") || os.Geteuid() != 0 {
		t.Skip("needs systemctl, and root for the owner of unit files")
	}
	root := imageWithUnit(t)
	before := flowtest.ListTree(t, root)
	apply := func(want int) {
		document, err := Apply(t.Context(), Options{Payload: "-", Stdin: strings.NewReader(disabledUnits), Root: root})
		if err != nil || document.Changes != want {
			t.Fatalf("%d changes, want %d, error %v", document.Changes, want, err)
		}
	}
	i := openTestImage(t, root)
	payload, err := ignition.ReadConfig(t.Context(), []byte(disabledUnits), ignition.Fetcher{}, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := i.writeConfig(t.Context(), payload, report.Log{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, flowtest.ListTree(t, root)); diff == "" {
		t.Error("nothing was written")
	}
	if err := i.rollBack(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, flowtest.ListTree(t, root)); diff != "" {
		t.Errorf("after an undo (-before +after):\n%s", diff)
	}

	apply(5) // a.service, the link and its directory, the preset file and its directory
	got := strings.Join(flowtest.ListTree(t, root), "\n")
	if strings.Contains(got, ".wants") || !strings.Contains(got,
		"20-ignition.preset -rw-r--r-- disable b.service\nenable c.service\n") {
		t.Errorf("the tree after it:\n%s", got)
	}
	apply(0)
}

func TestApplyWithoutSystemctlChangesNothing(t *testing.T) {
	root := imageWithUnit(t)
	before := flowtest.ListTree(t, root)
	t.Setenv("PATH", t.TempDir())
	_, err := Apply(t.Context(), Options{Payload: "-", Stdin: strings.NewReader(disabledUnits), Root: root})
	if report.CodeOf(err) != report.Refused || report.RemedyOf(err) != "dnf install systemd" {
		t.Errorf("error %v, remedy %q", err, report.RemedyOf(err))
	}
	if diff := cmp.Diff(before, flowtest.ListTree(t, root)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

// awaitingSystemctl is logged while a systemctl that a killed apply started is running.
const awaitingSystemctl = "waiting for systemctl of an interrupted apply to exit"

// An apply waits for a systemctl that a killed apply left running, which holds a
// lock on the directory of the record.
func TestApplyWaitsForAnEarlierSystemctl(t *testing.T) {
	tree, err := hostfs.OpenTree(CreateImage(t))
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	held, err := tree.PrivateDir(rollbackDir)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(held.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	opened, recorded := make(chan error, 1), &reporttest.Recorder{}
	go func() {
		i, err := openImage(context.WithoutCancel(t.Context()), tree, recorded.Log())
		if err == nil {
			err = i.commit()
		}
		opened <- err
	}()
	waittest.UntilText(t, awaitingSystemctl, recorded.Text)
	select {
	case err := <-opened:
		t.Errorf("it has not waited: %v", err)
	default:
	}
	held.Close()
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

// An interrupt ends the wait for a systemctl that a killed apply left running.
func TestInterruptEndsTheWaitForAnEarlierSystemctl(t *testing.T) {
	tree, err := hostfs.OpenTree(CreateImage(t))
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	held, err := tree.PrivateDir(rollbackDir)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := unix.Flock(int(held.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	recorded := &reporttest.Recorder{}
	context.AfterFunc(recorded.DeadlineAt(t, awaitingSystemctl), interrupt)
	if _, err := openImage(ctx, tree, recorded.Log()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}
