package ovs

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/nodeip"
)

const (
	// NodeIPUnit tells the node's address anew at every boot.
	NodeIPUnit = "hcp-node-agent-node-ip.service"

	unitDir    = "/etc/systemd/system/"
	remoteUnit = "hcp-node-agent-ovn-remote.service"
	nameUnit   = "hcp-node-agent-uplink-name.service"
)

// BootUnits are what has to be done again at every boot of a host whose uplink
// is in br-ex: first the unit files, then, after a reload, their enablement.
// Where the payload's ovs-configuration.service is enabled it clears ovn-remote
// itself, as it is or with the drop-in that package ignition adds; elsewhere a
// unit of our own does.
func BootUnits(payloadClears bool) (files, enable []ledger.Change) {
	add := func(name, why, content string) {
		files = append(files, fileChange(unitDir+name, why, content))
		enable = append(enable, ledger.Change{Kind: ledger.Unit, Target: name, Reason: why, Desired: ledger.State{Present: true, Enabled: "enabled"}})
	}
	add(NodeIPUnit, "a DHCP server can give another address at the next boot", nodeIPUnitFile())
	add(nameUnit, "the uplink can have another name at the next boot", nameUnitFile())
	if !payloadClears {
		add(remoteUnit, "ovn-controller must not find the database of before a boot", remoteUnitFile())
	}
	return files, enable
}

// nodeIPUnitFile is ordered as nodeip-configuration.service is, and before what
// waits for its files. It is not ordered after network-online.target: of that
// wait-for-primary-ip.service is a part. Others are ordered after this unit and
// do not require it: when it fails, kubelet starts with the address that it had.
func nodeIPUnitFile() string {
	return `# Written by hcp-node-agent, and removed by hcp-node-agent leave.
[Unit]
Description=Tell kubelet and CRI-O the address that the node has since this boot
Documentation=https://github.com/hcp-node-agent/hcp-node-agent
Wants=NetworkManager-wait-online.service
After=NetworkManager-wait-online.service
Before=nodeip-configuration.service wait-for-primary-ip.service wait-for-node-ip.service kubelet-dependencies.target crio.service kubelet.service
ConditionPathExists=` + nodeip.KubeletDropIn + `

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/bin/hcp-node-agent node-ip
TimeoutStartSec=60s

[Install]
WantedBy=multi-user.target
`
}

// nameUnitFile runs before NetworkManager reads its profiles, and after the unit
// that takes those of an unfinished move away.
func nameUnitFile() string {
	return `# Written by hcp-node-agent, and removed by hcp-node-agent leave.
[Unit]
Description=Name the uplink of br-ex as it is called since this boot
Documentation=https://github.com/hcp-node-agent/hcp-node-agent
DefaultDependencies=no
Wants=systemd-udev-trigger.service
After=local-fs.target systemd-remount-fs.service systemd-udevd.service systemd-udev-trigger.service hcp-node-agent-network-boot-guard.service
Before=NetworkManager.service shutdown.target
Conflicts=shutdown.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/bin/hcp-node-agent uplink-name
TimeoutStartSec=60s

[Install]
WantedBy=multi-user.target
`
}

// remoteUnitFile runs once in a boot: later, ovn-controller is in use of what
// would be cleared.
func remoteUnitFile() string {
	return `# Written by hcp-node-agent, and removed by hcp-node-agent leave.
[Unit]
Description=Keep ovn-controller from the database that it knew before this boot
Documentation=https://github.com/hcp-node-agent/hcp-node-agent
After=ovsdb-server.service openvswitch.service
Before=ovn-controller.service crio.service kubelet.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=-` + openvswitch.ClearRemote + `

[Install]
WantedBy=multi-user.target
`
}
