// SPDX-License-Identifier: Apache-2.0

package software

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSpecsMatchRelease(t *testing.T) {
	facts := goodFacts()
	facts.Installed, facts.Install = nil, true
	facts.Available = append(packagesFor418("mirror", "el9"),
		newPackage("openshift-kubelet", "4.19.3", "el9", "mirror"), newPackage("cri-o", "1.32.0", "el9", "mirror"))
	decision := Decide(facts)
	want := []string{
		"openshift-kubelet-4.18.*", "cri-o-1.31.*", "conmon", "crun", "container-selinux", "openvswitch3.5",
		"NetworkManager-ovs",
		"cri-tools-1.31.*", "podman", "containernetworking-plugins", "nfs-utils", "cifs-utils",
		"iscsi-initiator-utils", "device-mapper-multipath", "chrony",
		"python3-dnf-plugin-versionlock",
	}
	if diff := cmp.Diff(want, decision.Specs()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(decision.Packages) != len(want) || len(decision.Missing()) != len(want) {
		t.Errorf("%d of %d are missing", len(decision.Missing()), len(decision.Packages))
	}
}
