package main

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/leave"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

func TestLeavePrintsKeptChanges(t *testing.T) {
	own := ledger.PublishedDifference{Kind: ledger.File, Target: "/opt/cni/bin/own"}
	for name, test := range map[string]struct {
		left leave.Document
		want string
	}{
		"nothing else": {leave.Document{Restored: 111}, "\nrestored items: 111\n"},
		"all": {
			leave.Document{
				Restored: 111, Removed: []string{"/var/lib/kubelet/pki"}, Kept: []ledger.PublishedDifference{own}, Next: "oc delete node worker-7",
			}, `
restored items: 111
removed items of kubelet, CRI-O and pods: 1
kept items, changed or created by other processes: 1
  file /opt/cni/bin/own
the Node object still exists in the cluster; an administrator must delete it:
  oc delete node worker-7
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			printLeave(&out, test.left)
			if diff := cmp.Diff(test.want, out.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPrintLeavePreview(t *testing.T) {
	for name, test := range map[string]struct {
		preview leave.PreviewDocument
		want    string
	}{
		"no join": {leave.PreviewDocument{}, "no changes to revert: this host has not joined a cluster\n"},
		"all": {
			leave.PreviewDocument{
				Changes: []leave.Change{
					{Kind: ledger.Unit, Target: "kubelet.service", Action: leave.Restore},
					{Kind: ledger.File, Target: "/etc/a\nb", Action: leave.Remove},
				},
				Drift:       []ledger.PublishedDifference{{Kind: ledger.File, Target: "/etc/c"}},
				NotRestored: []string{"kernel modules remain loaded"},
				Next:        "oc delete node worker-7",
			}, `a leave would revert 2 changes

  ~ unit kubelet.service
  - file /etc/a\nb

changed since the join (kept if others changed it)
  file /etc/c

not reverted
  kernel modules remain loaded

to delete the Node afterwards, on the cluster
  oc delete node worker-7

a leave would revert 2 changes: - removed, ~ restored
`,
		},
	} {
		var out bytes.Buffer
		printLeavePreview(&out, test.preview)
		if diff := cmp.Diff(test.want, out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
