// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
)

// openVSwitchFiles returns the database files and the file with the host's identity.
func openVSwitchFiles() []string {
	return append(openvswitch.DatabaseFiles(), "/etc/openvswitch/system-id.conf")
}

// truncationRecheckDelay is ample for Open vSwitch to fill a file that it has just created,
// which takes milliseconds.
const truncationRecheckDelay = time.Second

// isTruncated reports whether a power loss has interrupted Open vSwitch while
// it created the file: the file is empty and remains so. (Timestamps do not
// help: each attempt to start updates them.)
func isTruncated(first, later hostfs.Info) bool {
	empty := func(file hostfs.Info) bool { return file.Type == hostfs.Regular && file.Size == 0 }
	return empty(first) && empty(later) && first.Inode == later.Inode
}

// RemoveTruncatedDatabase removes files that a power loss during the first
// start of Open vSwitch has left empty. ovsdb-tool makes the name of the
// database durable before its content (ovsdb_log_open in log.c, 3.1), and
// ovs-ctl does not sync the host's identity at all. ovsdb-server never starts
// with an empty database. An empty identity is accepted, but OVN refuses it.
//
// The files contain no data, so their removal is not recorded in the ledger:
// leave would only restore an empty database.
func (d *Driver) RemoveTruncatedDatabase(ctx context.Context) error {
	first, err := d.statOpenVSwitchFiles()
	if err != nil {
		return err
	}
	suspect := func(file string) bool { return isTruncated(first[file], first[file]) }
	if !slices.ContainsFunc(openVSwitchFiles(), suspect) {
		return nil
	}
	if err := wait.Sleep(ctx, truncationRecheckDelay); err != nil {
		return err
	}
	later, err := d.statOpenVSwitchFiles()
	if err != nil {
		return err
	}
	for _, file := range openVSwitchFiles() {
		if !isTruncated(first[file], later[file]) {
			continue
		}
		d.Log.Note(file + " is empty, probably because of a power loss; removing it so that Open vSwitch creates it again")
		if err := errors.Join(d.Tree.Remove(file), d.Tree.SyncDir(path.Dir(file))); err != nil {
			return fmt.Errorf("removing an empty Open vSwitch file: %w", err)
		}
	}
	// The unit has failed, or would soon reach its start limit.
	return d.Systemd.ResetFailed(ctx, openvswitch.DatabaseUnit)
}

func (d *Driver) statOpenVSwitchFiles() (map[string]hostfs.Info, error) {
	found := map[string]hostfs.Info{}
	for _, file := range openVSwitchFiles() {
		info, err := d.Tree.Lstat(file)
		if err != nil {
			return nil, fmt.Errorf("checking the Open vSwitch files: %w", err)
		}
		found[file] = info
	}
	return found, nil
}

// SyncDatabase makes the files durable that Open vSwitch has written at its
// first start beside its database: see RemoveTruncatedDatabase.
func (d *Driver) SyncDatabase() error { return d.Tree.SyncFileSystem("/etc") }
