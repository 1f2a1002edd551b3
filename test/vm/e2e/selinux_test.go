//go:build vm

package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// labelTree labels what a join touches, as an installation would have done: the
// image is made by a kernel without SELinux. What a running machine makes anew
// all the time is left out.
const labelTree = "restorecon -R -F /etc /usr/local /var/lib /root /opt /srv"

// labels prints the label of everything that a join could have changed;
// /etc/resolv.conf is NetworkManager's, which writes it anew.
const labels = `find /etc /opt /srv /usr/local /var/lib -xdev \
  \( -path /etc/openvswitch -o -path /var/lib/NetworkManager -o -path /var/lib/systemd -o -path /var/lib/hcp-node-agent \
     -o -path /var/lib/openvswitch -o -path /var/lib/dbus -o -path /etc/.pwd.lock -o -path /etc/resolv.conf \) -prune -o -printf '%p %Z\n' | sort`

// written are the paths in the ledger that are there; verify asks the policy
// about each of them.
const (
	written = `sed 's/^[0-9a-f]* //' /var/lib/hcp-node-agent/ledger.log |
  jq -r 'select(.entries) | .entries[] | select(.kind == "file" or .kind == "directory" or .kind == "link") | select(.want.present) | .target' | sort -u`
	verify = written + ` | xargs -d '\n' matchpathcon -V`
)

// Without the agent's own work a new file has the label of its directory: the
// policy has another one for many of them. Until kubelet only: the guest's policy
// does not know the types of containers, so that no pod can run.
func TestEveryPathHasThePolicysLabel(t *testing.T) {
	ctx := fresh(t)
	machine := stage.Machine
	must(t, machine.PowerOff(ctx))
	must(t, machine.BootSELinux(ctx, true))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // the test's own has ended
		defer cancel()
		must(t, machine.Kill(ctx))
		must(t, machine.BootSELinux(ctx, false))
		_, err := machine.WaitBoot(ctx)
		must(t, err)
	})
	_, err := machine.WaitBoot(ctx)
	must(t, err)
	mode, err := machine.Output(ctx, "getenforce; "+labelTree)
	must(t, err)
	if !strings.HasPrefix(mode, "Permissive") {
		t.Fatalf("SELinux is %s", mode)
	}
	before, err := machine.Output(ctx, labels)
	must(t, err)

	// With a restorecon that does nothing: the label has to be right before the
	// file has its name, or a program that starts in between reads it unlabelled.
	_, err = machine.Output(ctx, "mount --bind /bin/true $(command -v restorecon)")
	must(t, err)
	agent(ctx, t, report.Done, joining+" --until kubelet")
	paths, err := machine.Output(ctx, written)
	must(t, err)
	if n := len(strings.Fields(paths)); n < 80 {
		t.Fatalf("the ledger has only %d paths", n)
	}
	result, err := machine.Run(ctx, verify)
	must(t, err)
	for line := range strings.Lines(result.Stdout) {
		line = strings.TrimSpace(line)
		if !strings.HasSuffix(line, " verified.") && !strings.HasSuffix(line, "should be <<none>>") {
			t.Errorf("label: %s", line)
		}
	}
	agent(ctx, t, report.Done, "leave --no-drain")
	_, err = machine.Output(ctx, "umount $(command -v restorecon)")
	must(t, err)
	after, err := machine.Output(ctx, labels)
	must(t, err)
	if diff := cmp.Diff(strings.Split(before, "\n"), strings.Split(after, "\n")); diff != "" {
		t.Errorf("labels after leave (-before +now):\n%s", diff)
	}
}
