// SPDX-License-Identifier: Apache-2.0

package logins

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Files with which the host cannot authenticate its users or boot.
func TestCheckFiles(t *testing.T) {
	for name, test := range map[string]struct {
		files files
		want  string // in the message; "" for no finding
	}{
		"same":               {},
		"module of the host": {files{"/etc/pam.d/password-auth": "auth required pam_x.so\n"}, ""},
		"absent module": {
			files{"/etc/pam.d/password-auth": "auth required pam_faillock.so preauth\n"}, "pam_faillock.so",
		},
		"absent optional module": {
			files{"/etc/pam.d/password-auth": "-auth required pam_faillock.so\nauth required pam_unix.so\n"}, "",
		},
		"absent include":        {files{"/etc/pam.d/sshd": "auth include system-auth\n"}, "/etc/pam.d/system-auth"},
		"of another service":    {files{"/etc/pam.d/cron": "auth required pam_faillock.so\n"}, ""},
		"absent module of sudo": {files{"/etc/pam.d/sudo": "auth required \\\n pam_faillock.so\n"}, "pam_faillock.so"},
		"without local accounts": {
			files{"/etc/nsswitch.conf": "passwd: sss\nshadow: files\ngroup: files\n"}, "for passwd",
		},
		"without local accounts, but in a comment": {
			files{"/etc/nsswitch.conf": "passwd: sss # files\n"}, "for passwd",
		},
		"local accounts that are not reached": {
			files{"/etc/nsswitch.conf": "passwd: sss [SUCCESS=return NOTFOUND=return] files\n"}, "for passwd",
		},
		"local accounts by default": {files{"/etc/nsswitch.conf": "passwd: sss files\nhosts: dns\n"}, ""},
		"other order":               {files{"/etc/nsswitch.conf": "passwd: files sss\nshadow: files\ngroup: files\n"}, ""},
		"home not mounted":          {files{"/etc/fstab": "UUID=1-2 / xfs defaults 0 0\n"}, "does not mount /home"},
		"absent device": {
			files{"/etc/fstab": rhel["/etc/fstab"] + "LABEL=data /data xfs defaults 0 0\n"}, "requires LABEL=data",
		},
		"present device": {files{"/etc/fstab": rhel["/etc/fstab"] + "/dev/vdb /data xfs defaults 0 0\n"}, ""},
		"present device whose label has a space": {
			files{"/etc/fstab": rhel["/etc/fstab"] + "LABEL=my\\040data /data xfs defaults 0 0\n"}, "",
		},
		"mounted when it is used": {
			files{"/etc/fstab": rhel["/etc/fstab"] + "LABEL=data /data xfs x-systemd.automount 0 0\n"}, "",
		},
		"home with a slash": {
			files{"/etc/fstab": "UUID=1-2 / xfs defaults 0 0\n/dev/vg/home /home/ xfs defaults 0 0\n"}, "",
		},
		"absent optional device":  {files{"/etc/fstab": rhel["/etc/fstab"] + "LABEL=data /data xfs nofail 0 0\n"}, ""},
		"file system of a server": {files{"/etc/fstab": rhel["/etc/fstab"] + "nas:/x /data nfs defaults 0 0\n"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Before: rhel, After: rhel.with(test.files), Changed: slices.Collect(maps.Keys(test.files))}
			in.Exists = func(p string) bool {
				return p == "/dev/vdb" || p == "/dev/vg/home" || p == `/dev/disk/by-label/my\x20data`
			}
			findings := in.checkFiles()
			if test.want == "" {
				if len(findings) > 0 {
					t.Errorf("findings: %+v", findings)
				}
				return
			}
			if err := report.Refusal(findings); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want a refusal with %q", err, test.want)
			}
		})
	}
}

func TestCheckUnits(t *testing.T) {
	in := Input{Changed: []string{"/etc/ssh/sshd_config", "sshd.service"}}
	findings := in.checkUnits()
	if len(findings) != 1 || findings[0].Remedy.Command() != "hcp-node-agent join --payload-drop=sshd.service" {
		t.Errorf("findings: %+v", findings)
	}
}

// visudo itself checks the files of sudo.
func TestCheckSudoers(t *testing.T) {
	const file = "/etc/sudoers.d/core"
	for content, want := range map[string]string{
		"core ALL=(ALL) NOPASSWD:ALL\n": "",
		"core ALL=(ALL NOPASSWD:ALL\n":  "sudo cannot read " + file,
	} {
		in := Input{After: files{file: content}, Changed: []string{file}}
		err := report.Refusal(in.checkSudoers(t.Context()))
		if (err == nil) != (want == "") || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", content, err, want)
		}
	}
}

func TestCheckListening(t *testing.T) {
	for name, test := range map[string]struct {
		after    string
		findings int
		refused  bool
	}{
		"same":         {"listenaddress [::]:22\nlistenaddress 0.0.0.0:22\n", 0, false},
		"one more":     {"listenaddress [::]:22\nlistenaddress 0.0.0.0:22\nlistenaddress 0.0.0.0:2222\n", 0, false},
		"only IPv4":    {"listenaddress 0.0.0.0:22\n", 1, false},
		"another port": {"listenaddress [::]:2222\nlistenaddress 0.0.0.0:2222\n", 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			before := map[string]settings{"root": parseSettings("listenaddress [::]:22\nlistenaddress 0.0.0.0:22\n")}
			findings := Input{}.checkListening(before, map[string]settings{"root": parseSettings(test.after)})
			if len(findings) != test.findings || (report.Refusal(findings) != nil) != test.refused {
				t.Errorf("findings: %+v", findings)
			}
		})
	}
}

// Users of sssd, whom the host does not list, could not log in any more.
func TestNameServiceWithoutSource(t *testing.T) {
	after := rhel.with(files{"/etc/nsswitch.conf": "passwd: files\nshadow: files\ngroup: files\n"})
	in := Input{Before: rhel, After: after}
	findings := in.checkNameService()
	if len(findings) != 1 || findings[0].RefusesJoin || !strings.Contains(findings[0].Message, "passwd from sss") {
		t.Errorf("findings: %+v", findings)
	}
}

// A file without the directory of the host's rules ends those.
func TestSudoWithoutDirectory(t *testing.T) {
	before := files{"/etc/sudoers": "@includedir /etc/sudoers.d\n", "/etc/sudoers.d/site": "admin ALL=(ALL) ALL\n"}
	in := Input{Before: before, After: before.with(files{"/etc/sudoers": "root ALL=(ALL) ALL\n"})}
	findings := in.checkSudo()
	if len(findings) != 1 || !strings.HasSuffix(findings[0].Message, "for: admin") {
		t.Errorf("findings: %+v", findings)
	}
}

func TestCheckSudo(t *testing.T) {
	before := files{
		"/etc/sudoers": "Defaults !visiblepw\nCmnd_Alias A = /bin/a\nroot ALL=(ALL) ALL\n" +
			"%wheel ALL=(ALL) ALL\n#includedir /etc/sudoers.d\n",
		"/etc/sudoers.d/site": "admin ALL=(ALL) \\\n NOPASSWD: ALL\n",
		"/etc/sudoers.d/a.b":  "ignored ALL=(ALL) ALL\n",
	}
	changed := files{"/etc/sudoers": "root ALL=(ALL) ALL\ncore ALL=(ALL) ALL\n@includedir /etc/sudoers.d\n"}
	in := Input{Before: before, After: before.with(changed), Changed: []string{"/etc/sudoers"}}
	findings := in.checkSudo()
	if len(findings) != 1 || !strings.HasSuffix(findings[0].Message, "for: %wheel") || findings[0].RefusesJoin {
		t.Errorf("findings: %+v", findings)
	}
}

// A hardened rule without NOPASSWD ends sudo for users who log in with keys.
func TestSudoWithPassword(t *testing.T) {
	const file = "/etc/sudoers"
	before := rhel.with(files{file: "locked ALL=(ALL) NOPASSWD: ALL\nadmin ALL=(ALL) NOPASSWD: ALL\n"})
	for rules, want := range map[string]string{
		"locked ALL=(ALL) ALL\nadmin ALL=(ALL) ALL\n":           "none: locked",
		"locked ALL=(ALL) NOPASSWD: ALL\nadmin ALL=(ALL) ALL\n": "",
	} {
		findings := Input{Before: before, After: before.with(files{file: rules})}.checkSudo()
		if (len(findings) > 0) != (want != "") || len(findings) > 0 && !strings.HasSuffix(findings[0].Message, want) {
			t.Errorf("%q: %+v, want %q", rules, findings, want)
		}
	}
}
