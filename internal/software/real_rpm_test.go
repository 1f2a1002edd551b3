// SPDX-License-Identifier: Apache-2.0

//go:build rpm

package software

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/rpms"
)

// rhel9 returns the facts that the host's own dnf does not provide.
func rhel9() Facts {
	facts := goodFacts()
	facts.Installed, facts.Repositories, facts.Subscription, facts.Install = nil, nil, NoSubscription, true
	return facts
}

func packageNames(list []dnf.Package) []string {
	var all []string
	for _, p := range list {
		all = append(all, p.Name+"-"+p.Version)
	}
	slices.Sort(all)
	return all
}

// waitRecorder is a Sink that collects waiting messages.
type waitRecorder struct{ messages []string }

func (w *waitRecorder) Emit(e report.Event) { w.messages = append(w.messages, e.Message) }

// A mirror with its own repository IDs has the packages of two releases and lacks one
// package. The packages of the right release are found and installed by the real dnf.
func TestRealInstall(t *testing.T) {
	b := rpms.New(t)
	key := b.GenerateKey("mirror")
	b.Build("site-ocp",
		"openshift-kubelet-4.18.7-1.el9", "openshift-kubelet-4.19.1-1.el9", "cri-o-1.31.4-2.rhaos4.18.el9",
		"cri-o-1.32.0-1.rhaos4.19.el9",
		"cri-tools-1.31.1-1.el9", "conmon-2.1.12-1.el9", "crun-1.16-1.el9", "container-selinux-2.235-1.el9",
		"openvswitch3.5-3.5.0-1.el9fdp",
		"NetworkManager-ovs-1.48.0-1.el9", "podman-5.2-1.el9", "containernetworking-plugins-1.5-1.el9",
		"cifs-utils-7.0-1.el9",
		"iscsi-initiator-utils-6.2-1.el9", "device-mapper-multipath-0.8-1.el9", "chrony-4.5-1.el9",
		"python3-dnf-plugin-versionlock-4.3-1.el9")
	b.Sign("site-ocp", "mirror")
	b.AddRepository("site-ocp", "enabled=1", "gpgcheck=1", "gpgkey=file://"+key)
	b.ConfigureRepository("site-off", "enabled=0", "gpgcheck=0", "baseurl=file:///nowhere")

	facts, err := Gather(t.Context(), b.Root, rhel9())
	if err != nil {
		t.Fatal(err)
	}
	want := []dnf.Repository{{ID: "site-ocp", Enabled: true}, {ID: "site-off", SignaturesUnchecked: true}}
	if !slices.Equal(facts.Repositories, want) {
		t.Errorf("repositories %v", facts.Repositories)
	}
	decision := Decide(facts)
	if decision.Err() != nil || len(decision.Missing()) != 16 || len(decision.Packages) != 16 ||
		len(decision.Specs()) != 15 {
		t.Fatalf("%v; %+v", decision.Err(), decision)
	}
	if last := decision.Findings[len(decision.Findings)-1]; !strings.Contains(
		last.Message, "no enabled repository provides nfs-utils",
	) {
		t.Errorf("the finding does not name the missing package: %+v", last)
	}

	transactions := &Transactions{Host: b.Root}
	change, err := transactions.Change(t.Context(), decision.Specs())
	if err != nil {
		t.Fatal(err)
	}
	before, err := transactions.Get(t.Context(), change)
	if err != nil {
		t.Fatal(err)
	}
	recorder := &waitRecorder{}
	if err := Install(t.Context(), b.Root, report.Log{Sink: recorder}, decision.Specs()...); err != nil {
		t.Fatal(err)
	}
	// Nothing is downloaded from a file: repository.
	phases := []string{"waiting for dnf to test", "waiting for dnf to install"}
	if dnf.IsDNF5() { // it copies the files, and prints no line before it tests the transaction
		phases = []string{"waiting for dnf to download", "waiting for dnf to install"}
	}
	for _, phase := range phases {
		if !slices.ContainsFunc(recorder.messages, func(s string) bool { return strings.HasPrefix(s, phase) }) {
			t.Errorf("%q was not logged: %q", phase, recorder.messages)
		}
	}
	facts, err = Gather(t.Context(), b.Root, rhel9())
	if err != nil {
		t.Fatal(err)
	}
	installed := packageNames(facts.Installed)
	for _, name := range []string{"openshift-kubelet-4.18.7", "cri-o-1.31.4"} {
		if !slices.Contains(installed, name) {
			t.Errorf("%s is not installed: %v", name, installed)
		}
	}
	if decision = Decide(facts); len(decision.Missing()) != 1 || decision.Err() != nil {
		t.Errorf("%d of %d are missing after it: %v", len(decision.Missing()), len(decision.Packages), decision.Err())
	}
	after, err := transactions.Get(t.Context(), change)
	if err != nil {
		t.Fatal(err)
	}
	change.Desired = after
	if left := RemovalHint(
		ledger.Item{Change: change, Before: before, Done: true},
	); !strings.Contains(left, `"dnf history undo 1"`) {
		t.Errorf("leave would print %q; before %v, after %v", left, before.Value, after.Value)
	}
}

// If all required packages are installed, no repository is queried. A host without a
// network can continue, even if optional packages are missing.
func TestRealRepositoriesAreNotQueriedIfComplete(t *testing.T) {
	b := rpms.New(t)
	key := b.GenerateKey("known")
	var specs, nvrs []string
	for _, need := range readTable(t).needs(9, Release{4, 18}, nil) {
		version := map[string]string{"release": "4.18.1", "kubernetes": "1.31.1", "": "1.0"}[need.Version]
		nvrs = append(nvrs, need.Name+"-"+version+"-1.el9")
		specs = append(specs, need.Name)
	}
	b.Build("site", nvrs...)
	b.Sign("site", "known")
	b.AddRepository("site", "enabled=1", "gpgkey=file://"+key)
	if err := Install(t.Context(), b.Root, report.Log{}, specs...); err != nil {
		t.Fatal(err)
	}
	queried := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { queried = true }))
	defer server.Close()
	b.ConfigureRepository("site", "enabled=1", "baseurl="+server.URL)
	facts, err := Gather(t.Context(), b.Root, rhel9())
	if decision := Decide(facts); err != nil || queried || len(decision.Missing()) > 0 || decision.Err() != nil {
		t.Errorf("%v; queried: %t; %+v", err, queried, decision)
	}

	b.Run("rpm", "--root", b.Root.Root, "--erase", "nfs-utils")
	facts = rhel9()
	facts.Install = false
	facts, err = Gather(t.Context(), b.Root, facts)
	if decision := Decide(facts); err != nil || queried || len(decision.Missing()) != 1 || decision.Err() != nil {
		t.Errorf("without nfs-utils: %v; queried: %t; %+v", err, queried, decision)
	}
	server.Close()
	facts, err = Gather(t.Context(), b.Root, rhel9())
	if decision := Decide(facts); err != nil || decision.Err() != nil || !strings.Contains(
		facts.QueryError, "a repository is unreachable",
	) {
		t.Errorf("with packages to install and an unreachable repository: %v; %q; %+v", err, facts.QueryError, decision)
	}
}

// The default stream of a module hides a package of another repository.
func TestRealModule(t *testing.T) {
	b := rpms.New(t)
	b.Build("appstream", "crun-1.8-1.module+el9.1")
	b.Build("site", "crun-1.16-1.el9")
	modules := b.Write("modules.yaml", `---
document: modulemd
version: 2
data:
  name: container-tools
  stream: rhel9
  version: 1
  context: abcd
  arch: `+strings.TrimSpace(b.Run("uname", "-m"))+`
  summary: x
  description: x
  license: {module: [MIT]}
  artifacts: {rpms: ["crun-0:1.8-1.module+el9.1.noarch"]}
---
document: modulemd-defaults
version: 1
data: {module: container-tools, stream: rhel9, profiles: {rhel9: []}}
`)
	b.AddRepository("site", "enabled=1")
	b.AddRepository("appstream", "enabled=1")
	b.Run("modifyrepo_c", "--mdtype=modules", modules, filepath.Join(b.Dir, "appstream/repodata"))
	find := func() (found bool) {
		facts, err := Gather(t.Context(), b.Root, rhel9())
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range Decide(facts).Findings {
			found = found || strings.HasPrefix(f.Message, "a module stream hides")
		}
		return found
	}
	if !find() {
		t.Error("no finding about the module")
	}
	b.Write("root/etc/dnf/modules.d/container-tools.module",
		"[container-tools]\nname=container-tools\nstream=\nprofiles=\nstate=disabled\n")
	if find() {
		t.Error("a finding about a disabled module")
	}
}

// dnf receives the proxy with its password on a host that has Internet access only through
// a proxy.
func TestRealProxy(t *testing.T) {
	for _, name := range []string{
		"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
	} {
		t.Setenv(name, "")
	}
	b := rpms.New(t)
	b.Build("site", "cri-o-1.31.4-1.el9")
	b.AddRepository("site")
	files := http.FileServer(http.Dir(filepath.Join(b.Dir, "site")))
	login := ""
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if login = r.Header.Get("Proxy-Authorization"); login == "" {
			w.Header().Set("Proxy-Authenticate", "Basic")
			w.WriteHeader(http.StatusProxyAuthRequired)
		} else if r.URL.Host == "mirror.invalid" {
			files.ServeHTTP(w, r)
		}
	}))
	defer proxy.Close()
	b.ConfigureRepository("site", "enabled=1", "baseurl=http://mirror.invalid/")
	b.Root.Proxy = dnf.ProxyVariables(strings.Replace(proxy.URL, "//", "//me:hunter2@", 1), "", nil)
	got, err := b.Root.Available(t.Context(), false, "cri-o")
	if err != nil || len(got) != 1 || got[0].Repository != "site" || login == "" {
		t.Errorf("%v, %v; the proxy received %q", got, err, login)
	}
}
