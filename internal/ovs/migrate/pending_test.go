// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
)

func TestUnfinishedMigration(t *testing.T) {
	tree, err := hostfs.OpenTree(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	const dir = "/var/lib/hcp-node-agent"
	if err := tree.MkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	if uplink, left, err := UnfinishedMigration(tree, dir); left || uplink != "" || err != nil {
		t.Errorf("none was begun: %q, %t, %v", uplink, left, err)
	}
	j := pendingFile{tree: tree, dir: dir}
	if err := j.write(ovs.Backup{Uplink: "eth0"}); err != nil {
		t.Fatal(err)
	}
	if uplink, left, err := UnfinishedMigration(tree, dir); !left || uplink != "eth0" || err != nil {
		t.Errorf("one was begun: %q, %t, %v", uplink, left, err)
	}
	if err := j.remove(); err != nil {
		t.Fatal(err)
	}
	if _, left, err := UnfinishedMigration(tree, dir); left || err != nil {
		t.Errorf("it was ended: %t, %v", left, err)
	}
}
