// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/hostclass"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const mounts = `22 1 253:0 / / rw,relatime shared:1 - xfs /dev/mapper/rhel-root rw,attr2,inode64,noquota
30 22 253:1 / /var rw,relatime shared:2 - xfs /dev/mapper/rhel-var rw,inode64,prjquota
31 30 253:2 / /var/lib/containers\040old rw - ext4 /dev/sdb rw
32 22 0:40 / /var/lib/kubelet/pods rw - tmpfs tmpfs rw
33 22 253:3 / /home rw,noatime master:3 - ext4 /dev/sdc rw,discard
`

func TestFindInMountinfo(t *testing.T) {
	for path, want := range map[string]string{
		"/var/lib/containers": "/var xfs", "/etc": "/ xfs", "/home/user": "/home ext4", "/homes": "/ xfs",
		"/var/lib/containers old/x": "/var/lib/containers old ext4",
	} {
		got := fileSystemOf(hostfs.ParseMounts(mounts), path)
		if got.MountPoint+" "+got.Type != want {
			t.Errorf("%s: %+v, want %s", path, got, want)
		}
	}
	if got := fileSystemOf(hostfs.ParseMounts(mounts), "/var/lib"); !slices.Contains(got.Options, "prjquota") ||
		!slices.Contains(got.Options, "relatime") {
		t.Errorf("options %v", got.Options)
	}
	later := mounts + "40 30 253:9 / /var rw - btrfs /dev/sdd rw\n"
	if got := fileSystemOf(hostfs.ParseMounts(later), "/var/lib"); got.Type != "btrfs" {
		t.Errorf("%+v, want what was mounted last", got)
	}
}

// A container size limit requires XFS with project quotas. Otherwise CRI-O does not start.
func TestOverlaySizeNeedsProjectQuotas(t *testing.T) {
	for name, test := range map[string]struct {
		size         string
		storage      FileSystem
		want, remedy string
	}{
		"no size":         {"", FileSystem{"/", "ext4", nil}, "", ""},
		"XFS with quotas": {"8Gi", FileSystem{"/var", "xfs", []string{"rw", "prjquota"}}, "", ""},
		"XFS without quotas": {
			"8Gi",
			FileSystem{"/var", "xfs", []string{"rw", "noquota"}},
			"limits containers to 8Gi (overlaySize), but the file system /var", "findmnt --fstab /var # add pquota",
		},
		"XFS of user quotas": {
			"8Gi",
			FileSystem{"/", "xfs", []string{"usrquota"}},
			"without project quotas",
			"grubby --update-kernel=ALL --args=rootflags=pquota # then reboot this host\n",
		},
		"ext4":      {"8Gi", FileSystem{"/", "ext4", []string{"prjquota"}}, "is ext4: CRI-O requires XFS", "XFS"},
		"not known": {"8Gi", FileSystem{}, "", ""},
	} {
		var message, remedy string
		for _, finding := range Run(PayloadChecks(), PayloadFacts{OverlaySize: test.size, Storage: test.storage}).Findings {
			if finding.Check == "overlay-size" && finding.Severity == report.SeverityProblem {
				message, remedy = finding.Message, string(finding.Remedy)
			}
		}
		if (message == "") != (test.want == "") || !strings.Contains(message, test.want) ||
			!strings.Contains(remedy, test.remedy) {
			t.Errorf("%s: %q, %q; want %q, %q", name, message, remedy, test.want, test.remedy)
		}
	}
}

// grubby --args replaces the value of rootflags: the remedy contains the options that the host has.
func TestQuotaRemedyKeepsRootFlags(t *testing.T) {
	for cmdline, want := range map[string]string{
		"root=UUID=1 ro":                                  "rootflags=pquota",
		"ro rootflags=subvol=root quiet":                  "rootflags=subvol=root,pquota",
		"rootflags=noquota,inode64":                       "rootflags=inode64,pquota",
		"rootflags=uquota rootflags=x-a=1,uquota,":        "rootflags=uquota,x-a=1,pquota",
		`rootflags="discard,logbufs=8" norootflags=other`: "rootflags=discard,logbufs=8,pquota",
	} {
		facts := PayloadFacts{OverlaySize: "8Gi", Storage: FileSystem{"/", "xfs", nil}}
		facts.Host.Cmdline = strings.Fields(cmdline)
		for _, class := range []hostclass.Class{hostclass.PackageMode, hostclass.Bootc} {
			result := Result{Findings: checkOverlaySize(facts)}.ForClass(class)
			command, _, _ := strings.Cut(string(result.Findings[0].Remedy), " # ")
			words := strings.Fields(command)
			if got := words[len(words)-1]; !strings.HasSuffix(got, "="+want) {
				t.Errorf("%s: %q: %q, want %q", class, cmdline, command, want)
			}
		}
	}
}

// A directory on a disk that is not mounted ends the join only after files were written.
func TestDanglingLinks(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"var/lib", "data/containers", "etc"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"var/lib/kubelet": "/disk/kubelet", "var/lib/containers": "../../data/containers", "etc/cni": "../disk",
	} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := hostfs.OpenTree(root)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	findings := checkKubeletDirectory(HostFacts{DanglingLinks: DanglingLinks(tree)})
	if err := report.Refusal(findings); err == nil || !strings.HasSuffix(err.Error(), ": /var/lib/kubelet, /etc/cni") {
		t.Errorf("findings: %+v", findings)
	}
}
