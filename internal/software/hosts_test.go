// SPDX-License-Identifier: Apache-2.0

package software

import (
	"slices"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
)

func readTable(t *testing.T) Table {
	t.Helper()
	table, err := ReadTable()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func newPackage(name, version, el, repository string) dnf.Package {
	return dnf.Package{Name: name, Version: version, Release: "1." + el, Arch: "x86_64", Repository: repository}
}

// goodFacts returns the facts of a registered RHEL 9 host with all packages of a 4.18 node.
func goodFacts() Facts {
	table, _ := ReadTable() // TestTableIsComplete reads it
	return Facts{
		OS: hostinfo.OSRelease{ID: "rhel", Like: []string{"fedora"}, Version: "9.4"}, Arch: "amd64",
		Managed: true, Table: table, Requested: Release{4, 18}, Versions: Versions{Server: kube.MinorVersion(31)},
		Installed: packagesFor418("", "el9"), Subscription: Registered, Queried: true,
		Repositories: []dnf.Repository{{ID: rhocp9, Enabled: true}, {ID: fdp9, Enabled: true}},
	}
}

// withBinaries returns facts with the versions of the binaries in the installed packages.
func withBinaries(f Facts) Facts {
	for _, p := range f.Installed {
		version, _ := kube.ParseVersion(p.Version)
		switch p.Name {
		case "openshift-kubelet", "openshift-hyperkube":
			release, _ := ParseRelease(p.Version)
			f.Versions.Kubelet = kube.MinorVersion(f.Table.Kubernetes[release])
		case "cri-o":
			f.Versions.CRIO = version
		}
	}
	return f
}

// packagesFor418 returns the packages of RHEL 9 for 4.18 with their versions.
func packagesFor418(repository, el string) []dnf.Package {
	var list []dnf.Package
	for name, version := range map[string]string{
		"openshift-kubelet":              "4.18.0",
		"cri-o":                          "1.31.4",
		"cri-tools":                      "1.31.1",
		"conmon":                         "2.1.12",
		"crun":                           "1.16",
		"runc":                           "1.2.0",
		"container-selinux":              "2.235",
		"openvswitch3.5":                 "3.5.0",
		"NetworkManager-ovs":             "1.48",
		"podman":                         "5.2",
		"containernetworking-plugins":    "1.5",
		"nfs-utils":                      "2.5",
		"cifs-utils":                     "7.0",
		"iscsi-initiator-utils":          "6.2",
		"device-mapper-multipath":        "0.8",
		"chrony":                         "4.5",
		"python3-dnf-plugin-versionlock": "4.3",
	} {
		list = append(list, newPackage(name, version, el, repository))
	}
	slices.SortFunc(list, func(a, b dnf.Package) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// ofKubernetes36 replaces kubelet and CRI-O in list with the versions for Kubernetes 1.36.
func ofKubernetes36(list []dnf.Package, kubelet string) []dnf.Package {
	return append(without(list, "openshift-kubelet", "cri-o"), newPackage("openshift-kubelet", kubelet, "el9", ""),
		newPackage("cri-o", "1.36.1", "el9", ""))
}

func without(list []dnf.Package, names ...string) []dnf.Package {
	return slices.DeleteFunc(slices.Clone(list), func(p dnf.Package) bool { return slices.Contains(names, p.Name) })
}

const (
	rhocp9 = "rhocp-4.18-for-rhel-9-x86_64-rpms"
	fdp9   = "fast-datapath-for-rhel-9-x86_64-rpms"
)
