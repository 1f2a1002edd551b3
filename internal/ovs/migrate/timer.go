// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// Safeguards for a migration whose run is terminated.
//
// NetworkManager rolls its checkpoint back when its timeout expires, with two
// exceptions. Between the attachment of the NIC to the bridge and the
// activation of its new profile NetworkManager sees no change, and the NIC
// remains in a bridge without connectivity. And a checkpoint is lost when
// NetworkManager terminates.
//
// Therefore a systemd timer expires a little later, and a unit runs at the next
// boot before NetworkManager. Both run plain commands of packages that are
// required anyway, not the agent's binary, which may have been replaced or
// removed. Both do nothing once the pending file is removed.
const (
	rollbackUnit = "hcp-node-agent-network-rollback"
	bootUnitPath = "/etc/systemd/system/" + ovs.BootRollbackUnit
	bootUnitLink = "/etc/systemd/system/multi-user.target.wants/" + ovs.BootRollbackUnit

	// rollbackDelay is the time between the checkpoint's timeout and the timer:
	// enough for NetworkManager's own rollback, which takes about a second.
	rollbackDelay = 5 * time.Second
)

// startRollbackTimer starts the timer. The script must not contain a dollar
// sign, which systemd would expand, nor a semicolon: systemd stores it as a
// backslash and a semicolon, and reads it back that way after a daemon-reload
// (252).
func startRollbackTimer(ctx context.Context, after time.Duration, journalPath string, backup ovs.Backup) error {
	_, err := command.Run(ctx, "systemd-run", "--quiet", "--collect", "--unit="+rollbackUnit,
		"--description=Roll back an unfinished migration to br-ex by hcp-node-agent",
		fmt.Sprintf("--on-active=%ds", int(after.Seconds())), "--timer-property=AccuracySec=500ms",
		"/bin/sh", "-c", rollbackScript(journalPath, backup))
	return wrap.Errorf(err, "starting the rollback timer")
}

// rollbackScript returns the script that restores the original profile of the
// NIC on a running host. It removes the bridge first: as long as the NIC is in
// it, the host receives nothing.
func rollbackScript(journalPath string, backup ovs.Backup) string {
	lines := []string{
		fmt.Sprintf("[ -e '%s' ] || exit 0", journalPath),
		// A stopped switch is started, but not before the NIC is removed from its
		// database and from the kernel's datapath.
		"ovs-appctl --timeout=5 --target=ovs-vswitchd version >/dev/null 2>&1 || {",
		"systemctl start ovsdb-server.service",
		"ovs-vsctl --no-wait --timeout=10 --if-exists del-br " + ovs.BridgeName,
		fmt.Sprintf("ovs-dpctl del-if system@ovs-system '%s' 2>/dev/null", backup.Uplink),
		"ovs-dpctl del-if system@ovs-system " + ovs.BridgeName + " 2>/dev/null",
		"systemctl start openvswitch.service ovs-vswitchd.service",
		"}",
		"ovs-vsctl --timeout=10 --if-exists del-br " + ovs.BridgeName,
	}
	for _, name := range slices.Sorted(maps.Keys(backup.ProfileUUIDs)) { // often deleted already
		lines = append(lines, "nmcli --wait 20 connection delete uuid "+backup.ProfileUUIDs[name]+" 2>/dev/null")
	}
	const isActive = "nmcli -g GENERAL.CON-UUID device show '%s' | grep -qx %s"
	lines = append(lines, fmt.Sprintf(isActive+" || nmcli --wait 60 connection up uuid %s ifname '%s' || "+
		"nmcli --wait 60 device connect '%s' || exit 1",
		backup.Uplink, backup.UUID, backup.UUID, backup.Uplink, backup.Uplink))
	for _, m := range backup.Members { // NetworkManager detaches them when it rolls back
		lines = append(lines, fmt.Sprintf(isActive+" || nmcli --wait 20 connection up uuid %s ifname '%s'",
			m.Name, m.UUID, m.UUID, m.Name))
	}
	if backup.KeepsProfile { // its profile may be active without addresses
		lines = append(lines, fmt.Sprintf("ip -o address show dev '%s' scope global | grep -q . || "+
			"nmcli --wait 60 device reapply '%s' || exit 1", backup.Uplink, backup.Uplink))
	}
	lines = append(lines,
		fmt.Sprintf("rm -f '%s' '%s' '%s'", journalPath, bootUnitLink, bootUnitPath))
	return strings.Join(lines, "\n")
}

// bootRollbackUnit returns the unit that restores the NIC at boot, before
// NetworkManager starts. It removes the bridge from the database, which
// survives a reboot, before the switch attaches the NIC. It deletes profiles
// that were already saved: those with the agent's UUIDs, and those with the
// agent's names that a power loss has left empty. On a busy host at boot,
// ovs-vsctl can take ten seconds. If it did not finish, the switch would attach
// the NIC, and the host would have no network until the next run.
func bootRollbackUnit(journalPath string, backup ovs.Backup) string {
	patterns, empty := "", ""
	for _, name := range slices.Sorted(maps.Keys(backup.ProfileUUIDs)) {
		patterns += " -e " + backup.ProfileUUIDs[name]
		keyfiles := []string{name + ".nmconnection", name + "-" + backup.ProfileUUIDs[name] + ".nmconnection"}
		for _, file := range append(keyfiles, "ifcfg-"+name) {
			empty += "find " + ovs.ProfileDirectories + " -name " + file + " -empty -delete 2>/dev/null; "
		}
	}
	return `# Written by hcp-node-agent before a network change. Removed when the change is verified.
[Unit]
Description=Roll back an unfinished network change of hcp-node-agent
ConditionPathExists=` + journalPath + `
RequiresMountsFor=` + journalPath + `
# The script requires the database, even if Open vSwitch is not enabled.
Wants=ovsdb-server.service
After=ovsdb-server.service
Before=ovs-vswitchd.service NetworkManager.service

[Service]
Type=oneshot
ExecStart=/bin/sh -c 'ovs-vsctl --no-wait --timeout=30 --if-exists del-br ` + ovs.BridgeName + `'
ExecStart=-/bin/sh -c 'grep -rlZsF` + patterns + ` ` + ovs.ProfileDirectories + ` | xargs -0 -r rm -f --'
ExecStart=-/bin/sh -c '` + empty + `'
ExecStart=/bin/rm -f ` + journalPath + ` ` + bootUnitLink + ` ` + bootUnitPath + `
`
}
