// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"fmt"
	"slices"
	"testing"

	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/test/ignitiontest"
)

func adaptConfig(t *testing.T, config string, edit func(*Input)) *Plan {
	t.Helper()
	p, err := ignition.LoadPayload([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	in := plainHost()
	if edit != nil {
		edit(&in)
	}
	plan, err := ToHost(p, in)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func systemdConfig(units string) string {
	return `{"ignition":{"version":"3.2.0"},"systemd":{"units":[` + units + `]}}`
}

// ruleFor returns the rule and action of the first note about a subject.
func ruleFor(plan *Plan, subject string) string {
	for _, note := range plan.Notes {
		if note.Subject == subject {
			return string(note.Action) + " " + note.Rule
		}
	}
	return ""
}

// Rules that depend on the state of the host.
func TestUnitRules(t *testing.T) {
	is := func(state string) func(*Input) {
		return func(in *Input) { in.UnitFileState = func(string) string { return state } }
	}
	tests := []struct {
		name, units string
		edit        func(*Input)
		rule        string
		enabled     bool
		file        string // must be among the changes
	}{
		{"static", `{"name":"crio.service","enabled":true}`, is("static"), "report static", false, ""},
		{"disabled on the host", `{"name":"crio.service","enabled":true}`, is("disabled"), "", true, ""},
		{
			"mask taken off", `{"name":"crio.service","enabled":true,"mask":false}`,
			maskedUnit("/etc/systemd/system/crio.service"), "change unmask", true, "/etc/systemd/system/crio.service",
		},
		{"mask that does not exist", `{"name":"crio.service","mask":false}`, is("enabled"), "", false, ""},
		{
			"unit of a missing package",
			`{"name":"a.service","enabled":true,"dropins":[{"name":"1.conf","contents":"[Unit]\n"}]}`, nil, "report next-boot",
			true, "/etc/systemd/system/a.service.d/1.conf",
		},
		{
			"drop-in and missing", `{"name":"a.service","dropins":[{"name":"b.conf","contents":"[Unit]"}]}`, nil,
			"skip not-installed", false, "",
		},
		{
			"a container for the node's address",
			`{"name":"nodeip-configuration.service","enabled":true,"contents":"[Service]\nExecStart=/usr/bin/podman run\n[Install]\nWantedBy=a.target\n"}`, func(in *Input) { in.Hosted = false }, "report node-ip-container", true, "/etc/systemd/system/nodeip-configuration.service",
		},
		{
			"drop-in that a daemon reads", `{"name":"a.service","dropins":[{"name":"b.conf","contents":"[Unit]"}]}`,
			func(in *Input) { in.Hosted = false }, "report not-installed-extended", false,
			"/etc/systemd/system/a.service.d/b.conf",
		},
		{"disabled and missing", `{"name":"a.service","enabled":false}`, nil, "skip not-installed", false, ""},
		{"mask of a missing unit", `{"name":"a.service","mask":true}`, nil, "", false, "/etc/systemd/system/a.service"},
		{
			"template with a default",
			`{"name":"a@.service","enabled":true,"contents":"[Install]\nWantedBy=x.target\nDefaultInstance=b\n"}`, nil, "", true,
			"/etc/systemd/system/a@.service",
		},
		{
			"Install in a drop-in",
			`{"name":"a.service","enabled":true,"contents":"[Service]\n","dropins":[{"name":"1.conf","contents":"[Install]\nWantedBy=x.target\n"}]}`, nil, "", true, "/etc/systemd/system/a.service",
		},
		{
			"alone with Also", `{"name":"a.service","enabled":true,"contents":"[Install]\nAlso=b.service\n"}`, nil, "", true,
			"/etc/systemd/system/a.service",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			plan := adaptConfig(t, systemdConfig(test.units), test.edit)
			var subject string
			if len(plan.Notes) > 0 {
				subject = plan.Notes[0].Subject
			}
			if got := ruleFor(plan, subject); got != test.rule {
				t.Errorf("rule %q, want %q", got, test.rule)
			}
			if got := len(plan.Units) == 1; got != test.enabled {
				t.Errorf("enabled: %v", plan.Units)
			}
			has := func(c ledger.Change) bool { return c.Target == test.file }
			if test.file != "" && !slices.ContainsFunc(plan.Files, has) {
				t.Errorf("%s is not among the changes: %v", test.file, plan.Files)
			}
		})
	}
}

// Files that have an effect on the running host are noted.
func TestFileRules(t *testing.T) {
	for name, test := range map[string]struct{ path, content, want string }{
		"DHCP identity": {
			"/etc/NetworkManager/conf.d/a.conf", "[connection]\n ipv6.dhcp-duid = ll\n", "report dhcp-identity",
		},
		"let go": {
			"/etc/NetworkManager/conf.d/a.conf", "[keyfile]\nunmanaged-devices+=veth*\n", "report unmanaged-devices",
		},
		"let go of devices": {
			"/etc/NetworkManager/conf.d/a.conf", "[device]\nmatch-device=driver:veth\nmanaged=0\n", "report unmanaged-devices",
		},
		"ifcfg": {"/etc/NetworkManager/conf.d/a.conf", "[main]\nplugins=keyfile\n", "report ifcfg-profiles"},
		"harmless": {
			"/etc/NetworkManager/conf.d/a.conf", "[main]\nplugins=keyfile,ifcfg-rh\n# managed devices\n", "",
		},
		"profile":                 {"/etc/NetworkManager/system-connections/bond0.nmconnection", "", "report network-profile"},
		"nmstate":                 {"/etc/nmstate/bond.yml", "", "report nmstate-state"},
		"nmstate's own":           {"/etc/nmstate/nmstate.conf", "", ""},
		"registries":              {"/etc/containers/registries.conf", "", "report container-policy"},
		"audit":                   {"/etc/audit/rules.d/a.rules", "", "report audit-rules"},
		"systemd":                 {"/etc/systemd/system.conf.d/a.conf", "", "report manager-settings"},
		"tmpfiles":                {"/etc/tmpfiles.d/a.conf", "", "report tmpfiles"},
		"chrony":                  {"/etc/chrony.conf", "", "report clock"},
		"sshd":                    {"/etc/ssh/sshd_config.d/76-root.conf", "PermitRootLogin no\n", "report ssh-server"},
		"host key":                {"/etc/ssh/ssh_host_rsa_key.pub", "", "report ssh-host-key"},
		"keys of root":            {"/root/.ssh/authorized_keys", "", "report authorized-keys"},
		"keys of a user":          {"/var/home/core/.ssh/authorized_keys.d/ignition", "", ""},
		"PAM":                     {"/etc/pam.d/password-auth", "", "report authentication"},
		"sudo":                    {"/etc/sudoers.d/core", "", "report sudo"},
		"name service":            {"/etc/sssd/conf.d/ldap.conf", "", "report name-service"},
		"host name":               {"/etc/hostname", "worker\n", "report host-name"},
		"mounts":                  {"/etc/fstab", "", "report mounts-at-boot"},
		"SELinux":                 {"/etc/selinux/config", "SELINUX=disabled\n", "report selinux-mode"},
		"firewalld":               {"/etc/firewalld/zones/public.xml", "", "report firewall"},
		"proxy":                   {"/etc/mco/proxy.env", "HTTP_PROXY=http://proxy:3128\n", ""},
		"proxy's password":        {"/etc/mco/proxy.env", "HTTP_PROXY=http://me:pw@proxy:3128\n", "change secret-mode"},
		"passwords of PostgreSQL": {"/opt/app/.pgpass", "db:5432:*:me:pw\n", "change secret-mode"},
		"default proxy": {
			"/etc/kubernetes/manifests/kube-apiserver-proxy.yaml", ignitiontest.DefaultProxyPod("proxy:3128"), "",
		},
		"its password": {
			"/etc/kubernetes/manifests/kube-apiserver-proxy.yaml", ignitiontest.DefaultProxyPod("me:s3cr3t@proxy:3128"),
			"change secret-mode",
		},
		"of all shells": {
			"/etc/profile.d/proxy.sh", "export https_proxy=http://me:pw@proxy:3128\n", "report secret-of-users",
		},
	} {
		t.Run(name, func(t *testing.T) {
			config := fmt.Sprintf(`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":%q,"contents":%s}]}}`, test.path,
				ignitiontest.InlineContent(test.content))
			plan := adaptConfig(t, config, nil)
			if got := ruleFor(plan, test.path); got != test.want {
				t.Errorf("rule %q, want %q", got, test.want)
			}
			if len(plan.Files) != 1 || plan.Files[0].Target != test.path {
				t.Fatalf("changes %v", plan.Files)
			}
			private := *plan.Files[0].Desired.Mode == 0o600
			if private != (test.want == "change secret-mode") {
				t.Errorf("mode %04o", *plan.Files[0].Desired.Mode)
			}
			plan = adaptConfig(t, config, func(in *Input) { in.Facts.OSTree, in.Facts.OS.Variant = true, "coreos" })
			if len(plan.Notes) > 0 {
				t.Errorf("on RHEL CoreOS: %v", plan.Notes)
			}
		})
	}
}

// storageTree is a tree whose image storage is on another disk.
type storageTree struct{ emptyTree }

func (storageTree) ReadFile(string) ([]byte, hostfs.Info, error) {
	return []byte("[storage]\ngraphroot = \"/data/containers\"\n"), hostfs.Info{Type: hostfs.Regular}, nil
}

// podman of the host does not find its containers if the payload has another directory.
func TestMovedImageStorage(t *testing.T) {
	for dir, want := range map[string]string{
		"/var/lib/containers/storage": "report moved-image-storage", "/data/containers": "report container-policy",
	} {
		const file = "/etc/containers/storage.conf"
		content := ignitiontest.InlineContent("[storage]\ngraphroot = \"" + dir + "\"\n")
		config := fmt.Sprintf(`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":%q,"overwrite":true,
			"contents":%s}]}}`, file, content)
		plan := adaptConfig(t, config, func(in *Input) { in.Tree = storageTree{} })
		if got := ruleFor(plan, file); got != want {
			t.Errorf("%s: rule %q, want %q", dir, got, want)
		}
	}
}

// maskedUnit returns an edit that masks a unit on the host.
func maskedUnit(link string) func(*Input) {
	return func(in *Input) {
		in.UnitFileState = func(string) string { return "masked" }
		in.Tree = linkTree{path: link}
	}
}

// linkTree is a tree in which one path is a link to /dev/null.
type linkTree struct {
	emptyTree
	path string
}

func (l linkTree) Lstat(p string) (hostfs.Info, error) {
	if p == l.path {
		return hostfs.Info{Type: hostfs.Symlink, Link: "/dev/null"}, nil
	}
	return hostfs.Info{}, nil
}

func TestNmstateIsEnabledWithStateFiles(t *testing.T) {
	units := `"systemd":{"units":[{"name":"nmstate.service","enabled":true,"contents":"[Install]\nWantedBy=NetworkManager.service\n"}]}`
	with := adaptConfig(t,
		`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/nmstate/bond.yml","contents":{"source":"data:,a"}}]},`+units+`}`, nil)
	without := adaptConfig(t, `{"ignition":{"version":"3.2.0"},`+units+`}`, nil)
	if len(with.Units) != 1 || len(without.Units) != 0 {
		t.Errorf("with files: %v, without: %v", with.Units, without.Units)
	}
}

func TestExistingCoreUserGetsOnlyKeys(t *testing.T) {
	plan := adaptConfig(t,
		`{"ignition":{"version":"3.2.0"},"passwd":{"users":[{"name":"core","passwordHash":"x","uid":5,"sshAuthorizedKeys":["ssh-ed25519 AAAA"]}]}}`, func(in *Input) {
			in.User = map[string]int{"core": 1000}
		})
	if got := ruleFor(plan, "user core"); got != "change core-user" {
		t.Errorf("rule %q", got)
	}
	want := types.Passwd{
		Users: []types.PasswdUser{{Name: "core", SSHAuthorizedKeys: []types.SSHAuthorizedKey{"ssh-ed25519 AAAA"}}},
	}
	if diff := cmp.Diff(want, plan.Accounts); diff != "" {
		t.Errorf("accounts (-want +got):\n%s", diff)
	}
}

// An account of the payload can own a file of the payload before it has an ID.
func TestPayloadAccountsCanOwnFiles(t *testing.T) {
	plan := adaptConfig(t,
		`{"ignition":{"version":"3.2.0"},"passwd":{"users":[{"name":"core"},{"name":"probe"}],"groups":[{"name":"probes","gid":4711}]},
		"storage":{"files":[{"path":"/etc/a","user":{"name":"probe"},"group":{"name":"probes"}}]}}`, nil)
	if len(plan.Accounts.Users) != 1 || plan.Accounts.Users[0].Name != "probe" || len(plan.Accounts.Groups) != 1 {
		t.Errorf("accounts %+v", plan.Accounts)
	}
	if owned := plan.Files[0].Desired; owned.UID == nil || *owned.UID != -1 || owned.GID == nil || *owned.GID != 4711 {
		t.Errorf("%s belongs to %v:%v", plan.Files[0].Target, owned.UID, owned.GID)
	}
}

// The accounts of a host are not replaced.
func TestAccountsOfHostAreKept(t *testing.T) {
	plan := adaptConfig(t, `{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/passwd","overwrite":true,
		"contents":{"source":"data:,root:x:0:0::/root:/bin/bash"}}]}}`, nil)
	if got := ruleFor(plan, "/etc/passwd"); got != "skip accounts-of-host" || len(plan.Files) > 0 {
		t.Errorf("rule %q, changes %v", got, plan.Files)
	}
}
