// SPDX-License-Identifier: Apache-2.0

package software

import (
	"slices"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestDecide(t *testing.T) {
	for name, test := range map[string]struct {
		change func(f *Facts)
		want   []string // SEVERITY: PART OF THE MESSAGE
		texts  []string // in messages and remedies
	}{
		"all is there":          {func(*Facts) {}, nil, nil},
		"release from kubelet":  {func(f *Facts) { f.Requested = Release{} }, nil, nil},
		"older NodePool":        {func(f *Facts) { f.Versions.Server = kube.MinorVersion(34) }, nil, nil},
		"control plane unknown": {func(f *Facts) { f.Versions.Server = kube.Version{} }, nil, nil},
		"another openvswitch3.Y": {func(f *Facts) {
			f.Installed = append(without(f.Installed, "openvswitch3.5"), newPackage("openvswitch3.3", "3.3", "el9", ""))
		}, nil, nil},
		"missing, one repository has it": {func(f *Facts) {
			f.Installed = without(f.Installed, "cri-o", "chrony")
			f.Available = packagesFor418(rhocp9, "el9")
		}, []string{"problem: packages are not installed"}, []string{
			"required packages are not installed: cri-o (the container runtime)",
			"dnf install 'cri-o-1.31.*' chrony\n# or:\nhcp-node-agent join --install-packages",
		}},
		"a unit of the payload runs jq": {func(f *Facts) {
			f.Commands, f.Available = map[string]bool{"jq": true}, []dnf.Package{newPackage("jq", "1.6", "el9", "appstream")}
		}, []string{"problem: packages are not installed"}, []string{
			"required packages are not installed: jq (scripts of the payload", "dnf install jq",
		}},
		"a script beside the units runs ethtool": {func(f *Facts) {
			f.Commands, f.Available = map[string]bool{"ethtool": false}, []dnf.Package{
				newPackage("ethtool", "6.2", "el9", "baseos"),
			}
		}, []string{"warning: packages are not installed"}, []string{"recommended packages are not installed: ethtool"}},
		"a unit runs podman, which is wanted otherwise": {func(f *Facts) {
			f.Commands, f.Installed = map[string]bool{"podman": true}, without(f.Installed, "podman")
			f.Available = []dnf.Package{newPackage("podman", "5.2", "el9", "appstream")}
		}, []string{"problem: packages are not installed"}, []string{"required packages are not installed: podman"}},
		"missing, and to be installed": {func(f *Facts) {
			f.Installed, f.Install = without(f.Installed, "cri-o"), true
			f.Available = packagesFor418(rhocp9, "el9")
		}, nil, nil},
		"only a wanted one is missing": {func(f *Facts) {
			f.Installed = without(f.Installed, "nfs-utils")
			f.Available = packagesFor418("rhel-9-for-x86_64-baseos-rpms", "el9")
		}, []string{"warning: packages are not installed"}, []string{
			"recommended packages are not installed: nfs-utils (volumes on NFS)", "dnf install nfs-utils",
		}},
		"a wanted one is missing, nobody was asked": {func(f *Facts) {
			f.Installed, f.Queried, f.Repositories = without(f.Installed, "nfs-utils"), false, nil
		}, []string{"warning: packages are not installed"}, []string{"nfs-utils (volumes on NFS)", "dnf install nfs-utils"}},
		"a wanted one is missing, nobody answered": {func(f *Facts) {
			f.Installed, f.Queried, f.QueryError = without(f.Installed, "nfs-utils"), false, "a repository is unreachable"
		}, []string{"warning: were not searched for", "warning: packages are not installed"}, nil},
		"nobody has it, its repository is disabled": {func(f *Facts) {
			f.Installed, f.Install = without(f.Installed, "cri-o", "openshift-kubelet"), true
			f.Repositories[0].Enabled = false
		}, []string{"problem: no enabled repository provides"}, []string{
			"no enabled repository provides openshift-kubelet-4.18.* (kubelet), cri-o-1.31.* (the container runtime)",
			"subscription-manager repos --enable=" + rhocp9 + "\ndnf install 'openshift-kubelet-4.18.*' 'cri-o-1.31.*'",
		}},
		"nobody has it, on arm64": {func(f *Facts) {
			f.Arch, f.Installed, f.Repositories = "arm64", without(f.Installed, "cri-o"), nil
			f.Available = packagesFor418("mirror", "el9") // for x86_64
		}, []string{
			"problem: no enabled repository provides",
		}, []string{
			"only 1.31.4 for x86_64 in mirror",
			"subscription-manager repos --enable=rhocp-4.18-for-rhel-9-aarch64-rpms " +
				"# requires a subscription for OpenShift; the current one does not include it",
		}},
		"not registered": {func(f *Facts) {
			f.Installed, f.Repositories, f.Subscription = without(f.Installed, "openvswitch3.5"), nil, Unregistered
		}, []string{"problem: no enabled repository provides"}, []string{
			"openvswitch3.5 (br-ex and the cluster network)",
			"subscription-manager register\nsubscription-manager repos --enable=" + fdp9,
		}},
		"enabled, and does not have it": {func(f *Facts) {
			f.Installed = without(f.Installed, "openvswitch3.5")
		}, []string{"problem: no enabled repository provides"}, []string{
			"dnf clean expire-cache", fdp9 + " is enabled but does not provide it",
		}},
		"mirror has all, under its own name": {func(f *Facts) {
			f.Installed, f.Subscription, f.Install = nil, NoSubscription, true
			f.Repositories = []dnf.Repository{{ID: "site-ocp", Enabled: true}}
			f.Available = packagesFor418("site-ocp", "el9")
		}, nil, nil},
		"mirror lacks it": {func(f *Facts) {
			f.Installed, f.Subscription = without(f.Installed, "cri-o"), NoSubscription
			f.Repositories = []dnf.Repository{{ID: "site-ocp", Enabled: true}}
		}, []string{"problem: no enabled repository provides"}, []string{
			"mirror " + rhocp9 + " or its equivalent and add the mirror to /etc/yum.repos.d under any name",
		}},
		"mirror is disabled": {func(f *Facts) {
			f.Installed, f.Subscription = without(f.Installed, "cri-o"), NoSubscription
			f.Repositories[0].Enabled = false
		}, []string{"problem: no enabled repository provides"}, []string{"dnf config-manager --set-enabled " + rhocp9}},
		"packages for RHEL 8 alone": {func(f *Facts) {
			f.Installed = without(f.Installed, "cri-o")
			f.Repositories = []dnf.Repository{{ID: "site-ocp", Enabled: true}}
			f.Available = packagesFor418("site-ocp", "el8")
		}, []string{"problem: no enabled repository provides"}, []string{
			"cri-o-1.31.* (the container runtime), only 1.31.4 built for RHEL 8 in site-ocp",
		}},
		"repository of RHEL 8": {func(f *Facts) {
			f.Repositories = append(f.Repositories, dnf.Repository{ID: "rhocp-4.18-for-rhel-8-x86_64-rpms", Enabled: true})
		}, []string{"problem: is for RHEL"}, []string{
			"repository rhocp-4.18-for-rhel-8-x86_64-rpms is for RHEL 8, but this host runs RHEL 9",
			"subscription-manager repos --disable=rhocp-4.18-for-rhel-8-x86_64-rpms",
		}},
		"base repository of RHEL 8": {func(f *Facts) {
			f.Subscription = NoSubscription
			f.Repositories = append(f.Repositories, dnf.Repository{ID: "rhel-8-for-x86_64-appstream-rpms", Enabled: true})
		}, []string{"problem: is for RHEL"}, []string{"dnf config-manager --set-disabled rhel-8-for-x86_64-appstream-rpms"}},
		"it does not count while it is disabled": {func(f *Facts) {
			f.Repositories = append(f.Repositories, dnf.Repository{ID: "rhocp-4.18-for-rhel-8-x86_64-rpms"})
		}, nil, nil},
		"repository of another release": {func(f *Facts) {
			f.Repositories = append(f.Repositories, dnf.Repository{ID: "rhocp-4.17-for-rhel-9-x86_64-rpms", Enabled: true})
		}, []string{"warning: is for OpenShift"}, []string{"is for OpenShift 4.17, but the NodePool has 4.18"}},
		"only another release's is there": {func(f *Facts) {
			f.Installed = without(f.Installed, "cri-o")
			f.Repositories[0].Enabled = false
			f.Available = []dnf.Package{newPackage("cri-o", "1.30.9", "el9", "site-ocp")}
		}, []string{"problem: no enabled repository provides"}, []string{
			"cri-o-1.31.* (the container runtime), only 1.30.9 in site-ocp",
		}},
		"module hides crun": {func(f *Facts) {
			f.Installed = without(f.Installed, "crun")
			f.Hidden = []dnf.Package{newPackage("crun", "1.16", "el9", rhocp9)}
		}, []string{"problem: a module stream hides"}, []string{
			"a module stream hides crun", "dnf -y module disable container-tools",
		}},
		"module hides it behind its own": {func(f *Facts) {
			f.Installed, f.Install = without(f.Installed, "crun"), true
			f.Available = []dnf.Package{newPackage("crun", "1.8", "module+el9.1", "appstream")}
			f.Hidden = append(slices.Clone(f.Available), newPackage("crun", "1.16", "el9", rhocp9))
		}, []string{"problem: a module stream hides"}, nil},
		"a stream that is not in use": {func(f *Facts) {
			f.Installed, f.Install = without(f.Installed, "crun"), true
			f.Available = []dnf.Package{newPackage("crun", "1.16", "el9", rhocp9)}
			f.Hidden = append(slices.Clone(f.Available), newPackage("crun", "1.8", "module+el9.1", "appstream"))
		}, nil, nil},
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
		}, []string{"warning: it is unknown whether"}, []string{
			"it is unknown whether packages of OpenShift 4.22 exist for RHEL 10",
		}},
		"OpenShift 5.0 on its own control plane": {func(f *Facts) {
			f.Requested, f.Versions.Server, f.Repositories = Release{5, 0}, kube.MinorVersion(36), nil
			f.Installed = ofKubernetes36(f.Installed, "5.0.1")
		}, []string{"warning: it is unknown whether"}, []string{"packages of OpenShift 5.0 exist for RHEL 9"}},
		"kubelet of 4.23, which is the same as 5.0": {func(f *Facts) {
			f.Requested, f.Versions.Server, f.Repositories = Release{5, 0}, kube.MinorVersion(36), nil
			f.Installed = ofKubernetes36(f.Installed, "4.23.1")
		}, []string{"warning: it is unknown whether"}, nil},
		"NodePool of 5.1 on a control plane of 5.0": {func(f *Facts) {
			f.Requested, f.Versions.Server, f.Repositories = Release{5, 1}, kube.MinorVersion(36), nil
			f.Installed = ofKubernetes36(f.Installed, "5.0.1")
		}, []string{
			"warning: it is unknown whether", "problem: newer than the API server", "problem: kubelet 1.36 is installed",
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
	} {
		t.Run(name, func(t *testing.T) {
			facts := goodFacts()
			test.change(&facts)
			facts = withBinaries(facts)
			decision := Decide(facts)
			var got []string
			all := ""
			for _, f := range slices.Concat(decision.Findings, decision.Mismatches) {
				isSupport := strings.HasPrefix(f.Message, "RHEL 9 workers")
				if isSupport && f.Severity == report.SeverityNote && facts.Requested == (Release{4, 18}) {
					continue // always of RHEL 9
				}
				if isSupport && facts.Requested.IsZero() {
					continue
				}
				got = append(got, string(f.Severity)+": "+f.Message)
				all += f.Message + "\n" + string(f.Remedy) + "\n"
			}
			matches := func(got, want string) bool {
				severity, part, _ := strings.Cut(want, ": ")
				return strings.HasPrefix(got, severity+": ") && strings.Contains(got, part)
			}
			if !slices.EqualFunc(got, test.want, matches) {
				t.Errorf("findings:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
			for _, part := range test.texts {
				if !strings.Contains(all, part) {
					t.Errorf("it does not say %q:\n%s", part, all)
				}
			}
			refused := slices.ContainsFunc(test.want, func(s string) bool { return strings.HasPrefix(s, "problem") })
			if code := report.CodeOf(decision.Err()); refused != (code == report.Refused) ||
				(!refused && code != report.Success) {
				t.Errorf("refused %t, code %d", refused, code)
			}
		})
	}
}
