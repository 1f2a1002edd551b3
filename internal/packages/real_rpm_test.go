//go:build rpm

package packages

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// rhel9 are the facts that a host's own dnf does not tell.
func rhel9() Facts {
	facts := good()
	facts.Installed, facts.Repositories, facts.Subscription, facts.Install = nil, nil, NoSubscription, true
	return facts
}

func names(list []dnf.Package) []string {
	var all []string
	for _, p := range list {
		all = append(all, p.Name+"-"+p.Version)
	}
	slices.Sort(all)
	return all
}

// waits keeps what was said to be waited for.
type waits struct{ said []string }

func (w *waits) Emit(e report.Event) { w.said = append(w.said, e.Message) }

// A mirror, under a name of its own, has a node's packages of two releases and
// lacks one; those of the right release are found and installed by the real dnf.
func TestRealInstall(t *testing.T) {
	b := newBench(t)
	key := b.key("mirror")
	b.build("site-ocp",
		"openshift-kubelet-4.18.7-1.el9", "openshift-kubelet-4.19.1-1.el9", "cri-o-1.31.4-2.rhaos4.18.el9", "cri-o-1.32.0-1.rhaos4.19.el9",
		"cri-tools-1.31.1-1.el9", "conmon-2.1.12-1.el9", "crun-1.16-1.el9", "container-selinux-2.235-1.el9", "openvswitch3.5-3.5.0-1.el9fdp",
		"NetworkManager-ovs-1.48.0-1.el9", "podman-5.2-1.el9", "containernetworking-plugins-1.5-1.el9", "cifs-utils-7.0-1.el9",
		"iscsi-initiator-utils-6.2-1.el9", "device-mapper-multipath-0.8-1.el9", "chrony-4.5-1.el9")
	b.sign("site-ocp", "mirror")
	b.offer("site-ocp", "enabled=1", "gpgcheck=1", "gpgkey=file://"+key)
	b.configure("site-off", "enabled=0", "gpgcheck=0", "baseurl=file:///nowhere")

	table := readTable(t)
	facts, err := Look(t.Context(), b.root, table, rhel9())
	if err != nil {
		t.Fatal(err)
	}
	want := []dnf.Repository{{ID: "site-ocp", Enabled: true}, {ID: "site-off", Unchecked: true}}
	if !slices.Equal(facts.Repositories, want) {
		t.Errorf("repositories %v", facts.Repositories)
	}
	decision := Decide(table, facts)
	if decision.Err() != nil || decision.Present != 0 || decision.Needed != 15 || len(decision.Specs()) != 14 {
		t.Fatalf("%v; %+v", decision.Err(), decision)
	}
	if last := decision.Findings[len(decision.Findings)-1]; !strings.Contains(last.Text, "no enabled repository has nfs-utils") {
		t.Errorf("it does not say what the mirror lacks: %+v", last)
	}

	transactions := &Transactions{Host: b.root}
	change, err := transactions.Change(t.Context(), decision.Specs())
	if err != nil {
		t.Fatal(err)
	}
	before, err := transactions.Look(t.Context(), change)
	if err != nil {
		t.Fatal(err)
	}
	told := &waits{}
	if err := Install(t.Context(), b.root, report.Log{Sink: told}, decision.Specs()...); err != nil {
		t.Fatal(err)
	}
	for _, phase := range []string{"for dnf to try", "for dnf to install"} { // nothing is downloaded from a file: repository
		if !slices.ContainsFunc(told.said, func(s string) bool { return strings.HasPrefix(s, phase) }) {
			t.Errorf("%q was not told of: %q", phase, told.said)
		}
	}
	facts, err = Look(t.Context(), b.root, table, rhel9())
	if err != nil {
		t.Fatal(err)
	}
	installed := names(facts.Installed)
	for _, name := range []string{"openshift-kubelet-4.18.7", "cri-o-1.31.4"} {
		if !slices.Contains(installed, name) {
			t.Errorf("%s is not installed: %v", name, installed)
		}
	}
	if decision = Decide(table, facts); decision.Present != 14 || decision.Err() != nil {
		t.Errorf("%d of %d after it: %v", decision.Present, decision.Needed, decision.Err())
	}
	after, err := transactions.Look(t.Context(), change)
	if err != nil {
		t.Fatal(err)
	}
	change.Want = after
	if left := Left(ledger.Item{Change: change, Before: before, Done: true}); !strings.Contains(left, "dnf history undo 1 ") {
		t.Errorf("leave would say %q; before %v, after %v", left, before.Names, after.Names)
	}
}

// Whatever a repository's configuration says, a package that is not signed, or
// signed by somebody unknown, is not installed.
func TestRealSignatures(t *testing.T) {
	for name, test := range map[string]struct {
		sign  bool
		lines []string
		code  report.Code
		says  string
	}{
		"not signed":                      {false, []string{"gpgcheck=1", "gpgkey=KEY"}, report.Refused, "is not signed"},
		"not signed nor to be checked":    {false, []string{"gpgcheck=0", "gpgkey=KEY"}, report.Refused, "is not signed"},
		"signed by somebody unknown":      {true, []string{"gpgcheck=0", "gpgkey=KEY"}, report.Refused, "GPG check FAILED"},
		"signed and no key is configured": {true, []string{"gpgcheck=0"}, report.Refused, "you do not have any GPG public keys installed"},
		"signed and the key is not there": {true, []string{"gpgcheck=1", "gpgkey=file:///nowhere/key"}, report.Failed, "Couldn't open file /nowhere/key"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			known := b.key("known")
			b.build("site", "cri-o-1.31.4-1.el9")
			lines := []string{"enabled=1"}
			for _, line := range test.lines {
				lines = append(lines, strings.ReplaceAll(line, "KEY", "file://"+known))
			}
			if test.sign {
				b.key("unknown")
				b.sign("site", "unknown")
			}
			b.offer("site", lines...)
			err := Install(t.Context(), b.root, report.Log{}, "cri-o-1.31.*")
			t.Logf("%v\n%s", err, report.RemedyOf(err))
			if err == nil || report.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.says) ||
				(test.code == report.Refused) != strings.Contains(err.Error(), "a signature could not be checked, nothing was installed: ") {
				t.Errorf("%v", err)
			}
			if got, err := b.root.Installed(t.Context()); err != nil || slices.Contains(names(got), "cri-o-1.31.4") {
				t.Errorf("it is installed: %v, %v", got, err)
			}
		})
	}
}

func TestRealMissingPackage(t *testing.T) {
	b := newBench(t)
	b.build("site", "conmon-2.1.12-1.el9")
	b.offer("site", "enabled=1", "gpgkey=file://"+b.key("known"))
	err := Install(t.Context(), b.root, report.Log{}, "cri-o-1.31.*")
	t.Log(err)
	if report.CodeOf(err) != report.Refused || !strings.Contains(err.Error(), "Unable to find a match: cri-o-1.31.*") {
		t.Errorf("%v", err)
	}
}

// The words are dnf's; a password in an address is not among them.
func TestRealRepositoryDoesNotAnswer(t *testing.T) {
	b := newBench(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close() // nobody is there now
	b.configure("site", "enabled=1", "gpgkey=file://"+b.key("known"), "baseurl=http://mirror:hunter2@"+address+"/ocp")
	_, err = Look(t.Context(), b.root, readTable(t), rhel9())
	t.Logf("%v\n%s", err, report.RemedyOf(err))
	if report.CodeOf(err) != report.Failed || err == nil || !strings.Contains(err.Error(), "a repository does not answer") ||
		!strings.Contains(err.Error(), "Failed to download metadata for repo 'site'") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
	err = Install(t.Context(), b.root, report.Log{}, "cri-o")
	t.Log(err)
	if report.CodeOf(err) != report.Failed || !strings.Contains(err.Error(), "***@"+address) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
}

// What is there is not asked for: a host without any network goes on.
func TestRealNothingIsAskedWhenNothingIsMissing(t *testing.T) {
	b := newBench(t)
	key := b.key("known")
	var specs, nvrs []string
	for _, need := range readTable(t).Needs(9, Release{4, 18}) {
		version := map[string]string{"release": "4.18.1", "kubernetes": "1.31.1", "": "1.0"}[need.Version]
		nvrs = append(nvrs, need.Name+"-"+version+"-1.el9")
		specs = append(specs, need.Name)
	}
	b.build("site", nvrs...)
	b.sign("site", "known")
	b.offer("site", "enabled=1", "gpgkey=file://"+key)
	if err := Install(t.Context(), b.root, report.Log{}, specs...); err != nil {
		t.Fatal(err)
	}
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer server.Close()
	b.configure("site", "enabled=1", "baseurl="+server.URL)
	facts, err := Look(t.Context(), b.root, readTable(t), rhel9())
	if decision := Decide(readTable(t), facts); err != nil || asked || len(decision.Missing) > 0 || decision.Err() != nil {
		t.Errorf("%v; asked: %t; %+v", err, asked, decision)
	}
}

// The default stream of a module hides what another repository has.
func TestRealModule(t *testing.T) {
	b := newBench(t)
	b.build("appstream", "crun-1.8-1.module+el9.1")
	b.build("site", "crun-1.16-1.el9")
	modules := b.write("modules.yaml", `---
document: modulemd
version: 2
data:
  name: container-tools
  stream: rhel9
  version: 1
  context: abcd
  arch: noarch
  summary: x
  description: x
  license: {module: [MIT]}
  artifacts: {rpms: ["crun-0:1.8-1.module+el9.1.noarch"]}
---
document: modulemd-defaults
version: 1
data: {module: container-tools, stream: rhel9, profiles: {rhel9: []}}
`)
	b.offer("site", "enabled=1")
	b.offer("appstream", "enabled=1")
	b.run("modifyrepo_c", "--mdtype=modules", modules, filepath.Join(b.dir, "appstream/repodata"))
	find := func() (found bool) {
		facts, err := Look(t.Context(), b.root, readTable(t), rhel9())
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range Decide(readTable(t), facts).Findings {
			found = found || f.Name == "module"
		}
		return found
	}
	if !find() {
		t.Error("it is not found")
	}
	b.write("root/etc/dnf/modules.d/container-tools.module", "[container-tools]\nname=container-tools\nstream=\nprofiles=\nstate=disabled\n")
	if find() {
		t.Error("it is still found when the module is disabled")
	}
}

// An end of ctx is dnf's Ctrl-C: it goes away and leaves nothing installed.
func TestRealInterrupted(t *testing.T) {
	b := newBench(t)
	b.build("site", "cri-o-1.31.4-1.el9")
	key := b.key("known")
	b.sign("site", "known")
	b.offer("site", "gpgkey=file://"+key)
	ctx, cancel := context.WithCancel(t.Context())
	files := http.FileServer(http.Dir(filepath.Join(b.dir, "site")))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".rpm") {
			cancel()
			<-r.Context().Done() // until dnf goes away
			return
		}
		files.ServeHTTP(w, r)
	}))
	defer server.Close()
	b.configure("site", "enabled=1", "timeout=600", "gpgkey=file://"+key, "baseurl="+server.URL)
	err := Install(ctx, b.root, report.Log{}, "cri-o")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if got, err := b.root.Installed(t.Context()); err != nil || len(got) > 0 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(b.root.Root, "var/cache/dnf/download_lock.pid")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("dnf's lock is still there: %v", err)
	}
}
