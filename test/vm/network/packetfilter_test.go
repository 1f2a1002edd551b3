// SPDX-License-Identifier: Apache-2.0

//go:build vm

package network

import (
	"context"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/uplink"
)

// siteRules accept SSH only on the uplink, and everything on the control channel of the tests.
const siteRules = `flush ruleset
table inet filter {
	chain input {
		type filter hook input priority 0; policy drop;
		iifname { "lo", "ctl0" } accept
		ct state established,related accept
		meta l4proto { icmp, ipv6-icmp } accept
		iifname "eth0" tcp dport 22 accept
		iifname "eth0" tcp dport 10250 accept
	}
}
`

// TestRulesOfUplinkOnly loads rules that accept new SSH connections only on eth0. The migration is refused before
// anything is changed. With the rules that the remedy adds, it succeeds, and a new connection from outside is accepted.
func TestRulesOfUplinkOnly(t *testing.T) {
	found, err := uplink.Find("static4")
	must(t, err)
	ctx, h := newHost(t, found[0])
	mustRun(ctx, t, "cat >/etc/nftables.conf <<'E'\n"+siteRules+"E\nnft -f /etc/nftables.conf")
	h.connectFromOutside(ctx, t)
	h.fullState, err = h.FullState(ctx, machine) // with the rules of the site
	must(t, err)

	const changes = "nft --stateless list ruleset; systemctl is-active openvswitch-switch openvswitch; " +
		"nmcli -g UUID,DEVICE,STATE connection; find /var/lib/hcp-node-agent -name 'ledger*'; true"
	before := mustRun(ctx, t, changes)
	remedy, message := refusedWith(ctx, t, migrationCommand+h.Flags)
	if !strings.Contains(message, "accepts new SSH connections") || strings.Count(remedy, "nft insert rule ") != 2 {
		t.Fatalf("the message is %q, the remedy\n%s", message, remedy)
	}
	if after := mustRun(ctx, t, changes); after != before {
		t.Fatalf("the refused migration has changed something:\n%s\nbefore:\n%s", after, before)
	}
	h.checkFullState(ctx, t, "after the refusal")

	t.Log(mustRun(ctx, t, remedy+"\nnft list ruleset"))
	runAgent(ctx, t, migrationCommand+h.Flags)
	h.checkState(ctx, t, "after the migration")
	h.connectFromOutside(ctx, t)
	runAgent(ctx, t, "leave --no-drain")
	h.checkFullState(ctx, t, "after leave")
	h.connectFromOutside(ctx, t)
}

// TestRulesLoadedDuringMigration loads rules for eth0 only while the migration runs: it must be rolled back.
func TestRulesLoadedDuringMigration(t *testing.T) {
	found, err := uplink.Find("static4")
	must(t, err)
	ctx, h := newHost(t, found[0])
	code := runDuring(ctx, t, h, criticalStep, func() {
		mustRun(ctx, t, "nft -f - <<'E'\n"+siteRules+"E")
	})
	if code != report.NetworkRolledBack {
		t.Errorf("exit code %d", code)
	}
	h.checkFullState(ctx, t, "after the rollback")
	h.connectFromOutside(ctx, t)
}

// connectFromOutside opens new TCP connections from the peer to sshd, at each address of the uplink.
func (h host) connectFromOutside(ctx context.Context, t *testing.T) {
	t.Helper()
	addresses, err := h.Addresses(ctx, machine)
	must(t, err)
	for _, address := range addresses {
		must(t, testLab.Connect(ctx, address, 22))
	}
}
