// SPDX-License-Identifier: Apache-2.0

package payload

// unit is one unit of the payload. Its contents are units/NAME if hasContents is set, and its
// drop-ins are units/NAME.d/*.
type unit struct {
	name        string
	state       state
	hasContents bool // the payload contains the unit file
	dropins     []string
}

// state is the enablement of a unit in the payload.
type state int

const (
	unset state = iota
	enabled
	disabled
)

// units returns the units in the order of a real 4.18 payload.
func units() []unit {
	return []unit{
		{"NetworkManager-clean-initrd-state.service", enabled, true, nil},
		{"crio.service", unset, false, []string{
			"01-kubens.conf", "10-mco-default-env.conf",
			"10-mco-profile-unix-socket.conf", "05-mco-ordering.conf", "10-mco-default-madv.conf",
		}},
		{"docker.socket", unset, false, []string{"mco-disabled.conf"}},
		{"firstboot-osupdate.target", enabled, true, nil},
		{"ipsec.service", unset, false, []string{"01-after-configure-ovs.conf"}},
		{"kubelet-auto-node-size.service", enabled, true, nil},
		{"kubelet-dependencies.target", unset, true, nil},
		{"kubelet.service", enabled, true, []string{"01-kubens.conf", "10-mco-default-env.conf", "10-mco-default-madv.conf"}},
		{"kubens.service", disabled, true, nil},
		{"machine-config-daemon-firstboot.service", enabled, true, nil},
		{"machine-config-daemon-pull.service", enabled, true, nil},
		{"nmstate-configuration.service", enabled, true, nil},
		{"nmstate.service", enabled, true, nil},
		{"node-valid-hostname.service", enabled, true, nil},
		{"nodeip-configuration.service", enabled, true, nil},
		{"openvswitch.service", enabled, false, nil},
		{"ovs-configuration.service", enabled, true, nil},
		{"ovs-vswitchd.service", unset, false, []string{"10-ovs-vswitchd-restart.conf"}},
		{"ovsdb-server.service", enabled, false, []string{"10-ovsdb-restart.conf"}},
		{"rpm-ostreed.service", unset, false, []string{"10-mco-default-env.conf"}},
		{"wait-for-ipsec-connect.service", enabled, true, nil},
		{"wait-for-primary-ip.service", enabled, true, nil},
		{"zincati.service", unset, false, []string{"mco-disabled.conf"}},
		{"kubelet-cleanup.service", enabled, true, nil},
		{"apiserver-ip.service", enabled, true, nil},
	}
}
