// SPDX-License-Identifier: Apache-2.0

package software

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
)

func TestDecideComparesReleases(t *testing.T) {
	runDecisionTests(t, map[string]decisionTest{
		"kubelet newer than the control plane": {
			func(f *Facts) {
				f.Versions.Server, f.Requested = kube.MinorVersion(30), Release{4, 17}
				f.Repositories = nil
			},
			[]string{
				"note: are not documented", "problem: kubelet 1.31 is installed, but the payload is of OpenShift 4.17",
				"problem: CRI-O 1.31.",
			},
			[]string{"requires kubelet 1.30", "dnf downgrade 'openshift-kubelet-4.17.*'"},
		},
		"kubelet three minors older": {func(f *Facts) { f.Versions.Server = kube.MinorVersion(34) }, nil, nil},
		"kubelet four minors older": {
			func(f *Facts) { f.Versions.Server = kube.MinorVersion(35) },
			[]string{"problem: minor versions older"},
			[]string{"is 4 minor versions older than the API server 1.35; at most 3 are supported", "oc get nodepool -A"},
		},
		"kubelet of another release, older": {
			func(f *Facts) {
				f.Versions.Server, f.Requested = kube.MinorVersion(32), Release{4, 19}
				f.Repositories = nil
			},
			[]string{"note: are not documented", "problem: kubelet 1.31 is installed", "problem: CRI-O 1.31."},
			[]string{
				"kubelet 1.31 is installed, but the payload is of OpenShift 4.19 and requires kubelet 1.32",
				"dnf install 'openshift-kubelet-4.19.*'",
			},
		},
		"kubelet of another release, newer": {
			func(f *Facts) { f.Requested = Release{4, 17}; f.Repositories = nil },
			[]string{"note: are not documented", "problem: kubelet 1.31 is installed", "problem: CRI-O 1.31."},
			[]string{
				"kubelet 1.31 is installed, but the payload is of OpenShift 4.17 and requires kubelet 1.30",
				"dnf downgrade 'openshift-kubelet-4.17.*'",
			},
		},
		"CRI-O older": {
			func(f *Facts) {
				f.Installed = append(without(f.Installed, "cri-o"), newPackage("cri-o", "1.30.2", "el9", ""))
			},
			[]string{"problem: CRI-O"},
			[]string{"CRI-O 1.30.2 is installed", "requires CRI-O 1.31", "dnf install 'cri-o-1.31.*'"},
		},
		"CRI-O newer": {
			func(f *Facts) {
				f.Installed = append(without(f.Installed, "cri-o"), newPackage("cri-o", "1.32.2", "el9", ""))
			},
			[]string{"problem: CRI-O"},
			[]string{"CRI-O 1.32.2 is installed", "dnf downgrade 'cri-o-1.31.*'"},
		},
		"CRI-O older than the kubelet to come": {func(f *Facts) {
			f.Installed, f.Install = append(
				without(f.Installed, "cri-o", "openshift-kubelet"), newPackage("cri-o", "1.30.2", "el9", ""),
			), true
			f.Available = packagesFor418(rhocp9, "el9")
		}, []string{"problem: CRI-O"}, []string{"CRI-O 1.30.2 is installed", "requires CRI-O 1.31"}},
		"release not known": {
			func(f *Facts) { f.Requested, f.Installed, f.Versions.Server = Release{}, nil, kube.MinorVersion(33) },
			[]string{"problem: their OpenShift release is unknown"},
			[]string{"possible with this control plane: 4.20, 4.19, 4.18, 4.17", "hcp-node-agent join --openshift-release 4.20"},
		},
		"nothing known": {
			func(f *Facts) { f.Requested, f.Installed, f.Versions.Server = Release{}, nil, kube.Version{} },
			[]string{"problem: their OpenShift release is unknown"},
			[]string{"hcp-node-agent join --openshift-release 4.Y"},
		},
		"before the payload": {
			func(f *Facts) { f.Requested, f.Installed, f.BeforePayload = Release{}, nil, true },
			[]string{"note: packages are missing"},
			[]string{"join reads from the payload which release they must have"},
		},
		"release newer than the control plane": {func(f *Facts) {
			f.Repositories = nil
			f.Requested, f.Installed, f.Install = Release{4, 19}, without(
				f.Installed, "openshift-kubelet", "cri-o", "cri-tools",
			), true
			f.Available = []dnf.Package{
				newPackage("openshift-kubelet", "4.19.0", "el9", "x"), newPackage("cri-o", "1.32.1", "el9", "x"),
				newPackage("cri-tools", "1.32.1", "el9", "x"),
			}
		}, []string{
			"note: are not documented", "problem: newer than the API server",
		}, []string{"kubelet 1.32 is newer than the API server 1.31"}},
		"RHEL 8 beyond 4.18": {func(f *Facts) {
			f.OS.Version, f.Requested, f.Versions.Server, f.Repositories = "8.10", Release{4, 19}, kube.MinorVersion(32), nil
			f.Installed = append(
				without(f.Installed, "openshift-kubelet", "cri-o"), newPackage("openshift-kubelet", "4.19.0", "el8", ""),
				newPackage("cri-o", "1.32.0", "el8", ""),
			)
		}, []string{"warning: are no longer supported"}, []string{
			"RHEL 8 workers are no longer supported in OpenShift 4.19",
		}},
		"RHEL 10": {func(f *Facts) {
			f.OS.Version, f.Requested, f.Versions.Server, f.Repositories = "10.2", Release{4, 22}, kube.MinorVersion(35), nil
			f.Installed = append(
				without(f.Installed, "openshift-kubelet", "cri-o"), newPackage("openshift-kubelet", "4.22.0", "el10", ""),
				newPackage("cri-o", "1.35.0", "el10", ""),
			)
		}, []string{"warning: no repository with packages of"}, []string{
			"no repository with packages of OpenShift 4.22 for RHEL 10 is known",
		}},
		"OpenShift 5.0 on its own control plane": {func(f *Facts) {
			f.Requested, f.Versions.Server, f.Repositories = Release{5, 0}, kube.MinorVersion(36), nil
			f.Installed = ofKubernetes36(f.Installed, "5.0.1")
		}, []string{"warning: no repository with packages of"}, []string{"packages of OpenShift 5.0 for RHEL 9 is known"}},
		"kubelet of 4.23, which is the same as 5.0": {func(f *Facts) {
			f.Requested, f.Versions.Server, f.Repositories = Release{5, 0}, kube.MinorVersion(36), nil
			f.Installed = ofKubernetes36(f.Installed, "4.23.1")
		}, []string{"warning: no repository with packages of"}, nil},
		"NodePool of 5.1 on a control plane of 5.0": {func(f *Facts) {
			f.Requested, f.Versions.Server, f.Repositories = Release{5, 1}, kube.MinorVersion(36), nil
			f.Installed = ofKubernetes36(f.Installed, "5.0.1")
		}, []string{
			"warning: no repository with packages of", "problem: newer than the API server",
			"problem: kubelet 1.36 is installed",
			"problem: CRI-O 1.36.",
		}, []string{"kubelet 1.36 is installed, but the payload is of OpenShift 5.1 and requires kubelet 1.37"}},
		"kubelet four minors older than 5.1": {func(f *Facts) {
			f.Requested, f.Versions.Server, f.Repositories = Release{4, 20}, kube.MinorVersion(37), nil
			f.Installed = append(without(f.Installed, "openshift-kubelet", "cri-o"),
				newPackage("openshift-kubelet", "4.20.0", "el9", ""), newPackage("cri-o", "1.33.0", "el9", ""))
		}, []string{
			"note: are not documented", "problem: minor versions older",
		}, []string{"is 4 minor versions older than the API server 1.37"}},
		"release not known, Kubernetes of two releases": {
			func(f *Facts) { f.Requested, f.Installed, f.Versions.Server = Release{}, nil, kube.MinorVersion(36) },
			[]string{"problem: their OpenShift release is unknown"},
			[]string{"possible with this control plane: 5.0, 4.23, 4.22, 4.21, 4.20"},
		},
		"a program from elsewhere": {func(f *Facts) {
			f.Installed, f.Programs = without(f.Installed, "crun"), []string{"crun"}
		}, []string{"note: was not installed from a known package"}, []string{
			"crun exists but was not installed from a known package",
		}},
		"hyperkube of an older release": {func(f *Facts) {
			f.Installed, f.Programs = append(
				without(f.Installed, "openshift-kubelet"), newPackage("openshift-hyperkube", "4.15.0", "el9", ""),
			), []string{"kubelet"}
		}, []string{
			"problem: kubelet 1.28 is installed, but the payload is of OpenShift",
		}, []string{"dnf install 'openshift-kubelet-4.18.*'"}},
		"CRI-O that does not match the kubelet of an unknown release": {func(f *Facts) {
			f.Requested = Release{}
			f.Installed = append(without(f.Installed, "cri-o"), newPackage("cri-o", "1.30.2", "el9", ""))
		}, []string{"problem: CRI-O 1.30.2 is installed, but the installed kubelet is of OpenShift 4.18"}, nil},
		"unpacked binaries of another release": {func(f *Facts) {
			f.Installed = without(f.Installed, "openshift-kubelet", "cri-o")
			f.Unpacked = []Unpacked{{Name: "openshift-kubelet"}, {Name: "cri-o"}}
			f.Programs = []string{"kubelet", "crio"}
			f.Versions.Kubelet, f.Versions.CRIO = kube.MinorVersion(32), kube.MinorVersion(32)
		}, []string{"problem: kubelet 1.32 is installed", "problem: CRI-O 1.32 is installed"}, nil},
		"another release than that of the payload was requested": {
			func(f *Facts) {
				f.Contents, f.Requested = &Contents{Release: Release{4, 18}, RHEL: "9.4"}, Release{4, 17}
			},
			[]string{"note: are not documented", "problem: OpenShift 4.17 was requested, but the payload is of OpenShift 4.18"},
			[]string{"# remove --openshift-release and openshiftRelease"},
		},
		"unchecked mirror": {func(f *Facts) {
			f.Installed, f.Install = without(f.Installed, "cri-o"), true
			f.Repositories = []dnf.Repository{{ID: "site-ocp", Enabled: true, SignaturesUnchecked: true}}
			f.Available = packagesFor418("site-ocp", "el9")
		}, []string{"warning: gpgcheck=0"}, []string{"site-ocp is configured with gpgcheck=0", "rpm --import KEY"}},
	})
}
