// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// What a join finds of another cluster, and what refuses it.
func TestFilesOfAnotherClusterRefuseJoin(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		join  func(*Session)
		other bool   // refused by the check other-cluster
		want  string // of the check leftovers
	}{
		"fresh host": {},
		"a node of another cluster": {
			files: map[string]string{"/var/lib/kubelet/kubeconfig": "{}"}, other: true,
			want: "/var/lib/kubelet/kubeconfig (kubeconfig of kubelet)",
		},
		"certificate": {
			files: map[string]string{"/var/lib/kubelet/pki/kubelet-server-current.pem": ""},
			want:  "/var/lib/kubelet/pki/kubelet-server-current.pem (certificate of kubelet)",
		},
		"static pod": {
			files: map[string]string{"/etc/kubernetes/manifests/etcd.yaml": ""},
			want:  "/etc/kubernetes/manifests/etcd.yaml (static pod, which kubelet would run)",
		},
		"network configuration": {
			files: map[string]string{"/etc/kubernetes/cni/net.d/10-ovn-kubernetes.conf": "{}"},
			want:  "/etc/kubernetes/cni/net.d/10-ovn-kubernetes.conf (configuration of a network plugin)",
		},
		"database of OVN": {
			files: map[string]string{"/var/lib/ovn-ic/etc/ovnnb_db.db": ""},
			want:  "/var/lib/ovn-ic/etc/ovnnb_db.db (database of OVN)",
		},
		"bridges in Open vSwitch": {files: map[string]string{"/etc/openvswitch/conf.db": ""}},
		"a join that has changed nothing": {
			files: map[string]string{"/etc/kubernetes/manifests/etcd.yaml": ""},
			join:  func(s *Session) { s.Run.State.Started = time.Now() },
			want:  "/etc/kubernetes/manifests/etcd.yaml (static pod, which kubelet would run)",
		},
		"interrupted join": {
			files: map[string]string{"/etc/kubernetes/manifests/kube-apiserver-proxy.yaml": ""},
			join: func(s *Session) {
				book := s.Host.Ledger.(*ledger.Ledger) //nolint:forcetypeassert // plannedSession has opened it
				_, err := book.Apply(t.Context(), "files", []ledger.Change{{
					Kind: ledger.File, Target: "/a", Desired: ledger.State{Present: true},
				}})
				if err != nil {
					t.Fatal(err)
				}
			},
		},
		"unreadable ledger": {
			files: map[string]string{"/etc/kubernetes/manifests/kube-apiserver-proxy.yaml": ""},
			join:  func(s *Session) { s.Host.Ledger = nil },
		},
		"RHEL CoreOS": {
			files: map[string]string{"/etc/kubernetes/manifests/kube-apiserver-proxy.yaml": ""},
			join:  func(s *Session) { s.Host.Facts.OSTree, s.Host.Facts.OS.Variant = true, "coreos" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := plannedSession(t, test.files)
			if test.join != nil {
				test.join(s)
			}
			if other := s.otherCluster(); (other != nil) != test.other {
				t.Errorf("other-cluster: %v", other)
			}
			refusal, err := s.leftovers(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if (refusal != nil) != (test.want != "") ||
				refusal != nil && (!strings.HasSuffix(refusal.Error(), ": "+test.want) ||
					report.CodeOf(refusal) != report.Refused ||
					!strings.HasPrefix(string(report.RemedyOf(refusal)), "hcp-node-agent leave --leftovers --dry-run")) {
				t.Errorf("leftovers: %v (%s)", refusal, report.RemedyOf(refusal))
			}
		})
	}
}
