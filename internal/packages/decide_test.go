// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func readTable(t *testing.T) Table {
	t.Helper()
	table, err := ReadTable()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func newPackage(name, version, el, repository string) dnf.Package {
	return dnf.Package{Name: name, Version: version, Release: "1." + el, Arch: "x86_64", Repository: repository}
}

// goodFacts returns the facts of a registered RHEL 9 host with all packages of a 4.18 node.
func goodFacts() Facts {
	return Facts{
		OS: hostinfo.OSRelease{ID: "rhel", Like: []string{"fedora"}, Version: "9.4"}, Arch: "amd64",
		Release: Release{4, 18}, ControlPlane: Release{4, 18}, Installed: packagesFor418("", "el9"), Subscription: Registered,
		Queried: true, Repositories: []dnf.Repository{{ID: rhocp9, Enabled: true}, {ID: fdp9, Enabled: true}},
	}
}

func TestDecide(t *testing.T) {
	for name, test := range map[string]struct {
		change func(f *Facts)
		want   []string // name severity
		texts  []string // in texts and remedies of the last finding
	}{
		"all is there":          {func(*Facts) {}, nil, nil},
		"release from kubelet":  {func(f *Facts) { f.Release = Release{} }, nil, nil},
		"older NodePool":        {func(f *Facts) { f.ControlPlane = Release{4, 21} }, nil, nil},
		"control plane unknown": {func(f *Facts) { f.ControlPlane = Release{} }, nil, nil},
		"another openvswitch3.Y": {func(f *Facts) {
			f.Installed = append(without(f.Installed, "openvswitch3.5"), newPackage("openvswitch3.3", "3.3", "el9", ""))
		}, nil, nil},
		"missing, one repository has it": {func(f *Facts) {
			f.Installed = without(f.Installed, "cri-o", "chrony")
			f.Available = packagesFor418(rhocp9, "el9")
		}, []string{"not-installed problem"}, []string{
			"required packages are not installed: cri-o (the container runtime)",
			"dnf install 'cri-o-1.31.*' chrony\n# or:\nhcp-node-agent join --install-packages",
		}},
		"a unit of the payload runs jq": {func(f *Facts) {
			f.Commands, f.Available = map[string]bool{"jq": true}, []dnf.Package{newPackage("jq", "1.6", "el9", "appstream")}
		}, []string{"not-installed problem"}, []string{"required packages are not installed: jq (scripts of the payload", "dnf install jq"}},
		"a script beside the units runs ethtool": {func(f *Facts) {
			f.Commands, f.Available = map[string]bool{"ethtool": false}, []dnf.Package{newPackage("ethtool", "6.2", "el9", "baseos")}
		}, []string{"not-installed warning"}, []string{"recommended packages are not installed: ethtool"}},
		"a unit runs podman, which is wanted otherwise": {func(f *Facts) {
			f.Commands, f.Installed = map[string]bool{"podman": true}, without(f.Installed, "podman")
			f.Available = []dnf.Package{newPackage("podman", "5.2", "el9", "appstream")}
		}, []string{"not-installed problem"}, []string{"required packages are not installed: podman"}},
		"missing, and to be installed": {func(f *Facts) {
			f.Installed, f.Install = without(f.Installed, "cri-o"), true
			f.Available = packagesFor418(rhocp9, "el9")
		}, nil, nil},
		"only a wanted one is missing": {func(f *Facts) {
			f.Installed = without(f.Installed, "nfs-utils")
			f.Available = packagesFor418("rhel-9-for-x86_64-baseos-rpms", "el9")
		}, []string{"not-installed warning"}, []string{"recommended packages are not installed: nfs-utils (volumes on NFS)", "dnf install nfs-utils"}},
		"a wanted one is missing, nobody was asked": {func(f *Facts) {
			f.Installed, f.Queried, f.Repositories = without(f.Installed, "nfs-utils"), false, nil
		}, []string{"not-installed warning"}, []string{"nfs-utils (volumes on NFS)", "dnf install nfs-utils"}},
		"a wanted one is missing, nobody answered": {func(f *Facts) {
			f.Installed, f.Queried, f.QueryError = without(f.Installed, "nfs-utils"), false, "a repository is unreachable"
		}, []string{"repositories-silent warning", "not-installed warning"}, nil},
		"nobody has it, its repository is disabled": {func(f *Facts) {
			f.Installed, f.Install = without(f.Installed, "cri-o", "openshift-kubelet"), true
			f.Repositories[0].Enabled = false
		}, []string{"not-available problem"}, []string{
			"no enabled repository provides openshift-kubelet-4.18.* (kubelet), cri-o-1.31.* (the container runtime)",
			"subscription-manager repos --enable=" + rhocp9 + "\ndnf install 'openshift-kubelet-4.18.*' 'cri-o-1.31.*'",
		}},
		"nobody has it, on arm64": {func(f *Facts) {
			f.Arch, f.Installed, f.Repositories = "arm64", without(f.Installed, "cri-o"), nil
			f.Available = packagesFor418("mirror", "el9") // for x86_64
		}, []string{"not-available problem"}, []string{"only 1.31.4 for x86_64 in mirror", "subscription-manager repos --enable=rhocp-4.18-for-rhel-9-aarch64-rpms # requires a subscription for OpenShift; the current one does not include it"}},
		"not registered": {func(f *Facts) {
			f.Installed, f.Repositories, f.Subscription = without(f.Installed, "openvswitch3.5"), nil, Unregistered
		}, []string{"not-available problem"}, []string{"openvswitch3.5 (br-ex and the cluster network)", "subscription-manager register\nsubscription-manager repos --enable=" + fdp9}},
		"enabled, and does not have it": {func(f *Facts) {
			f.Installed = without(f.Installed, "openvswitch3.5")
		}, []string{"not-available problem"}, []string{"dnf clean expire-cache", fdp9 + " is enabled but does not provide it"}},
		"mirror has all, under its own name": {func(f *Facts) {
			f.Installed, f.Subscription, f.Install = nil, NoSubscription, true
			f.Repositories = []dnf.Repository{{ID: "site-ocp", Enabled: true}}
			f.Available = packagesFor418("site-ocp", "el9")
		}, nil, nil},
		"mirror lacks it": {func(f *Facts) {
			f.Installed, f.Subscription = without(f.Installed, "cri-o"), NoSubscription
			f.Repositories = []dnf.Repository{{ID: "site-ocp", Enabled: true}}
		}, []string{"not-available problem"}, []string{"mirror " + rhocp9 + " or its equivalent and add the mirror to /etc/yum.repos.d under any name"}},
		"mirror is disabled": {func(f *Facts) {
			f.Installed, f.Subscription = without(f.Installed, "cri-o"), NoSubscription
			f.Repositories[0].Enabled = false
		}, []string{"not-available problem"}, []string{"dnf config-manager --set-enabled " + rhocp9}},
		"packages for RHEL 8 alone": {func(f *Facts) {
			f.Installed = without(f.Installed, "cri-o")
			f.Repositories = []dnf.Repository{{ID: "site-ocp", Enabled: true}}
			f.Available = packagesFor418("site-ocp", "el8")
		}, []string{"not-available problem"}, []string{"cri-o-1.31.* (the container runtime), only 1.31.4 built for RHEL 8 in site-ocp"}},
		"repository of RHEL 8": {func(f *Facts) {
			f.Repositories = append(f.Repositories, dnf.Repository{ID: "rhocp-4.18-for-rhel-8-x86_64-rpms", Enabled: true})
		}, []string{"repository-of-other-rhel problem"}, []string{
			"repository rhocp-4.18-for-rhel-8-x86_64-rpms is for RHEL 8, but this host runs RHEL 9", "subscription-manager repos --disable=rhocp-4.18-for-rhel-8-x86_64-rpms",
		}},
		"base repository of RHEL 8": {func(f *Facts) {
			f.Subscription = NoSubscription
			f.Repositories = append(f.Repositories, dnf.Repository{ID: "rhel-8-for-x86_64-appstream-rpms", Enabled: true})
		}, []string{"repository-of-other-rhel problem"}, []string{"dnf config-manager --set-disabled rhel-8-for-x86_64-appstream-rpms"}},
		"it does not count while it is disabled": {func(f *Facts) {
			f.Repositories = append(f.Repositories, dnf.Repository{ID: "rhocp-4.18-for-rhel-8-x86_64-rpms"})
		}, nil, nil},
		"repository of another release": {func(f *Facts) {
			f.Repositories = append(f.Repositories, dnf.Repository{ID: "rhocp-4.17-for-rhel-9-x86_64-rpms", Enabled: true})
		}, []string{"repository-of-other-release warning"}, []string{"is for OpenShift 4.17, but the NodePool has 4.18"}},
		"only another release's is there": {func(f *Facts) {
			f.Installed = without(f.Installed, "cri-o")
			f.Repositories[0].Enabled = false
			f.Available = []dnf.Package{newPackage("cri-o", "1.30.9", "el9", "site-ocp")}
		}, []string{"not-available problem"}, []string{"cri-o-1.31.* (the container runtime), only 1.30.9 in site-ocp"}},
		"module hides crun": {func(f *Facts) {
			f.Installed = without(f.Installed, "crun")
			f.Hidden = []dnf.Package{newPackage("crun", "1.16", "el9", rhocp9)}
		}, []string{"module problem"}, []string{"a module stream hides crun", "dnf -y module disable container-tools"}},
		"module hides it behind its own": {func(f *Facts) {
			f.Installed, f.Install = without(f.Installed, "crun"), true
			f.Available = []dnf.Package{newPackage("crun", "1.8", "module+el9.1", "appstream")}
			f.Hidden = append(slices.Clone(f.Available), newPackage("crun", "1.16", "el9", rhocp9))
		}, []string{"module problem"}, nil},
		"a stream that is not in use": {func(f *Facts) {
			f.Installed, f.Install = without(f.Installed, "crun"), true
			f.Available = []dnf.Package{newPackage("crun", "1.16", "el9", rhocp9)}
			f.Hidden = append(slices.Clone(f.Available), newPackage("crun", "1.8", "module+el9.1", "appstream"))
		}, nil, nil},
		"kubelet newer than the control plane": {
			func(f *Facts) { f.ControlPlane, f.Release = Release{4, 17}, Release{4, 17}; f.Repositories = nil },
			[]string{"standing note", "kubelet-newer problem"},
			[]string{"(OpenShift 4.18) is newer than the control plane (4.17)", "dnf downgrade 'openshift-kubelet-4.17.*'"},
		},
		"kubelet three minors older": {func(f *Facts) { f.ControlPlane = Release{4, 21} }, nil, nil},
		"kubelet four minors older": {
			func(f *Facts) { f.ControlPlane = Release{4, 22} },
			[]string{"kubelet-older problem"},
			[]string{"is 4 minor versions older than the control plane (4.22); at most 3 are supported", "dnf install 'openshift-kubelet-4.18.*'"},
		},
		"kubelet of another release, older": {
			func(f *Facts) { f.ControlPlane, f.Release = Release{4, 19}, Release{4, 19}; f.Repositories = nil },
			[]string{"standing note", "kubelet-of-other-release problem"},
			[]string{"(OpenShift 4.18) does not match the NodePool (4.19)", "dnf install 'openshift-kubelet-4.19.*'"},
		},
		"kubelet of another release, newer": {
			func(f *Facts) { f.Release = Release{4, 17}; f.Repositories = nil },
			[]string{"standing note", "kubelet-of-other-release problem"},
			[]string{"(OpenShift 4.18) does not match the NodePool (4.17)", "dnf downgrade 'openshift-kubelet-4.17.*'"},
		},
		"CRI-O older": {
			func(f *Facts) {
				f.Installed = append(without(f.Installed, "cri-o"), newPackage("cri-o", "1.30.2", "el9", ""))
			},
			[]string{"crio-skew problem"},
			[]string{"CRI-O 1.30 is older than the installed kubelet (Kubernetes 1.31)", "dnf install 'cri-o-1.31.*'"},
		},
		"CRI-O newer": {
			func(f *Facts) {
				f.Installed = append(without(f.Installed, "cri-o"), newPackage("cri-o", "1.32.2", "el9", ""))
			},
			[]string{"crio-skew problem"},
			[]string{"CRI-O 1.32 is newer than", "dnf downgrade 'cri-o-1.31.*'"},
		},
		"CRI-O older than the kubelet to come": {func(f *Facts) {
			f.Installed, f.Install = append(without(f.Installed, "cri-o", "openshift-kubelet"), newPackage("cri-o", "1.30.2", "el9", "")), true
			f.Available = packagesFor418(rhocp9, "el9")
		}, []string{"crio-skew problem"}, []string{"older than OpenShift 4.18 (Kubernetes 1.31)"}},
		"release not known": {
			func(f *Facts) { f.Release, f.Installed, f.ControlPlane = Release{}, nil, Release{4, 20} },
			[]string{"release problem"},
			[]string{"possible with this control plane: 4.20, 4.19, 4.18, 4.17", "hcp-node-agent join --openshift-release 4.20"},
		},
		"nothing known": {
			func(f *Facts) { f.Release, f.Installed, f.ControlPlane = Release{}, nil, Release{} },
			[]string{"release problem"},
			[]string{"hcp-node-agent join --openshift-release 4.Y"},
		},
		"before the payload": {
			func(f *Facts) { f.Release, f.Installed, f.BeforePayload = Release{}, nil, true },
			[]string{"release note"},
			[]string{"join reads from the payload which release they must have"},
		},
		"release newer than the control plane": {func(f *Facts) {
			f.Repositories = nil
			f.Release, f.Installed, f.Install = Release{4, 19}, without(f.Installed, "openshift-kubelet", "cri-o", "cri-tools"), true
			f.Available = []dnf.Package{newPackage("openshift-kubelet", "4.19.0", "el9", "x"), newPackage("cri-o", "1.32.1", "el9", "x"), newPackage("cri-tools", "1.32.1", "el9", "x")}
		}, []string{"release-newer problem", "standing note"}, nil},
		"RHEL 8 beyond 4.18": {func(f *Facts) {
			f.OS.Version, f.Release, f.ControlPlane, f.Repositories = "8.10", Release{4, 19}, Release{4, 19}, nil
			f.Installed = append(without(f.Installed, "openshift-kubelet", "cri-o"), newPackage("openshift-kubelet", "4.19.0", "el8", ""), newPackage("cri-o", "1.32.0", "el8", ""))
		}, []string{"standing warning"}, []string{"RHEL 8 workers are no longer supported in OpenShift 4.19"}},
		"RHEL 10": {func(f *Facts) {
			f.OS.Version, f.Release, f.ControlPlane, f.Repositories = "10.2", Release{4, 22}, Release{4, 22}, nil
			f.Installed = append(without(f.Installed, "openshift-kubelet", "cri-o"), newPackage("openshift-kubelet", "4.22.0", "el10", ""), newPackage("cri-o", "1.35.0", "el10", ""))
		}, []string{"standing warning"}, []string{"it is unknown whether packages of OpenShift 4.22 exist for RHEL 10"}},
		"OpenShift 5.0 on its own control plane": {func(f *Facts) {
			f.Release, f.ControlPlane, f.Repositories = Release{5, 0}, readTable(t).Newest(36), nil
			f.Installed = ofKubernetes36(f.Installed, "5.0.1")
		}, []string{"standing warning"}, []string{"packages of OpenShift 5.0 exist for RHEL 9"}},
		"kubelet of 4.23, which is the same as 5.0": {func(f *Facts) {
			f.Release, f.ControlPlane, f.Repositories = Release{5, 0}, readTable(t).Newest(36), nil
			f.Installed = ofKubernetes36(f.Installed, "4.23.1")
		}, []string{"standing warning"}, nil},
		"NodePool of 5.1 on a control plane of 5.0": {func(f *Facts) {
			f.Release, f.ControlPlane, f.Repositories = Release{5, 1}, readTable(t).Newest(36), nil
			f.Installed = ofKubernetes36(f.Installed, "5.0.1")
		}, []string{"release-newer problem", "standing warning", "kubelet-of-other-release problem"}, []string{"(OpenShift 5.0) does not match the NodePool (5.1)"}},
		"kubelet four minors older than 5.1": {func(f *Facts) {
			f.Release, f.ControlPlane, f.Repositories = Release{4, 20}, readTable(t).Newest(37), nil
			f.Installed = append(without(f.Installed, "openshift-kubelet", "cri-o"),
				newPackage("openshift-kubelet", "4.20.0", "el9", ""), newPackage("cri-o", "1.33.0", "el9", ""))
		}, []string{"standing note", "kubelet-older problem"}, []string{"is 4 minor versions older than the control plane (5.1)"}},
		"release not known, Kubernetes of two releases": {
			func(f *Facts) { f.Release, f.Installed, f.ControlPlane = Release{}, nil, readTable(t).Newest(36) },
			[]string{"release problem"},
			[]string{"possible with this control plane: 5.0, 4.23, 4.22, 4.21, 4.20"},
		},
		"a program from elsewhere": {func(f *Facts) {
			f.Installed, f.Programs = without(f.Installed, "crun"), []string{"crun"}
		}, []string{"by-hand note"}, []string{"crun exists but was not installed from a known package"}},
		"hyperkube of an older release": {func(f *Facts) {
			f.Installed, f.Programs = append(without(f.Installed, "openshift-kubelet"), newPackage("openshift-hyperkube", "4.15.0", "el9", "")), []string{"kubelet"}
		}, []string{"kubelet-of-other-release problem", "crio-skew problem"}, nil},
		"unchecked mirror": {func(f *Facts) {
			f.Installed, f.Install = without(f.Installed, "cri-o"), true
			f.Repositories = []dnf.Repository{{ID: "site-ocp", Enabled: true, SignaturesUnchecked: true}}
			f.Available = packagesFor418("site-ocp", "el9")
		}, []string{"gpgcheck warning"}, []string{"site-ocp is configured with gpgcheck=0", "rpm --import KEY"}},
	} {
		t.Run(name, func(t *testing.T) {
			facts := goodFacts()
			test.change(&facts)
			decision := Decide(readTable(t), facts)
			var got []string
			last := ""
			for _, f := range decision.Findings {
				if f.Check == "standing" && f.Severity == report.SeverityNote && facts.Release == (Release{4, 18}) {
					continue // always of RHEL 9
				}
				if f.Check == "standing" && facts.Release.IsZero() {
					continue
				}
				got = append(got, f.Check+" "+string(f.Severity))
				last = f.Message + "\n" + string(f.Remedy)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			for _, part := range test.texts {
				if !strings.Contains(last, part) {
					t.Errorf("it does not say %q:\n%s", part, last)
				}
			}
			refused := slices.ContainsFunc(test.want, func(s string) bool { return strings.HasSuffix(s, "problem") })
			if code := report.CodeOf(decision.Err()); refused != (code == report.Refused) || (!refused && code != report.Success) {
				t.Errorf("refused %t, code %d", refused, code)
			}
		})
	}
}
