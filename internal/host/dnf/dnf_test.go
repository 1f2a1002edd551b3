// SPDX-License-Identifier: Apache-2.0

package dnf

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
)

// Output of the commands, with preceding lines of subscription-manager's
// plugin.
func TestParse(t *testing.T) {
	const noise = "Updating Subscription Management repositories.\n\n"
	gotPackages := packages(
		noise + "cri-o|1.31.4|2.rhaos4.18.el9|x86_64|rhocp-4.18-for-rhel-9-x86_64-rpms\nbash|5.1.8|9.el9|x86_64|\n",
	)
	wantPackages := []Package{
		{
			"cri-o", "1.31.4", "2.rhaos4.18.el9", "x86_64", "rhocp-4.18-for-rhel-9-x86_64-rpms",
		}, {"bash", "5.1.8", "9.el9", "x86_64", ""},
	}
	if diff := cmp.Diff(wantPackages, gotPackages); diff != "" {
		t.Errorf("packages (-want +got):\n%s", diff)
	}
	gotRepositories := repositories(noise + `repo id                           repo name                             status
other                             Other thing that is enabled in 4.18    disabled
rhocp-4.18-for-rhel-9-x86_64-rpms Red Hat OpenShift                     enabled
`)
	if diff := cmp.Diff(
		[]Repository{{ID: "other"}, {ID: "rhocp-4.18-for-rhel-9-x86_64-rpms", Enabled: true}}, gotRepositories,
	); diff != "" {
		t.Errorf("repositories (-want +got):\n%s", diff)
	}
	history := noise + `ID     | Command line             | Date and time    | Action(s)      | Altered
-------------------------------------------------------------------------------
    12 | install cri-o            | 2026-11-21 22:20 | Install        |    1
    11 |                          | 2026-11-20 22:20 | Install        |  300 EE
`
	if diff := cmp.Diff([]string{"12", "11"}, parseHistory(history)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	if got := parseHistory(strings.SplitN(history, "    12", 2)[0]); got != nil {
		t.Errorf("of an empty history %q", got)
	}
	info := noise + `Transaction ID : 12
User           : System <unset>
Command Line   : install @base
Comment        : hcp-node-agent join
Packages Altered:
    Install  NetworkManager-ovs-1:1.48.10-2.el9.x86_64 @appstream
    Upgrade  glibc-2.34-100.el9.x86_64                 @baseos
    Upgraded glibc-2.34-99.el9.x86_64                  @@System
    Removed  runc-4:1.1.12-1.el9.x86_64                @@System
`
	wantTransaction := Transaction{
		ID: "12", Comment: "hcp-node-agent join",
		Installed: []Package{{"NetworkManager-ovs", "1.48.10", "2.el9", "x86_64", ""}},
		Replacing: []Package{{"glibc", "2.34", "100.el9", "x86_64", ""}},
		Removed:   []Package{{"runc", "1.1.12", "1.el9", "x86_64", ""}},
	}
	if diff := cmp.Diff(wantTransaction, parseTransaction("12", info)); diff != "" {
		t.Errorf("transaction (-want +got):\n%s", diff)
	}
}

// The table of dnf contains packages to install and others. A row with a long name continues on the next line.
func TestParseUpdates(t *testing.T) {
	const line = "================================================================================\n"
	got := parseUpdates("Last metadata expiration check: 0:00:01 ago.\nDependencies resolved.\n" + line +
		" Package               Architecture  Version                 Repository    Size\n" + line + `Installing:
 kernel-core           x86_64        5.14.0-570.el9          baseos        17 M
Upgrading:
 NetworkManager        x86_64        1:1.52.0-3.el9          baseos       2.3 M
 a-package-with-a-name-that-is-longer-than-the-column
                       noarch        1.2-1.el9               appstream    950  
     replacing  another.x86_64 1.0-1.el9
Installing dependencies:
 grubby                x86_64        8.40-64.el9             baseos        36 k
Removing:
 kernel-core           x86_64        5.14.0-427.el9          @baseos       61 M
Skipping packages with broken dependencies:
 broken                x86_64        2-1.el9                 site         6.0 k

Transaction Summary
` + line + "Install  2 Packages\n")
	want := []Package{
		{"kernel-core", "5.14.0", "570.el9", "x86_64", "baseos"},
		{"NetworkManager", "1.52.0", "3.el9", "x86_64", "baseos"},
		{"a-package-with-a-name-that-is-longer-than-the-column", "1.2", "1.el9", "noarch", "appstream"},
		{"grubby", "8.40", "64.el9", "x86_64", "baseos"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := parseUpdates("Dependencies resolved.\nNothing to do.\nComplete!\n"); got != nil {
		t.Errorf("without updates: %v", got)
	}
}

func TestSignatureChecks(t *testing.T) {
	root := t.TempDir()
	for name, content := range map[string]string{
		"etc/dnf/dnf.conf":          "[main]\ngpgcheck=True\n",
		"etc/yum.repos.d/a.repo":    "# of the site\n[plain]\nname=x\n[off]\ngpgcheck = 0\n[on]\ngpgcheck=yes\n#gpgcheck=0\n",
		"etc/yum.repos.d/b.repo":    "[other]\ngpgcheck=no\n",
		"etc/yum.repos.d/ignored.x": "[ignored]\ngpgcheck=0\n",
	} {
		file := filepath.Join(root, name)
		if err := errors.Join(
			os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(content), 0o600),
		); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Host{Root: root}.signatureChecks()
	if diff := cmp.Diff(
		map[string]bool{"plain": true, "off": false, "on": true, "other": false}, got,
	); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if err := os.Remove(filepath.Join(root, "etc/dnf/dnf.conf")); err != nil {
		t.Fatal(err)
	}
	if got, err = (Host{Root: root}).signatureChecks(); err != nil || got["plain"] {
		t.Errorf("dnf's own default is off: %v, %v", got, err)
	}
}

func TestExplainReturnsLastLinesWithoutPasswords(t *testing.T) {
	failed := &command.Error{Argv: []string{"dnf", "install"}, Code: 1}
	long := strings.Repeat("noise\n", 40) + "Error: what is wrong\n\nProblem repository: [site]\npassword: hunter2\n"
	err := explain(failed, long, "stdout")
	if text := err.Error(); !strings.HasPrefix(text, "dnf: noise; ") || !strings.HasSuffix(
		text, "; Error: what is wrong",
	) || strings.Contains(text, "hunter2") || strings.Count(text, "noise") != maxLines-1 {
		t.Error(text)
	}
	if text := explain(failed, "", "Error: on the other stream\n").Error(); text != "dnf: Error: on the other stream" {
		t.Error(text)
	}
	if text := explain(failed, "", "").Error(); text != "dnf install exited with status 1: no error output" {
		t.Error(text)
	}
	if err := explain(command.ErrNotInstalled, "", ""); !errors.Is(err, command.ErrNotInstalled) {
		t.Error(err)
	}
}

func TestProxy(t *testing.T) {
	variables := ProxyVariables("http://p:1", "http://p:2", []string{"10.0.0.0/8", ".site"})
	for name, test := range map[string]struct {
		environment map[string]string
		want        []string
	}{
		"the user data's": {
			nil, []string{"http_proxy=http://p:1", "https_proxy=http://p:2", "no_proxy=10.0.0.0/8,.site"},
		},
		"the environment's":          {map[string]string{"https_proxy": "http://e:1"}, nil},
		"the environment's, capital": {map[string]string{"HTTP_PROXY": "http://e:1"}, []string{"http_proxy=http://e:1"}},
		"both are named":             {map[string]string{"HTTP_PROXY": "http://e:1", "http_proxy": "http://e:2"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			lookup := func(name string) (string, bool) { value, found := test.environment[name]; return value, found }
			if diff := cmp.Diff(test.want, ExtraProxyVariables(lookup, variables)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got := ProxyVariables("", "", []string{"10.0.0.0/8"}); got != nil {
		t.Errorf("no proxy: %v", got)
	}
}
