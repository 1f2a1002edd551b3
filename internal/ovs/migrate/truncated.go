// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
)

// truncationRecheckDelay is ample for Open vSwitch to fill a file that it has just created,
// which takes milliseconds.
const truncationRecheckDelay = time.Second

// RemoveTruncatedDatabase removes files that a power loss during the first
// start of Open vSwitch has left empty. ovsdb-tool makes the name of the
// database durable before its content (ovsdb_log_open in log.c, 3.1), and
// ovs-ctl does not sync the host's identity at all. ovsdb-server never starts
// with an empty database. An empty identity is accepted, but OVN refuses it.
//
// The files contain no data, so their removal is not recorded in the ledger:
// leave would only restore an empty database.
func (d *Driver) RemoveTruncatedDatabase(ctx context.Context) error {
	first, err := d.emptyFiles()
	if err != nil || len(first) == 0 {
		return err
	}
	if err := wait.Sleep(ctx, truncationRecheckDelay); err != nil {
		return err
	}
	// Files that remain empty. Timestamps do not help: each attempt to start updates them.
	later, err := d.emptyFiles()
	if err != nil {
		return err
	}
	for file, inode := range later {
		if first[file] != inode {
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

// emptyFiles returns the inodes of the database files, and of the file with the host's identity, that are empty.
func (d *Driver) emptyFiles() (map[string]uint64, error) {
	empty := map[string]uint64{}
	for _, file := range append(openvswitch.DatabaseFiles(), "/etc/openvswitch/system-id.conf") {
		info, err := d.Tree.Lstat(file)
		if err != nil {
			return nil, fmt.Errorf("checking the Open vSwitch files: %w", err)
		}
		if info.Type == hostfs.Regular && info.Size == 0 {
			empty[file] = info.Inode
		}
	}
	return empty, nil
}

// SyncDatabase makes the files durable that Open vSwitch has written at its
// first start beside its database: see RemoveTruncatedDatabase.
func (d *Driver) SyncDatabase() error { return d.Tree.SyncFileSystem("/etc") }
