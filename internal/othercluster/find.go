// SPDX-License-Identifier: Apache-2.0

package othercluster

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// Leftover is a file or directory of a cluster on a host that has not joined one.
type Leftover struct {
	Path string `json:"path" doc:"path of the file, or of the directory with all its contents"`
	What string `json:"what" doc:"what the file is for"`
}

// place is a directory in which clusters leave files.
type place struct {
	dir       string
	names     []string // patterns of path.Match
	what      string
	onlyFiles bool // directories are not used
	// isOfCluster reports whether a file is that of a cluster, by its content. Nil: each file is.
	isOfCluster func(content []byte) bool
}

const networkPlugin = "configuration of a network plugin"

// places returns the directories that kubelet, CRI-O and the pods of a new node would use with the files in them. They
// contain no file with these names on a freshly installed host: the packages of kubelet and CRI-O contain empty
// directories, and networks for podman and CRI-O in /etc/cni/net.d.
func places() []place {
	configurations := []string{"*.conf", "*.conflist", "*.json"}
	return []place{
		{dir: "/var/lib/kubelet", names: []string{"kubeconfig", "bootstrap-kubeconfig"}, what: "kubeconfig of kubelet"},
		{dir: "/var/lib/kubelet", names: []string{"config.yaml", "kubeadm-flags.env"}, what: "configuration of kubeadm"},
		// kubelet does not start if its policies differ from those in these files.
		{dir: "/var/lib/kubelet", names: []string{"cpu_manager_state", "memory_manager_state"}, what: "state of kubelet"},
		// kubelet uses a valid serving certificate, whatever its CA. kubelet.crt, which kubelet signs itself, is not listed.
		{
			dir: "/var/lib/kubelet/pki", names: []string{"kubelet-client-*.pem", "kubelet-server-*.pem"},
			what: "certificate of kubelet",
		},
		{dir: "/var/lib/kubelet/pods", names: []string{"*"}, what: "volumes of a pod"},
		{dir: "/etc/kubernetes", names: []string{"kubelet.conf"}, what: "configuration of kubelet"},
		{
			dir: "/etc/kubernetes",
			names: []string{
				"kubeconfig", "bootstrap-kubelet.conf", "admin.conf", "super-admin.conf", "controller-manager.conf",
				"scheduler.conf",
			},
			what: "kubeconfig",
		},
		{dir: "/etc/kubernetes", names: []string{"pki"}, what: "certificates of a control plane"},
		{
			dir: "/etc/kubernetes/manifests", names: []string{"[^.]*"}, what: "static pod, which kubelet would run",
			onlyFiles: true,
		},
		{dir: "/etc/kubernetes/cni/net.d", names: configurations, what: networkPlugin},
		{dir: "/etc/cni/net.d", names: configurations, what: networkPlugin, isOfCluster: isClusterPlugin},
		{dir: "/var/lib/ovn-ic/etc", names: []string{"*.db"}, what: "database of OVN"},
		{dir: "/var/lib/ovn/etc", names: []string{"*.db"}, what: "database of OVN"},
		{dir: "/etc/ovn", names: []string{"*.db"}, what: "database of OVN"},
	}
}

// clusterPlugin matches the type of a network plugin that only pods of a cluster install.
var clusterPlugin = regexp.MustCompile(`"type"\s*:\s*"(calico|cilium-cni|flannel|ovn-k8s-cni-overlay|multus(-shim)?|` +
	`openshift-sdn|weave-net|antrea|kube-ovn|canal)"`)

func isClusterPlugin(content []byte) bool { return clusterPlugin.Match(content) }

// Owners returns the packages to which files belong, by path.
type Owners func(ctx context.Context, paths []string) (map[string]string, error)

// PackageOwners returns the function that finds the packages of this host's files, nil on a host without rpm.
func PackageOwners() Owners {
	if !dnf.HasRPM() {
		return nil
	}
	return dnf.Owners
}

// Find returns the files of another cluster, sorted by directory. Files of packages and of the host's image are not
// listed. It skips directories that the process may not read. owners is nil on a host without rpm.
func Find(ctx context.Context, tree hostfs.Reader, owners Owners) ([]Leftover, error) {
	var found []Leftover
	for _, place := range places() {
		names, err := tree.ReadDir(place.dir)
		if hostfs.IsNotExist(err) || errors.Is(err, fs.ErrPermission) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			leftover := Leftover{Path: path.Join(place.dir, name), What: place.what}
			isOne, err := place.contains(tree, leftover.Path)
			if err != nil {
				return nil, err
			}
			if isOne {
				found = append(found, leftover)
			}
		}
	}
	var paths []string
	for _, leftover := range found {
		if strings.HasPrefix(leftover.Path, "/etc/") { // no package has files in the other directories
			paths = append(paths, leftover.Path)
		}
	}
	if owners == nil || len(paths) == 0 {
		return found, nil
	}
	owned, err := owners(ctx, paths)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(l Leftover) bool { return owned[l.Path] != "" }), nil
}

// contains reports whether a path is a file of a cluster in the place.
func (p place) contains(tree hostfs.Reader, name string) (bool, error) {
	matches := func(pattern string) bool { isMatch, _ := path.Match(pattern, path.Base(name)); return isMatch }
	if !slices.ContainsFunc(p.names, matches) {
		return false, nil
	}
	if strings.HasPrefix(name, "/etc/") { // OSTree has the files of the image in /usr/etc
		if ofImage, err := tree.Exists("/usr" + name); ofImage || err != nil {
			return false, err
		}
	}
	if p.onlyFiles {
		info, err := tree.Lstat(name)
		return info.Type != hostfs.Directory && info.Type != hostfs.Absent, err
	}
	if p.isOfCluster == nil {
		return true, nil
	}
	content, _, err := tree.ReadFile(name)
	if hostfs.IsNotExist(err) || errors.Is(err, fs.ErrPermission) {
		return false, nil
	}
	return err == nil && p.isOfCluster(content), nil
}
