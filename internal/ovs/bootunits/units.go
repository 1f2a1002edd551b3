// SPDX-License-Identifier: Apache-2.0

package bootunits

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/nodeip"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
)

const (
	// NodeIPUnit determines the node's address again at every boot.
	NodeIPUnit = "hcp-node-agent-node-ip.service"

	unitDir        = "/etc/systemd/system/"
	ovnRemoteUnit  = "hcp-node-agent-ovn-remote.service"
	uplinkNameUnit = "hcp-node-agent-uplink-name.service"
)

// Changes returns the changes that install the units which must run at every
// boot of a host whose uplink is in br-ex: the unit files, and then their enablement.
//
// An enabled ovs-configuration.service of the payload clears ovn-remote itself,
// either unmodified or with the drop-in that package ignition adds. On other
// hosts a unit of the agent clears it.
func Changes(payloadClears bool) (files, enable []ledger.Change) {
	add := func(name, reason, content string) {
		files = append(files, ledger.FileChange(unitDir+name, reason, content))
		enable = append(enable, ledger.Change{
			Kind:    ledger.Unit,
			Target:  name,
			Reason:  reason,
			Desired: ledger.State{Present: true, Enabled: "enabled"},
		})
	}
	add(NodeIPUnit, "a DHCP server can assign another address at the next boot", nodeIPUnitFile())
	add(uplinkNameUnit, "the uplink can be renamed at the next boot", uplinkNameUnitFile())
	if !payloadClears {
		add(ovnRemoteUnit, "ovn-controller must not connect to a database from before the boot", ovnRemoteUnitFile())
	}
	return files, enable
}

// unitFile returns a unit that runs a command once per boot. The properties belong to the section
// [Unit].
func unitFile(description, properties, command string) string {
	return `# Written by hcp-node-agent. Removed by "hcp-node-agent leave".
[Unit]
Description=` + description + `
Documentation=https://github.com/hcp-node-agent/hcp-node-agent
` + properties + `
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=` + command + `
TimeoutStartSec=60s

[Install]
WantedBy=multi-user.target
`
}

// nodeIPUnitFile returns a unit with the ordering of
// nodeip-configuration.service, and before the units that wait for its files.
// It is not ordered after network-online.target, because
// wait-for-primary-ip.service is part of that target. Other units are ordered
// after this unit but do not require it: if it fails, kubelet starts with its
// previous address.
func nodeIPUnitFile() string {
	return unitFile("Update the node IP of kubelet and CRI-O", `Wants=NetworkManager-wait-online.service
After=NetworkManager-wait-online.service
Before=nodeip-configuration.service wait-for-primary-ip.service wait-for-node-ip.service
Before=kubelet-dependencies.target crio.service kubelet.service
ConditionPathExists=`+nodeip.KubeletDropIn+`
`, "/usr/bin/hcp-node-agent node-ip")
}

// uplinkNameUnitFile returns a unit that runs before NetworkManager reads its
// profiles, and after the unit that removes the profiles of an unfinished
// migration.
func uplinkNameUnitFile() string {
	return unitFile("Update the uplink name in the br-ex connection profiles", `DefaultDependencies=no
Wants=systemd-udev-trigger.service
After=local-fs.target systemd-remount-fs.service systemd-udevd.service systemd-udev-trigger.service
After=`+ovs.BootRollbackUnit+`
Before=NetworkManager.service shutdown.target
Conflicts=shutdown.target
`, "/usr/bin/hcp-node-agent uplink-name")
}

// ovnRemoteUnitFile returns a unit that runs once per boot: later, ovn-controller
// uses the setting that the unit clears.
func ovnRemoteUnitFile() string {
	const ordering = `After=` + openvswitch.DatabaseUnit + ` ` + openvswitch.Unit + `
Before=ovn-controller.service crio.service kubelet.service
`
	return unitFile("Clear ovn-remote of the previous boot in Open vSwitch", ordering, "-"+openvswitch.ClearRemoteCommand)
}
