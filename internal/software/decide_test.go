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
	runDecisionTests(t, map[string]decisionTest{
		"all exist":             {func(*Facts) {}, nil, nil},
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
		"an optional one is missing, not queried": {func(f *Facts) {
			f.Installed, f.Queried, f.Repositories = without(f.Installed, "nfs-utils"), false, nil
		}, []string{"warning: packages are not installed"}, []string{"nfs-utils (volumes on NFS)", "dnf install nfs-utils"}},
		"an optional one is missing, no response": {func(f *Facts) {
			f.Installed, f.Queried, f.QueryError = without(f.Installed, "nfs-utils"), false, "a repository is unreachable"
		}, []string{"warning: were not searched for", "warning: packages are not installed"}, nil},
		"no repository has it, its repository is disabled": {func(f *Facts) {
			f.Installed, f.Install = without(f.Installed, "cri-o", "openshift-kubelet"), true
			f.Repositories[0].Enabled = false
		}, []string{"problem: no enabled repository provides"}, []string{
			"no enabled repository provides openshift-kubelet-4.18.* (kubelet), cri-o-1.31.* (the container runtime)",
			"subscription-manager repos --enable=" + rhocp9 + "\ndnf install 'openshift-kubelet-4.18.*' 'cri-o-1.31.*'",
		}},
		"no repository has it, on arm64": {func(f *Facts) {
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
		"mirror is disabled, dnf5": {func(f *Facts) {
			f.Installed, f.Subscription, f.DNF5 = without(f.Installed, "cri-o"), NoSubscription, true
			f.Repositories[0].Enabled = false
		}, []string{"problem: no enabled repository provides"}, []string{
			"dnf config-manager setopt " + rhocp9 + ".enabled=1",
		}},
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
		"base repository of RHEL 8, dnf5": {func(f *Facts) {
			f.Subscription, f.DNF5 = NoSubscription, true
			f.Repositories = append(f.Repositories, dnf.Repository{ID: "rhel-8-for-x86_64-appstream-rpms", Enabled: true})
		}, []string{"problem: is for RHEL"}, []string{
			"dnf config-manager setopt rhel-8-for-x86_64-appstream-rpms.enabled=0",
		}},
		"it does not count while it is disabled": {func(f *Facts) {
			f.Repositories = append(f.Repositories, dnf.Repository{ID: "rhocp-4.18-for-rhel-8-x86_64-rpms"})
		}, nil, nil},
		"repository of another release": {func(f *Facts) {
			f.Repositories = append(f.Repositories, dnf.Repository{ID: "rhocp-4.17-for-rhel-9-x86_64-rpms", Enabled: true})
		}, []string{"warning: is for OpenShift"}, []string{"is for OpenShift 4.17, but the NodePool has 4.18"}},
		"only another release's exists": {func(f *Facts) {
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
	})
}

// decisionTest is a test of Decide on a host with all packages of a 4.18 node.
type decisionTest struct {
	change func(f *Facts)
	want   []string // SEVERITY: PART OF THE MESSAGE
	texts  []string // in messages and remedies
}

func runDecisionTests(t *testing.T, tests map[string]decisionTest) {
	t.Helper()
	for name, test := range tests {
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
