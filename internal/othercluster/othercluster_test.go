// SPDX-License-Identifier: Apache-2.0

package othercluster

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/mountns"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

// fresh contains files that a host has before its first join: of the packages of CRI-O and podman, of a kubelet that
// has never joined a cluster, and of administrators.
var fresh = map[string]string{
	"etc/cni/net.d/100-crio-bridge.conflist":         `{"plugins": [{"type": "bridge", "bridge": "cni0"}]}`,
	"etc/cni/net.d/200-loopback.conflist":            `{"plugins": [{"type": "loopback"}]}`,
	"etc/cni/net.d/87-podman-bridge.conflist":        `{"plugins": [{"type": "bridge", "bridge": "cni-podman0"}]}`,
	"etc/cni/net.d/mine.conflist":                    "",
	"etc/kubernetes/manifests/.gitkeep":              "",
	"etc/kubernetes/README":                          "",
	"etc/kubernetes/kubelet-plugins/volume/a":        "",
	"var/lib/kubelet/pki/kubelet.crt":                "signed by kubelet itself",
	"var/lib/kubelet/device-plugins/kubelet.sock":    "",
	"var/lib/containers/storage/overlay/a":           "",
	"etc/openvswitch/conf.db":                        "the bridges of the host",
	"var/lib/hcp-node-agent/keys/kubelet-client.key": "",
}

// openTree returns a tree with files.
func openTree(t *testing.T, files ...map[string]string) *hostfs.Tree {
	t.Helper()
	root := t.TempDir()
	for _, one := range files {
		flowtest.WriteTree(t, root, one)
	}
	tree, err := hostfs.OpenTree(root)
	flowtest.NoError(t, err)
	t.Cleanup(func() { _ = tree.Close() })
	return tree
}

func mustFind(t *testing.T, tree hostfs.Reader, owners Owners) []Leftover {
	t.Helper()
	found, err := Find(t.Context(), tree, owners)
	flowtest.NoError(t, err)
	return found
}

func TestFindOnFreshHost(t *testing.T) {
	for name, tree := range map[string]*hostfs.Tree{"empty": openTree(t), "with packages": openTree(t, fresh)} {
		if found := mustFind(t, tree, nil); found != nil {
			t.Errorf("%s: %v", name, found)
		}
	}
}

func TestFind(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"OpenShift": {
			map[string]string{
				"var/lib/kubelet/kubeconfig":                              "",
				"var/lib/kubelet/pki/kubelet-client-current.pem":          "",
				"var/lib/kubelet/pki/kubelet-server-current.pem":          "",
				"var/lib/kubelet/cpu_manager_state":                       "{}",
				"var/lib/kubelet/pods/0a1b/etc-hosts":                     "",
				"etc/kubernetes/kubeconfig":                               "",
				"etc/kubernetes/kubelet.conf":                             "",
				"etc/kubernetes/manifests/kube-apiserver-proxy.yaml":      "",
				"etc/kubernetes/manifests/old/kube-apiserver-proxy.yaml":  "a directory, which kubelet ignores",
				"etc/kubernetes/cni/net.d/00-multus.conf":                 "",
				"etc/kubernetes/cni/net.d/whereabouts.d/whereabouts.conf": "",
				"var/lib/ovn-ic/etc/ovnnb_db.db":                          "",
			},
			[]string{
				"/etc/kubernetes/cni/net.d/00-multus.conf", "/etc/kubernetes/kubeconfig", "/etc/kubernetes/kubelet.conf",
				"/etc/kubernetes/manifests/kube-apiserver-proxy.yaml", "/var/lib/kubelet/cpu_manager_state",
				"/var/lib/kubelet/kubeconfig", "/var/lib/kubelet/pki/kubelet-client-current.pem",
				"/var/lib/kubelet/pki/kubelet-server-current.pem", "/var/lib/kubelet/pods/0a1b",
				"/var/lib/ovn-ic/etc/ovnnb_db.db",
			},
		},
		"kubeadm": {
			map[string]string{
				"etc/kubernetes/admin.conf":              "",
				"etc/kubernetes/pki/ca.crt":              "",
				"etc/kubernetes/manifests/etcd.yaml":     "",
				"var/lib/kubelet/config.yaml":            "",
				"etc/cni/net.d/10-calico.conflist":       `{"plugins": [{"type": "calico"}, {"type": "portmap"}]}`,
				"etc/cni/net.d/calico-kubeconfig":        "",
				"etc/cni/net.d/10-flannel.conflist.off":  `{"plugins": [{"type": "flannel"}]}`,
				"etc/cni/net.d/05-cilium.conf":           `{"type" : "cilium-cni"}`,
				"var/lib/kubelet/pki/kubelet-client.old": "",
			},
			[]string{
				"/etc/cni/net.d/05-cilium.conf", "/etc/cni/net.d/10-calico.conflist", "/etc/kubernetes/admin.conf",
				"/etc/kubernetes/manifests/etcd.yaml", "/etc/kubernetes/pki", "/var/lib/kubelet/config.yaml",
			},
		},
		"an image with the files of its payload": {
			map[string]string{
				"etc/kubernetes/manifests/kube-apiserver-proxy.yaml":     "",
				"usr/etc/kubernetes/manifests/kube-apiserver-proxy.yaml": "",
				"etc/kubernetes/kubelet.conf":                            "",
				"usr/etc/kubernetes/kubelet.conf":                        "",
				"etc/kubernetes/manifests/other.yaml":                    "",
			},
			[]string{"/etc/kubernetes/manifests/other.yaml"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, leftover := range mustFind(t, openTree(t, fresh, test.files), nil) {
				if got = append(got, leftover.Path); leftover.What == "" {
					t.Errorf("%+v", leftover)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Files of packages are neither listed nor removed.
func TestFindSkipsFilesOfPackages(t *testing.T) {
	tree := openTree(t, map[string]string{
		"etc/kubernetes/kubelet.conf": "", "etc/kubernetes/kubeconfig": "", "var/lib/kubelet/kubeconfig": "",
	})
	var queried []string
	owners := func(_ context.Context, paths []string) (map[string]string, error) {
		queried = paths
		return map[string]string{"/etc/kubernetes/kubelet.conf": "kubelet"}, nil
	}
	var got []string
	for _, leftover := range mustFind(t, tree, owners) {
		got = append(got, leftover.Path)
	}
	want := []string{"/var/lib/kubelet/kubeconfig", "/etc/kubernetes/kubeconfig"}
	if diff := cmp.Diff(want, got); diff != "" || len(queried) != 2 {
		t.Errorf("(-want +got):\n%s\npaths %v", diff, queried)
	}
}

// Links are removed, and not what they lead to.
func TestRemove(t *testing.T) {
	tree := openTree(t, fresh, map[string]string{
		"etc/kubernetes/manifests/etcd.yaml":                               "",
		"etc/kubernetes/pki/etcd/ca.crt":                                   "",
		"var/lib/kubelet/pods/0a1b/volumes/kubernetes.io~empty-dir/d/file": "",
		"var/lib/kubelet/pki/kubelet-client-2026.pem":                      "",
		"data/keep": "of the administrator",
	})
	for link, target := range map[string]string{
		"var/lib/kubelet/pods/0a1b/volumes/link":         "/data",
		"var/lib/kubelet/pods/link":                      "/data",
		"var/lib/kubelet/pki/kubelet-client-current.pem": "/data/keep",
		"var/lib/kubelet/pki/kubelet-server-current.pem": "kubelet-server-gone.pem",
	} {
		flowtest.NoError(t, os.Symlink(target, filepath.Join(tree.Name(), link)))
	}
	found := mustFind(t, tree, nil)
	flowtest.NoError(t, Check(tree, found))
	removed, err := Remove(tree, found)
	flowtest.NoError(t, err)
	want := []string{
		"/var/lib/kubelet/pki/kubelet-client-2026.pem", "/var/lib/kubelet/pki/kubelet-client-current.pem",
		"/var/lib/kubelet/pki/kubelet-server-current.pem", "/var/lib/kubelet/pods/0a1b", "/var/lib/kubelet/pods/link",
		"/etc/kubernetes/pki", "/etc/kubernetes/manifests/etcd.yaml",
	}
	if diff := cmp.Diff(want, removed); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	var left []string
	flowtest.NoError(t, tree.Walk("/", func(p string, info hostfs.Info) error {
		if info.Type != hostfs.Directory {
			left = append(left, strings.TrimPrefix(p, "/"))
		}
		return nil
	}))
	kept := slices.Sorted(maps.Keys(fresh))
	kept = append(kept, "data/keep")
	slices.Sort(kept)
	slices.Sort(left)
	if diff := cmp.Diff(kept, left); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	if again := mustFind(t, tree, nil); again != nil {
		t.Errorf("found again: %v", again)
	}
}

func TestCheckRefusesLinkedDirectory(t *testing.T) {
	tree := openTree(t, map[string]string{"data/manifests/etcd.yaml": "", "etc/kubernetes/kubeconfig": ""})
	flowtest.NoError(t, os.Symlink("/data/manifests", filepath.Join(tree.Name(), "etc/kubernetes/manifests")))
	found := mustFind(t, tree, nil)
	if len(found) != 2 {
		t.Fatalf("found %v", found)
	}
	reporttest.CheckFailure(t, Check(tree, found), report.Refused, "a symbolic link leads from "+tree.Name()+
		"/etc/kubernetes/manifests to "+tree.Name()+"/data/manifests")
}

// A volume that is still mounted is neither removed nor emptied.
func TestMountedVolume(t *testing.T) {
	if !mountns.Isolate(t) {
		return
	}
	const volume = "var/lib/kubelet/pods/0a1b/volumes/v"
	tree := openTree(t, map[string]string{volume + "/below": "", "data/keep": ""})
	point := filepath.Join(tree.Name(), volume)
	flowtest.NoError(t, unix.Mount(filepath.Join(tree.Name(), "data"), point, "", unix.MS_BIND, ""))
	defer func() { flowtest.NoError(t, unix.Unmount(point, 0)) }() // before the directory is removed
	found := mustFind(t, tree, nil)
	err := Check(tree, found)
	reporttest.CheckFailure(t, err, report.Refused, "a file system is mounted at "+point)
	if remedy := string(report.RemedyOf(err)); remedy != "umount "+point {
		t.Errorf("remedy %q", remedy)
	}
	if removed, err := Remove(tree, found); err == nil || removed != nil {
		t.Errorf("removed %v, %v", removed, err)
	}
	if _, err := os.Stat(filepath.Join(tree.Name(), "data/keep")); err != nil {
		t.Error(err)
	}
}

func TestRunsPods(t *testing.T) {
	const events = "sys/fs/cgroup/kubepods.slice/cgroup.events"
	for name, test := range map[string]struct {
		files map[string]string
		want  bool
	}{
		"no slice":    {nil, false},
		"empty slice": {map[string]string{events: "populated 0\nfrozen 0\n"}, false},
		"pods":        {map[string]string{events: "populated 1\nfrozen 0\n"}, true},
	} {
		if got, err := RunsPods(openTree(t, test.files)); got != test.want || err != nil {
			t.Errorf("%s: %t, %v", name, got, err)
		}
	}
}
