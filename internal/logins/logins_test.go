// SPDX-License-Identifier: Apache-2.0

package logins

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// files is a tree in memory: contents by path.
type files map[string]string

func (f files) ReadFile(p string) ([]byte, bool) {
	content, found := f[p]
	return []byte(content), found
}

func (f files) ReadDir(p string) []string {
	var names []string
	for name := range f {
		if path.Dir(name) == p {
			names = append(names, path.Base(name))
		}
	}
	slices.Sort(names)
	return names
}

// with returns the tree with further files.
func (f files) with(changed files) files {
	all := maps.Clone(f)
	maps.Copy(all, changed)
	return all
}

// rhel is a host on which root logs in with a key, and admin with a password or a key.
var rhel = files{
	"/etc/passwd": "root:x:0:0::/root:/bin/bash\nbin:x:1:1::/bin:/sbin/nologin\n" +
		"admin:x:1000:1000::/home/admin:/bin/bash\n" +
		"locked:x:1001:1001::/home/locked:/bin/bash\n",
	"/etc/shadow":                      "root:*:1::::::\nadmin:$6$x$y:1::::::\nlocked:!!:1::::::\n",
	"/etc/group":                       "root:x:0:\nwheel:x:10:admin,locked\nadmin:x:1000:\nlocked:x:1001:\n",
	"/root/.ssh/authorized_keys":       "# of the site\nssh-ed25519 AAAAroot root@site\n",
	"/home/admin/.ssh/authorized_keys": "ssh-ed25519 AAAAadmin admin@site\n",
	"/etc/pam.d/sshd": "#%PAM-1.0\nauth substack password-auth\n" +
		"session [success=1 default=ignore] pam_x.so a\n",
	"/etc/pam.d/password-auth":        "auth sufficient pam_unix.so\n-auth optional pam_absent.so\n",
	"/usr/lib64/security/pam_unix.so": "",
	"/usr/lib64/security/pam_x.so":    "",
	"/etc/nsswitch.conf":              "passwd: sss files systemd\nshadow: files\ngroup: files\nhosts: files dns\n",
	"/etc/fstab": "UUID=1-2 / xfs defaults 0 0\n/dev/vg/home /home xfs defaults 0 0\n" +
		"UUID=3 none swap sw 0 0\n",
}

// defaults are sshd's settings on RHEL 9.
const defaults = `permitrootlogin without-password
pubkeyauthentication yes
passwordauthentication yes
kbdinteractiveauthentication no
usepam yes
authenticationmethods any
authorizedkeysfile .ssh/authorized_keys
authorizedkeyscommand none
trustedusercakeys none
`

const pamAccess = "account required pam_access.so\n"

// change returns the settings with some lines replaced.
func change(lines string) settings {
	s := parseSettings(defaults)
	maps.Copy(s, parseSettings(lines))
	return s
}

func TestUsers(t *testing.T) {
	want := []User{
		{Name: "root", Home: "/root", Groups: []string{"root"}},
		{Name: "admin", Home: "/home/admin", Groups: []string{"admin", "wheel"}, HasPassword: true},
		{Name: "locked", Home: "/home/locked", Groups: []string{"locked", "wheel"}},
	}
	if diff := cmp.Diff(want, Users(rhel)); diff != "" {
		t.Errorf("users (-want +got):\n%s", diff)
	}
}

// What remains of the logins of root and admin under settings of real payloads.
func TestCompare(t *testing.T) {
	for name, test := range map[string]struct {
		after   string // settings that differ from the defaults
		files   files  // of the payload
		lost    string // users, separated by commas
		refused bool
	}{
		"unchanged":          {},
		"no login of root":   {after: "permitrootlogin no", lost: "root"},
		"only for a command": {after: "permitrootlogin forced-commands-only", lost: "root"},
		"no passwords":       {after: "passwordauthentication no"},
		"neither passwords nor keys": {
			after: "passwordauthentication no\npubkeyauthentication no", lost: "root, admin", refused: true,
		},
		"only core":                   {after: "allowusers core", lost: "root, admin", refused: true},
		"only core, but root as well": {after: "allowusers core\nallowusers root", lost: "admin"},
		"a pattern":                   {after: "allowusers adm*", lost: "root"},
		"from this network":           {after: "allowusers *@192.0.2.0/24"},
		"from another network":        {after: "allowusers *@198.51.100.0/24", lost: "root, admin", refused: true},
		"a group":                     {after: "allowgroups wheel", lost: "root"},
		"a group without members":     {after: "allowgroups ssh-users", lost: "root, admin", refused: true},
		"a denied group":              {after: "denygroups wheel", lost: "admin"},
		"all denied":                  {after: "denyusers *", lost: "root, admin", refused: true},
		"two factors":                 {after: "authenticationmethods publickey,password", lost: "root"},
		"one of two":                  {after: "authenticationmethods publickey,password publickey"},
		"one that no user has": {
			after: "authenticationmethods gssapi-with-mic", lost: "root, admin", refused: true,
		},
		"keys elsewhere": {after: "authorizedkeysfile /etc/ssh/keys/%u", lost: "root"},
		"keys elsewhere, but the same": {
			after: "authorizedkeysfile /etc/ssh/keys/%u",
			files: files{"/etc/ssh/keys/root": rhel["/root/.ssh/authorized_keys"]},
		},
		"keys of others": {
			files: files{"/root/.ssh/authorized_keys": "ssh-ed25519 AAAAother\n"}, lost: "root",
		},
		"keys of others beside": {
			files: files{"/root/.ssh/authorized_keys": "ssh-ed25519 AAAAother\n" + rhel["/root/.ssh/authorized_keys"]},
		},
		"types of keys that no user has": {
			after: "pubkeyacceptedalgorithms ecdsa-sha2-nistp256,rsa-sha2-512\npasswordauthentication no", lost: "root, admin",
			refused: true,
		},
		"types of keys of an older sshd": {after: "pubkeyacceptedkeytypes ecdsa-sha2-nistp256", lost: "root"},
		"types of keys that users have":  {after: "pubkeyacceptedalgorithms ssh-ed25519,rsa-sha2-512"},
		"only root":                      {files: files{"/etc/nologin": "closed\n"}, lost: "admin"},
		"only root, who may not": {
			after: "permitrootlogin no", files: files{"/etc/nologin": ""}, lost: "root, admin", refused: true,
		},
		"only core by PAM": {
			files: files{"/etc/pam.d/sshd": pamAccess, accessFile: "# site\n-:ALL EXCEPT core:ALL\n"},
			lost:  "root, admin", refused: true,
		},
		"a group by PAM": {
			files: files{"/etc/pam.d/sshd": pamAccess, accessFile: "+ : (wheel) : ALL\n- : ALL : ALL\n"}, lost: "root",
		},
		"a group without parentheses by PAM": {
			files: files{"/etc/pam.d/sshd": pamAccess, accessFile: "+:wheel root:ALL\n-:ALL:ALL\n"},
		},
		"another network by PAM": {
			files: files{"/etc/pam.d/sshd": pamAccess, accessFile: "-:root:ALL EXCEPT 198.51.100.0/24\n"}, lost: "root",
		},
		"this network by PAM": {
			files: files{"/etc/pam.d/sshd": pamAccess, accessFile: "-:root:ALL EXCEPT 192.0.2.\n"},
		},
		"another file of PAM": {
			files: files{
				"/etc/pam.d/sshd":               "account required pam_access.so accessfile=/etc/security/access-ssh.conf\n",
				"/etc/security/access-ssh.conf": "-:ALL EXCEPT core:ALL\n",
			},
			lost: "root, admin", refused: true,
		},
		"no command but sftp":               {after: "forcecommand internal-sftp", lost: "root, admin", refused: true},
		"a recorded session":                {after: "forcecommand /usr/bin/tlog-rec-session"},
		"no sessions":                       {after: "maxsessions 0", lost: "root, admin", refused: true},
		"access.conf that is not read":      {files: files{accessFile: "-:ALL:ALL\n"}},
		"keyboard-interactive in its place": {after: "passwordauthentication no\nkbdinteractiveauthentication yes"},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Before: rhel, After: rhel.with(test.files), Changed: []string{"/etc/ssh/sshd_config"}, From: "192.0.2.7"}
			users := Users(rhel)
			before, after := map[string]settings{}, map[string]settings{}
			for _, user := range users {
				before[user.Name], after[user.Name] = parseSettings(defaults), change(test.after)
			}
			findings := in.compare(users, before, after)
			if test.lost == "" {
				if len(findings) > 0 {
					t.Fatalf("findings without a lost login: %+v", findings)
				}
				return
			}
			if len(findings) != 1 || findings[0].RefusesJoin != test.refused ||
				!strings.Contains(findings[0].Message, ": "+test.lost) {
				t.Errorf("got %+v, want the loss of %s, refused: %t", findings, test.lost, test.refused)
			}
			if want := "hcp-node-agent join --payload-drop=/etc/ssh/sshd_config"; findings[0].Remedy.Command() != want {
				t.Errorf("got remedy %q, want %q", findings[0].Remedy.Command(), want)
			}
		})
	}
}

// An administrator of sssd can log in with a password or Kerberos.
func TestRemoteAdministrator(t *testing.T) {
	admin := User{Name: "ann", Groups: []string{"admins"}, HasPassword: true, IsRemote: true}
	for name, test := range map[string]struct {
		after   string
		refused bool
	}{
		"only core":    {"allowusers core", true},
		"a group":      {"allowgroups admins", false},
		"no passwords": {"passwordauthentication no", true},
		"Kerberos":     {"passwordauthentication no\ngssapiauthentication yes", false},
	} {
		in := Input{Before: rhel, After: rhel, Changed: []string{"/etc/ssh/sshd_config"}, From: "192.0.2.7"}
		findings := in.compare([]User{admin}, map[string]settings{"ann": parseSettings(defaults)},
			map[string]settings{"ann": change(test.after)})
		if (report.Refusal(findings) != nil) != test.refused {
			t.Errorf("%s: %+v", name, findings)
		}
	}
	if user, exists := remoteUser(t.Context(), "root"); !exists || user.Home != "/root" || user.Groups[0] != "root" {
		t.Errorf("root of the name service: %+v, %t", user, exists)
	}
	if _, exists := remoteUser(t.Context(), "no-such-user"); exists {
		t.Error("a user exists that does not")
	}
}

// A host without any login has none to lose.
func TestNoLoginBefore(t *testing.T) {
	in := Input{Before: files{}, After: files{}, Changed: []string{"/etc/ssh/sshd_config"}}
	none := map[string]settings{"root": change("permitrootlogin no")}
	if findings := in.compare([]User{{Name: "root"}}, none, none); len(findings) > 0 {
		t.Errorf("findings: %+v", findings)
	}
}

// Files that decide about logins if the payload has only them.
func TestConcerns(t *testing.T) {
	for _, name := range []string{accessFile, "/etc/authselect/password-auth", "/etc/ssh/sshd_config.d/00-x.conf"} {
		if !Concerns(name) {
			t.Errorf("logins do not depend on %s", name)
		}
	}
}

func TestConfiguration(t *testing.T) {
	tree := files{
		"/etc/ssh/sshd_config": "Include /etc/ssh/sshd_config.d/*.conf\nPort 22\nMatch User a\n" +
			"  include = \"more\"\n",
		"/etc/ssh/sshd_config.d/50-redhat.conf": "Include /etc/crypto-policies/back-ends/opensshserver.config\n" +
			"",
		"/etc/ssh/sshd_config.d/other":                        "PermitRootLogin no\n",
		"/etc/ssh/more":                                       "Include /etc/ssh/more\nX11Forwarding no\n",
		"/etc/crypto-policies/back-ends/opensshserver.config": "Ciphers aes256-ctr\n",
	}
	got := files(configuration(tree, "COPY"))
	want := files{
		"/etc/ssh/sshd_config": "Include COPY/etc/ssh/sshd_config.d/*.conf\nPort 22\nMatch User a\n" +
			"include COPY/etc/ssh/more\n",
		"/etc/ssh/sshd_config.d/50-redhat.conf": "Include COPY/etc/crypto-policies/back-ends/opensshserver.config\n" +
			"",
		"/etc/ssh/more": "Include COPY/etc/ssh/more\nX11Forwarding no\n",
		"/etc/crypto-policies/back-ends/opensshserver.config": "Ciphers aes256-ctr\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("copy (-want +got):\n%s", diff)
	}
}
