// SPDX-License-Identifier: Apache-2.0

package effects

import (
	"slices"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
)

func TestOfPath(t *testing.T) {
	for target, want := range map[string]Effect{
		"/etc/containers/registries.conf":                     {Action: Reload, Unit: systemd.CRIOUnit},
		"/etc/containers/registries.conf.d/01-mirror.conf":    {Action: Reload, Unit: systemd.CRIOUnit},
		"/etc/pki/ca-trust/source/anchors/user-ca-bundle.crt": {Action: Restart, Unit: systemd.CRIOUnit},
		"/var/lib/kubelet/config.json":                        {Action: Nothing},
		"/etc/kubernetes/kubelet-ca.crt":                      {Action: Nothing},
		"/etc/kubernetes/manifests/kube-apiserver-proxy.yaml": {Action: Nothing},
		"/etc/kubernetes/apiserver-proxy-config/haproxy.cfg":  {Action: RestartStaticPod},
		"/etc/kubernetes/crio-metrics-proxy.cfg":              {Action: RestartStaticPod},
		"/etc/kubernetes/kubelet.conf": {
			Action: Restart,
			Unit:   systemd.KubeletUnit,
			Drain:  true,
		},
		"/etc/systemd/system/kubelet.service.d/10-mco-env.conf": {
			Action: Restart,
			Unit:   systemd.KubeletUnit,
			Drain:  true,
		},
		"/etc/crio/crio.conf.d/00-default":                       {Action: Restart, Unit: systemd.CRIOUnit, Drain: true},
		"/etc/systemd/system/crio.service.d/10-mco-profile.conf": {Action: Restart, Unit: systemd.CRIOUnit, Drain: true},
		"/etc/NetworkManager/conf.d/99-keyfiles.conf": {
			Action: Restart,
			Unit:   systemd.NetworkManagerUnit,
			Drain:  true,
		},
		"/etc/NetworkManager/dispatcher.d/20-resolv":                  {Action: Nothing},
		"/etc/systemd/system/ovs-configuration.service":               {Action: AtBoot},
		"/etc/systemd/system/ovs-vswitchd.service.d/10-ovs.conf":      {Action: AtBoot},
		"/etc/systemd/system/NetworkManager-clean.service":            {Action: AtBoot},
		"/etc/systemd/system/apiserver-ip.service":                    {Action: Restart, Unit: "apiserver-ip.service"},
		"/etc/systemd/system/apiserver-ip.service.d/10-a.conf":        {Action: Restart, Unit: "apiserver-ip.service"},
		"/etc/systemd/system/multi-user.target.wants/example.service": {Action: Nothing},
		"/etc/systemd/system/example@.service":                        {Action: Nothing},
		"/etc/systemd/system/ipsec.service.d/01-order.conf":           {Action: AtBoot},
		"/etc/kubernetes/cloud.conf": {
			Action: Restart,
			Unit:   systemd.KubeletUnit,
			Drain:  true,
		},
		"/etc/cni/net.d/10-example.conf":                 {Action: Nothing},
		"/etc/chrony.conf":                               {Action: Load},
		"/etc/audit/rules.d/example.rules":               {Action: Load},
		"/etc/systemd/system.conf.d/10-default-env.conf": {Action: Load},
		"/etc/sysctl.d/90-max.conf":                      {Action: Nothing},
		"/usr/local/bin/example":                         {Action: Nothing},
	} {
		got := OfPath(target)
		if got.Action != want.Action || got.Drain != want.Drain || got.Unit != want.Unit || got.Target != target ||
			got.Reason == "" {
			t.Errorf("%s: %+v, want %+v", target, got, want)
		}
	}
}

func TestEffectsOfPackages(t *testing.T) {
	for name, want := range map[string]Effect{
		"openshift-kubelet": {Action: Restart, Unit: systemd.KubeletUnit, Drain: true},
		"cri-o":             {Action: Restart, Unit: systemd.CRIOUnit, Drain: true},
		"openvswitch3.5":    {Action: AtBoot, Drain: true},
		"cri-tools":         {Action: Nothing},
	} {
		if got := OfPackage(name); got.Action != want.Action || got.Drain != want.Drain || got.Unit != want.Unit {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

func TestEffects(t *testing.T) {
	unit := Effect{Action: Restart, Unit: "a.service"}
	effects := Effects{unit}.Merge(Effects{unit, {Target: "again", Action: Restart, Unit: "a.service"}})
	if len(effects) != 2 || !slices.Equal(effects.UnitsToRestart(), []string{"a.service"}) || effects.NeedsDrain() ||
		effects.Requires(Reboot, "") {
		t.Errorf("%+v", effects)
	}
	network := Effects{{Action: Restart, Unit: systemd.NetworkManagerUnit, Drain: true}}.InJoin()
	if network.NeedsDrain() || network.Requires(Restart, systemd.NetworkManagerUnit) || !network.Requires(AtBoot, "") {
		t.Errorf("in a join: %+v", network)
	}
	effects = effects.Merge(Effects{{Action: Reboot, Drain: true}})
	if !effects.NeedsDrain() || !effects.Requires(Reboot, "") {
		t.Errorf("%+v", effects)
	}
}
