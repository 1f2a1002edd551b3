// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const disksOfTheFirstBoot = `{"ignition":{"version":"3.4.0"},"storage":{
"disks":[{"device":"/dev/vda","partitions":[{"label":"var","startMiB":25000,"sizeMiB":0},{"label":"my data","startMiB":1},{"number":9}]},{"device":"/dev/vdc","wipeTable":true}],
"raid":[{"name":"md-data","level":"raid1","devices":["/dev/sdb","/dev/sdc"]}],
"luks":[{"name":"root","label":"luks-root","device":"/dev/disk/by-partlabel/root","clevis":{"tpm2":true}}],
"filesystems":[{"device":"/dev/disk/by-partlabel/var","format":"xfs","path":"/var"},
{"device":"/dev/mapper/root","format":"xfs","label":"root","path":"/"},{"device":"/dev/vdb","format":"swap"}]}}`

// What Ignition creates at the first boot of RHEL CoreOS is compared with the host. Other hosts are refused.
func TestDisksOfTheFirstBoot(t *testing.T) {
	provisioned := func(in *Input) {
		in.Facts.OSTree, in.Facts.OS.Variant = true, "coreos"
		in.HasDevice = func(string) bool { return true }
		in.HasFileSystem = in.HasDevice
	}
	for name, test := range map[string]struct {
		edit func(*Input)
		want []string
	}{
		"applied": {provisioned, []string{
			"skip partition var of /dev/vda: exists", "skip partition my data of /dev/vda: exists",
			"skip partition 9 of /dev/vda: left", "skip partition table of /dev/vdc: left", "skip RAID md-data: exists",
			"skip encrypted device root: exists",
			"skip file system /var: exists", "skip file system root: exists", "skip file system of /dev/vdb: exists",
		}},
		"joins while it runs": {
			func(in *Input) {
				provisioned(in)
				in.HasDevice = func(path string) bool {
					return slices.Contains([]string{"/dev/disk/by-partlabel/my\\x20data", "/dev/disk/by-label/root"}, path)
				}
				in.HasFileSystem = func(string) bool { return false }
			},
			[]string{
				"unmet partition var of /dev/vda: not", "skip partition my data of /dev/vda: exists",
				"skip partition 9 of /dev/vda: left", "skip partition table of /dev/vdc: left", "unmet RAID md-data: not",
				"unmet encrypted device root: not", "unmet file system /var: not",
				"skip file system root: exists", "unmet file system of /dev/vdb: not",
			},
		},
		"plan for another host": {
			func(in *Input) { provisioned(in); in.HasDevice, in.HasFileSystem = nil, nil },
			[]string{
				"skip partition var of /dev/vda: left", "skip partition my data of /dev/vda: left",
				"skip partition 9 of /dev/vda: left", "skip partition table of /dev/vdc: left", "skip RAID md-data: left",
				"skip encrypted device root: left",
				"skip file system /var: left", "skip file system root: left", "skip file system of /dev/vdb: left",
			},
		},
	} {
		var got []string
		for _, note := range adaptConfig(t, disksOfTheFirstBoot, test.edit).Notes {
			if note.Rule == "first-boot-disk" {
				got = append(got, string(note.Action)+" "+note.Subject+": "+strings.Fields(note.Reason)[0])
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	p, err := ignition.LoadPayload([]byte(disksOfTheFirstBoot))
	if err != nil {
		t.Fatal(err)
	}
	for _, isImage := range []bool{false, true} {
		in := plainHost()
		in.Facts.OSTree = isImage
		_, err := ToHost(p, in)
		if remedy := string(report.RemedyOf(err)); report.CodeOf(err) != report.Usage ||
			!strings.Contains(remedy, "the user data of a NodePool without") || strings.Contains(remedy, "in the config") {
			t.Errorf("image mode %t: %v, remedy %q", isImage, err, remedy)
		}
	}
}

// A mount that local-fs.target requires, of a device that does not exist, ends each boot in the emergency shell.
func TestMountsOfMissingDevicesAreRefused(t *testing.T) {
	const head, required = `{"name":"var.mount","enabled":true,"contents":"[Mount]\nWhere=/var\nWhat=`,
		`\n[Install]\nRequiredBy=local-fs.target\n"}`
	const device = "/dev/disk/by-partlabel/var"
	for name, test := range map[string]struct {
		unit      string
		edit      func(*Input)
		isRefused bool
	}{
		"missing":   {unit: head + device + required, isRefused: true},
		"label":     {unit: head + "LABEL=data" + required, isRefused: true},
		"exists":    {unit: head + "/dev/vdb" + required},
		"unknown":   {unit: head + device + required, edit: func(in *Input) { in.HasDevice = nil }},
		"excluded":  {unit: head + device + required, edit: func(in *Input) { in.Exclude = []string{"var.mount"} }},
		"may fail":  {unit: head + device + `\nOptions=defaults,nofail` + required},
		"NFS":       {unit: head + "nfs.example.com:/var" + required},
		"not local": {unit: head + device + `\n[Install]\nWantedBy=multi-user.target\n"}`},
		"disabled":  {unit: strings.Replace(head, "true", "false", 1) + device + required},
		"RHEL CoreOS": {
			unit: head + device + required, isRefused: true,
			edit: func(in *Input) { in.Facts.OSTree, in.Facts.OS.Variant = true, "coreos" },
		},
	} {
		p, err := ignition.LoadPayload([]byte(systemdConfig(test.unit)))
		if err != nil {
			t.Fatal(err)
		}
		in := plainHost()
		in.HasDevice = func(path string) bool { return path == "/dev/vdb" }
		if test.edit != nil {
			test.edit(&in)
		}
		_, err = ToHost(p, in)
		isRefused := report.CodeOf(err) == report.Refused && strings.Contains(err.Error(), "var.mount (")
		if isRefused != test.isRefused || (err != nil && !isRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Units that prepare the second disk of new machines (OpenShift's documentation of separate file systems) are not run
// on a host whose disk has data.
func TestUnitsThatOverwriteDevices(t *testing.T) {
	for name, test := range map[string]struct {
		command   string
		edit      func(*Input)
		isRefused bool
	}{
		"forced":             {command: "/usr/sbin/mkfs.xfs -f /dev/vdb", isRefused: true},
		"in a shell":         {command: "-/bin/bash -c '/sbin/wipefs -a /dev/vdb; mkfs.ext4 /dev/vdc'", isRefused: true},
		"RAID":               {command: "mdadm --create /dev/md0 --level=1 -n 2 /dev/vdc /dev/vdb", isRefused: true},
		"encrypted":          {command: "cryptsetup -q luksFormat /dev/vdb /etc/key", isRefused: true},
		"swap space":         {command: "/usr/sbin/mkswap /dev/vdb", isRefused: true},
		"volume group":       {command: "/usr/sbin/vgcreate data /dev/vdb", isRefused: true},
		"partition table":    {command: "/usr/sbin/parted -s /dev/vdb mklabel gpt", isRefused: true},
		"zeros":              {command: "/usr/bin/dd if=/dev/zero of=/dev/vdb bs=1M", isRefused: true},
		"copies the device":  {command: "/usr/bin/dd if=/dev/vdb of=/var/backup"},
		"prints partitions":  {command: "/usr/sbin/parted -s /dev/vdb print"},
		"empty device":       {command: "/usr/sbin/mkfs.xfs -f /dev/vdc"},
		"leaves data alone":  {command: "/usr/lib/systemd/systemd-makefs xfs /dev/vdb"},
		"checks the device":  {command: "/bin/sh -c '/sbin/blkid /dev/vdb || /sbin/mkfs.xfs /dev/vdb'"},
		"reads the device":   {command: "/bin/sh -c '/sbin/mkfs.xfs -f /dev/vdc && /bin/mount /dev/vdb /x'"},
		"excluded":           {command: "mkfs.xfs /dev/vdb", edit: func(in *Input) { in.Exclude = []string{"a.service"} }},
		"of the host itself": {command: "mkfs.xfs /dev/vdb", edit: func(in *Input) { in.Tree = unitTree{} }},
		"unknown":            {command: "mkfs.xfs /dev/vdb", edit: func(in *Input) { in.HasContent = nil }},
	} {
		unit := `{"name":"a.service","enabled":true,"contents":"[Service]\nExecStart=` + test.command + `\n"}`
		p, err := ignition.LoadPayload([]byte(systemdConfig(unit)))
		if err != nil {
			t.Fatal(err)
		}
		in := plainHost()
		in.HasContent = func(path string) bool { return path == "/dev/vdb" }
		if test.edit != nil {
			test.edit(&in)
		}
		_, err = ToHost(p, in)
		isRefused := report.CodeOf(err) == report.Refused && strings.Contains(err.Error(), "a.service (/dev/vdb)")
		if isRefused != test.isRefused || (err != nil && !isRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// unitTree is a tree with the unit of the payload.
type unitTree struct{ emptyTree }

func (unitTree) ReadFile(string) ([]byte, hostfs.Info, error) {
	return []byte("[Service]\nExecStart=mkfs.xfs /dev/vdb\n"), hostfs.Info{Type: hostfs.Regular}, nil
}
