// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/ignitiontest"
)

// Each kind of files that take effect later has one note with the effect. RHEL CoreOS is rebooted by the join.
func TestFilesOfTheNextBootAreNoted(t *testing.T) {
	rules := map[string][]string{
		"quadlet":           {"/etc/containers/systemd/app.container", "/etc/containers/systemd/users/0/a.kube"},
		"unit-as-file":      {"/etc/systemd/system/own.service", "/etc/systemd/system/multi-user.target.wants/own.service"},
		"udev-rules":        {"/etc/udev/rules.d/70-own.rules", "/etc/udev/hwdb.d/a.hwdb"},
		"link-settings":     {"/etc/systemd/network/10-uplink.link"},
		"module-options":    {"/etc/modprobe.d/blacklist.conf", "/etc/modprobe.d/mlx.conf"},
		"initramfs":         {"/etc/dracut.conf.d/own.conf"},
		"boot-loader":       {"/etc/default/grub"},
		"encrypted-devices": {"/etc/crypttab"},
		"boot-programs":     {"/etc/sysusers.d/own.conf", "/etc/rc.d/rc.local"},
		"selinux-mode":      {"/etc/selinux/config"},
		"tuned":             {"/etc/tuned/own/tuned.conf", "/etc/tuned/active_profile"},
		"daemon-settings":   {"/etc/multipath.conf", "/etc/systemd/journald.conf.d/own.conf", "/etc/sysconfig/own"},
		"":                  {"/etc/systemd/system/own.service.d/10-a.conf", "/etc/own.conf", "/etc/systemd/system/own.sh"},
	}
	var files []string
	for _, paths := range rules {
		for _, path := range paths {
			files = append(files, fmt.Sprintf(`{"path":%q,"contents":%s}`, path, ignitiontest.InlineContent("a\n")))
		}
	}
	config := `{"ignition":{"version":"3.4.0"},"storage":{"files":[` + strings.Join(files, ",") + `]}}`
	notes := adaptConfig(t, config, nil).Notes
	for rule, paths := range rules {
		count := 0
		for _, note := range notes {
			for _, path := range paths {
				if strings.Contains("; "+note.Subject+";", "; "+path+";") {
					count++
					if note.Rule != rule || note.Action != Report {
						t.Errorf("%s: %s", path, note)
					}
				}
			}
		}
		if want := map[bool]int{true: 0, false: len(paths)}[rule == ""]; count != want {
			t.Errorf("rule %q: %d of %d paths in notes", rule, count, want)
		}
	}
	if len(notes) != len(rules)-1 {
		t.Errorf("%d notes, want %d: %v", len(notes), len(rules)-1, notes)
	}
	native := adaptConfig(t, config, func(in *Input) { in.Facts.OSTree, in.Facts.OS.Variant = true, "coreos" })
	if len(native.Notes) != 0 {
		t.Errorf("RHEL CoreOS: %v", native.Notes)
	}
}

func TestManyFilesOfAKindAreAbbreviated(t *testing.T) {
	var files []string
	for i := range 8 {
		files = append(files, fmt.Sprintf(`{"path":"/etc/udev/rules.d/%d.rules"}`, i))
	}
	notes := adaptConfig(t,
		`{"ignition":{"version":"3.4.0"},"storage":{"files":[`+strings.Join(files, ",")+`]}}`, nil).Notes
	if len(notes) != 1 || !strings.HasSuffix(notes[0].Subject, "/4.rules; and 3 more") {
		t.Errorf("notes %v", notes)
	}
}

func TestUnitsOfTheEarlyBootAreNoted(t *testing.T) {
	for unit, want := range map[string]string{
		`{"name":"data.mount","enabled":true,"contents":"[Mount]\nWhat=/dev/vdb\n[Install]\nRequiredBy=local-fs.target\n"}`:      "next-boot-mount",
		`{"name":"data.automount","enabled":true,"contents":"[Automount]\n[Install]\nWantedBy=multi-user.target\n"}`:             "next-boot-mount",
		`{"name":"a.swap","enabled":true,"contents":"[Swap]\n[Install]\nWantedBy=swap.target\n"}`:                                "next-boot-mount",
		`{"name":"data.mount","contents":"[Mount]\nWhat=/dev/vdb\n"}`:                                                            "",
		`{"name":"early.service","enabled":true,"contents":"[Service]\nExecStart=/bin/a\n[Install]\nWantedBy=sysinit.target\n"}`: "next-boot",
	} {
		got := ""
		for _, note := range adaptConfig(t, systemdConfig(unit), nil).Notes {
			got += note.Rule
		}
		if got != want {
			t.Errorf("%s: %q, want %q", unit, got, want)
		}
	}
}
