// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// labelTree labels the files that a join changes, as an installation does. The image is built by
// a kernel without SELinux. Volatile files are omitted.
const labelTree = "restorecon -R -F /etc /usr/local /var/lib /root /opt /srv"

// labelScript prints the label of every file that a join can change, except /etc/resolv.conf, which
// NetworkManager rewrites.
const labelScript = `find /etc /opt /srv /usr/local /var/lib -xdev \
 \( -path /etc/openvswitch -o -path /var/lib/NetworkManager -o -path /var/lib/systemd -o -path /var/lib/hcp-node-agent \
     -o -path /var/lib/openvswitch -o -path /var/lib/dbus -o -path /etc/.pwd.lock -o -path '/etc/*-' -o -path /etc/resolv.conf \) -prune -o -printf '%p %Z\n' | sort`

// written prints the existing paths in the ledger; verify compares each label with the policy.
const (
	ledgerPathsScript = `sed 's/^[0-9a-f]* //' /var/lib/hcp-node-agent/ledger.log |
  jq -r 'select(.entries) | .entries[] | select(.kind == "file" or .kind == "directory" or .kind == "link") |
    select(.desired.present) | .target' | sort -u`
	verify = ledgerPathsScript + ` | xargs -d '\n' matchpathcon -V`
)

// bootSELinux boots the machine with SELinux in permissive mode and with kernel arguments. A cleanup
// boots it without SELinux.
func bootSELinux(ctx context.Context, t *testing.T, arguments ...string) {
	t.Helper()
	machine := environment.Machine
	must(t, machine.PowerOff(ctx))
	must(t, machine.BootSELinux(ctx, true, arguments...))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), waittest.Timeout) // the context of the test has ended
		defer cancel()
		must(t, machine.Kill(ctx))
		must(t, machine.BootSELinux(ctx, false))
		_, err := machine.WaitBoot(ctx)
		must(t, err)
	})
	_, err := machine.WaitBoot(ctx)
	must(t, err)
	if mode := mustOutput(ctx, t, "getenforce"); mode != "Permissive" {
		t.Fatalf("SELinux is %s", mode)
	}
}

// checkLabels checks the label of every path in the ledger.
func checkLabels(ctx context.Context, t *testing.T) {
	t.Helper()
	if n := len(strings.Fields(mustOutput(ctx, t, ledgerPathsScript))); n < 80 {
		t.Fatalf("the ledger has only %d paths", n)
	}
	result, err := environment.Machine.Run(ctx, verify)
	must(t, err)
	for line := range strings.Lines(result.Stdout) {
		line = strings.TrimSpace(line)
		if !strings.HasSuffix(line, " verified.") && !strings.HasSuffix(line, "should be <<none>>") {
			t.Errorf("label: %s", line)
		}
	}
}
