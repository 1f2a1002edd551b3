package migrate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
)

// What guards a move when the agent dies: NetworkManager's checkpoint goes
// back by itself when its time is over, except that between plugging the NIC
// into the bridge and giving it to its new profile NetworkManager sees no
// change, and the NIC stays in a bridge that leads nowhere; and except that it
// dies with NetworkManager. So a timer of systemd fires a little later, and a
// unit runs at the next boot before NetworkManager. Both are plain commands of
// packages that must be there anyway, not the agent's own program, which can
// have been replaced or removed meanwhile. Both do nothing once the journal is
// gone.
const (
	rollbackUnit = "hcp-node-agent-network-guard"
	bootUnitPath = "/etc/systemd/system/hcp-node-agent-network-boot-guard.service"
	bootUnitLink = "/etc/systemd/system/multi-user.target.wants/hcp-node-agent-network-boot-guard.service"

	// rollbackDelay is how long after the checkpoint's end the timer fires: time
	// for NetworkManager's own way back, which takes about a second.
	rollbackDelay = 5 * time.Second
)

// startRollbackTimer starts the timer. The program that it runs must not contain a
// dollar sign, which systemd would expand, nor a semicolon: systemd keeps it as
// a backslash and a semicolon, and reads it so after a daemon-reload (252).
func startRollbackTimer(ctx context.Context, after time.Duration, journalPath string, o ovs.Backup) error {
	_, err := host.Run(ctx, "systemd-run", "--quiet", "--collect", "--unit="+rollbackUnit,
		"--description=Give the network back if hcp-node-agent died while it made br-ex",
		fmt.Sprintf("--on-active=%ds", int(after.Seconds())), "--timer-property=AccuracySec=500ms",
		"/bin/sh", "-c", rollbackScript(journalPath, o))
	if err != nil {
		return fmt.Errorf("arming the timer that gives the network back: %w", err)
	}
	return nil
}

// rollbackScript gives the original profile the NIC back on a running machine.
// The bridge goes first: as long as the NIC is in it nothing is received.
func rollbackScript(journalPath string, o ovs.Backup) string {
	lines := []string{
		fmt.Sprintf("[ -e '%s' ] || exit 0", journalPath),
		// A switch that does not run is started, but not before the NIC is out
		// of its database, and out of the kernel's hands.
		"ovs-appctl --timeout=5 --target=ovs-vswitchd version >/dev/null 2>&1 || {",
		"systemctl start ovsdb-server.service",
		"ovs-vsctl --no-wait --timeout=10 --if-exists del-br " + ovs.BridgeName,
		fmt.Sprintf("ovs-dpctl del-if system@ovs-system '%s' 2>/dev/null", o.Uplink),
		"ovs-dpctl del-if system@ovs-system " + ovs.BridgeName + " 2>/dev/null",
		"systemctl start openvswitch.service ovs-vswitchd.service",
		"}",
		"ovs-vsctl --timeout=10 --if-exists del-br " + ovs.BridgeName,
	}
	for _, name := range slices.Sorted(maps.Keys(o.OwnUUIDs)) {
		lines = append(lines, "nmcli --wait 20 connection delete uuid "+o.OwnUUIDs[name]+" 2>/dev/null") // mostly gone already
	}
	lines = append(lines,
		fmt.Sprintf("nmcli -g GENERAL.CON-UUID device show '%s' | grep -qx %s || nmcli --wait 60 connection up uuid %s ifname '%s' || nmcli --wait 60 device connect '%s' || exit 1",
			o.Uplink, o.UUID, o.UUID, o.Uplink, o.Uplink))
	for _, m := range o.Members { // going back, NetworkManager lets them go
		lines = append(lines, fmt.Sprintf("nmcli -g GENERAL.CON-UUID device show '%s' | grep -qx %s || nmcli --wait 20 connection up uuid %s ifname '%s'",
			m.Name, m.UUID, m.UUID, m.Name))
	}
	if o.InPlace { // it may have its profile, and nothing but that
		lines = append(lines, fmt.Sprintf("ip -o address show dev '%s' scope global | grep -q . || nmcli --wait 60 device reapply '%s' || exit 1", o.Uplink, o.Uplink))
	}
	lines = append(lines,
		fmt.Sprintf("rm -f '%s' '%s' '%s'", journalPath, bootUnitLink, bootUnitPath))
	return strings.Join(lines, "\n")
}

// bootRollbackUnit gives the NIC back before NetworkManager has seen anything: the
// bridge leaves the database (which outlives a reboot) before the switch
// takes the NIC, and profiles that were already saved leave the disk: those
// with our UUIDs, and those of our names that the power cut has left empty.
func bootRollbackUnit(journalPath string, o ovs.Backup) string {
	patterns, empty := "", ""
	for _, name := range slices.Sorted(maps.Keys(o.OwnUUIDs)) {
		patterns += " -e " + o.OwnUUIDs[name]
		for _, file := range []string{name + ".nmconnection", name + "-" + o.OwnUUIDs[name] + ".nmconnection", "ifcfg-" + name} {
			empty += "find " + ovs.ProfileDirectories + " -name " + file + " -empty -delete 2>/dev/null; "
		}
	}
	return `# Written by hcp-node-agent before it changes the network, removed when the change is verified.
[Unit]
Description=Undo a change of the network that hcp-node-agent has not finished
ConditionPathExists=` + journalPath + `
RequiresMountsFor=` + journalPath + `
# The database has to be there even where Open vSwitch is not enabled.
Wants=ovsdb-server.service
After=ovsdb-server.service
Before=ovs-vswitchd.service NetworkManager.service

[Service]
Type=oneshot
ExecStart=/bin/sh -c 'ovs-vsctl --no-wait --timeout=10 --if-exists del-br ` + ovs.BridgeName + `'
ExecStart=-/bin/sh -c 'grep -rlZsF` + patterns + ` ` + ovs.ProfileDirectories + ` | xargs -0 -r rm -f --'
ExecStart=-/bin/sh -c '` + empty + `'
ExecStart=/bin/rm -f ` + journalPath + ` ` + bootUnitLink + ` ` + bootUnitPath + `
`
}
