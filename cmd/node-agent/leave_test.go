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
		"nothing else": {leave.Document{Restored: 111}, "\n111 things are as they were before the join\n"},
		"all": {
			leave.Document{
				Restored: 111, Removed: []string{"/var/lib/kubelet/pki"}, Kept: []ledger.PublishedDifference{own}, Next: "oc delete node worker-7",
			}, `
111 things are as they were before the join
removed, of kubelet, CRI-O and pods: 1
kept, as others changed or created it: 1
  file /opt/cni/bin/own
the Node object is still in the cluster; an administrator deletes it:
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
