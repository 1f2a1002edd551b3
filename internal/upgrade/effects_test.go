// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"slices"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

func TestEffectOf(t *testing.T) {
	for target, want := range map[string]Effect{
		"/etc/containers/registries.conf":                             {Action: ReloadCRIO},
		"/etc/containers/registries.conf.d/01-mirror.conf":            {Action: ReloadCRIO},
		"/etc/pki/ca-trust/source/anchors/user-ca-bundle.crt":         {Action: RestartCRIO},
		"/var/lib/kubelet/config.json":                                {Action: Nothing},
		"/etc/kubernetes/kubelet-ca.crt":                              {Action: Nothing},
		"/etc/kubernetes/manifests/kube-apiserver-proxy.yaml":         {Action: Nothing},
		"/etc/kubernetes/apiserver-proxy-config/haproxy.cfg":          {Action: RestartStaticPod},
		"/etc/kubernetes/crio-metrics-proxy.cfg":                      {Action: RestartStaticPod},
		"/etc/kubernetes/kubelet.conf":                                {Action: RestartKubelet, Drain: true},
		"/etc/systemd/system/kubelet.service.d/10-mco-env.conf":       {Action: RestartKubelet, Drain: true},
		"/etc/crio/crio.conf.d/00-default":                            {Action: RestartCRIO, Drain: true},
		"/etc/systemd/system/crio.service.d/10-mco-profile.conf":      {Action: RestartCRIO, Drain: true},
		"/etc/NetworkManager/conf.d/99-keyfiles.conf":                 {Action: RestartNetworkManager, Drain: true},
		"/etc/NetworkManager/dispatcher.d/20-resolv":                  {Action: Nothing},
		"/etc/systemd/system/ovs-configuration.service":               {Action: AtBoot},
		"/etc/systemd/system/ovs-vswitchd.service.d/10-ovs.conf":      {Action: AtBoot},
		"/etc/systemd/system/NetworkManager-clean.service":            {Action: AtBoot},
		"/etc/systemd/system/apiserver-ip.service":                    {Action: RestartUnit, Unit: "apiserver-ip.service"},
		"/etc/systemd/system/apiserver-ip.service.d/10-a.conf":        {Action: RestartUnit, Unit: "apiserver-ip.service"},
		"/etc/systemd/system/multi-user.target.wants/example.service": {Action: Nothing},
		"/etc/systemd/system/example@.service":                        {Action: Nothing},
		"/etc/sysctl.d/90-max.conf":                                   {Action: Nothing},
		"/usr/local/bin/example":                                      {Action: Nothing},
	} {
		got := EffectOf(ledger.File, target)
		if got.Action != want.Action || got.Drain != want.Drain || got.Unit != want.Unit || got.Target != target || got.Reason == "" {
			t.Errorf("%s: %+v, want %+v", target, got, want)
		}
	}
	if got := EffectOf(ledger.KernelArguments, "payload"); got.Action != Reboot || !got.Drain {
		t.Errorf("kernel arguments: %+v", got)
	}
	for _, kind := range []ledger.Kind{ledger.Directory, ledger.Sysctl, ledger.Module, ledger.Unit, "keys"} {
		if got := EffectOf(kind, "/etc/crio/a"); got.Action != Nothing || got.Drain {
			t.Errorf("%s: %+v", kind, got)
		}
	}
}

func TestSoftwareEffect(t *testing.T) {
	for name, want := range map[string]Effect{
		"openshift-kubelet": {Action: RestartKubelet, Drain: true},
		"cri-o":             {Action: RestartCRIO, Drain: true},
		"openvswitch3.5":    {Action: AtBoot, Drain: true},
		"cri-tools":         {Action: Nothing},
	} {
		if got := SoftwareEffect(name); got.Action != want.Action || got.Drain != want.Drain {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

func TestEffects(t *testing.T) {
	unit := Effect{Action: RestartUnit, Unit: "a.service"}
	effects := Effects{unit}.Merge(Effects{unit, {Target: "again", Action: RestartUnit, Unit: "a.service"}})
	if len(effects) != 2 || !slices.Equal(effects.Units(), []string{"a.service"}) || effects.NeedsDrain() || effects.Needs(Reboot) {
		t.Errorf("%+v", effects)
	}
	effects = effects.Merge(Effects{{Action: Reboot, Drain: true}})
	if !effects.NeedsDrain() || !effects.Needs(Reboot) {
		t.Errorf("%+v", effects)
	}
}
