// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"cmp"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"
	"k8s.io/utils/ptr"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/entries"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// diskNotes contains notes about the partitions, RAIDs, encrypted devices and file systems of a payload. On RHEL
// CoreOS, Ignition creates them at the first boot; on other hosts, the payload is refused.
type diskNotes struct {
	hasDevice     func(path string) bool // nil if it is unknown
	hasFileSystem func(path string) bool // nil if it is unknown
	notes         []Note
}

// addAll adds a note for each entry of storage that the first boot creates.
func (d *diskNotes) addAll(storage types.Storage) {
	for _, disk := range storage.Disks {
		if len(disk.Partitions) == 0 {
			d.add("partition table of "+disk.Device, false, false)
		}
		for _, partition := range disk.Partitions {
			label := ptr.Deref(partition.Label, "")
			exists := d.exists(hostinfo.DiskLink("partlabel", label))
			d.add("partition "+cmp.Or(label, strconv.Itoa(partition.Number))+" of "+disk.Device, label != "", exists)
		}
	}
	for _, raid := range storage.Raid {
		d.add("RAID "+raid.Name, true, d.exists("/dev/md/"+raid.Name))
	}
	for _, luks := range storage.Luks {
		d.add("encrypted device "+luks.Name, true, d.exists("/dev/mapper/"+luks.Name))
	}
	for _, fileSystem := range storage.Filesystems {
		label, at := ptr.Deref(fileSystem.Label, ""), ptr.Deref(fileSystem.Path, "")
		switch {
		case at != "" && at != "/":
			d.add("file system "+at, true, d.hasFileSystem != nil && d.hasFileSystem(at))
		case label != "":
			d.add("file system "+label, true, d.exists(hostinfo.DiskLink("label", label)))
		default:
			d.add("file system of "+fileSystem.Device, true, d.exists(fileSystem.Device))
		}
	}
}

func (d *diskNotes) exists(device string) bool {
	return d.hasDevice != nil && d.hasDevice(device)
}

func (d *diskNotes) add(subject string, isComparable, exists bool) {
	note := Note{Subject: subject, Action: Skip, Rule: "first-boot-disk"}
	switch {
	case !isComparable || d.hasDevice == nil:
		note.Reason = "left to the first boot of RHEL CoreOS; the agent does not create it"
	case exists:
		note.Reason = "exists on this host: applied at the first boot"
	default:
		note.Action, note.Reason = Unsupported, "not applied on this host: only the first boot of RHEL CoreOS creates it"
		note.Remedy = "# provision the host again with the user data of the NodePool, if its pods need it"
	}
	d.notes = append(d.notes, note)
}

// checkMounts refuses units of the payload because of which the host would not boot: they mount a device that does not
// exist, and local-fs.target requires them. systemd starts the emergency shell then (bootup(7)).
func checkMounts(provided map[string]types.Unit, hasDevice func(path string) bool) error {
	if hasDevice == nil {
		return nil
	}
	var missing []string
	drop := ""
	for _, name := range slices.Sorted(maps.Keys(provided)) {
		u := provided[name]
		if !isEnabled(u) || path.Ext(name) != ".mount" ||
			!slices.Contains(strings.Fields(strings.Join(sectionValues(u, "Install", "RequiredBy"), " ")), "local-fs.target") {
			continue
		}
		options := strings.Split(strings.Join(sectionValues(u, "Mount", "Options"), ","), ",")
		for _, source := range sectionValues(u, "Mount", "What") {
			device := hostinfo.DeviceOf(source)
			if device != "" && !hasDevice(device) && !slices.Contains(options, "nofail") {
				missing = append(missing, name+" ("+source+")")
				drop += " --payload-drop " + report.ShellWord(name)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return report.Fail(report.Refused, report.Remedyf("lsblk -f # provision the host with these devices, use the user "+
		"data of another NodePool, or exclude the units:%s", drop),
		"the host would not boot: local-fs.target would require units of the payload whose devices do not exist: %s",
		strings.Join(missing, ", "))
}

// overwriting matches the commands that overwrite block devices, and their arguments. systemd-makefs is not one: it
// leaves a device with a file system alone.
var overwriting = regexp.MustCompile(
	`\b(?:mkfs(?:\.\w+)?|mke2fs|mkswap|wipefs|sgdisk|sfdisk|pvcreate|vgcreate|blkdiscard|luksFormat|` +
		`mdadm (?:--create|-C)|parted\s[^;&|]*\b(?:mklabel|mktable))\s[^;&|]*|\bof=/dev/[^\s;&|]*`)

var devicePath = regexp.MustCompile(`/dev/[\w/.:+-]+`)

// checkOverwrites refuses units of the payload that overwrite a device of the host with content: they are meant for the
// disks of new machines. A unit that the host already has, and one that checks the device with blkid, are accepted.
func checkOverwrites(
	provided map[string]types.Unit, tree entries.Tree, hasContent func(path string) bool,
) error {
	if hasContent == nil {
		return nil
	}
	var found, names []string
	for _, name := range slices.Sorted(maps.Keys(provided)) {
		u := provided[name]
		now, _, err := tree.ReadFile(path.Join(unitDirectory, name))
		if err == nil && string(now) == ptr.Deref(u.Contents, "") {
			continue
		}
		for _, line := range sectionValues(u, "Service", "ExecStartPre", "ExecStart", "ExecStartPost") {
			commands := strings.Join(overwriting.FindAllString(line, -1), " ")
			for _, device := range devicePath.FindAllString(commands, -1) {
				if !strings.Contains(line, "blkid") && hasContent(device) {
					found, names = append(found, name+" ("+device+")"), lists.AppendMissing(names, name)
				}
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	return report.Fail(report.Refused, report.Remedyf("hcp-node-agent join --payload-drop=%s # or use the user data of "+
		"another NodePool; a device without data: wipefs --all DEVICE", report.ShellWord(strings.Join(names, ","))),
		"units of the payload would overwrite devices of this host that have data: %s", strings.Join(found, ", "))
}
