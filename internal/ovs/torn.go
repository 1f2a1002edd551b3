package ovs

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

const switchDir = "/etc/openvswitch"

// makingTime is how long Open vSwitch may take between a file's name and its
// content. It takes milliseconds.
const makingTime = 10 * time.Second

// torn tells whether a file is what a power cut leaves of one that Open vSwitch
// was just making: its name, and nothing in it.
func torn(file host.Info, now time.Time) bool {
	return file.Type == host.Regular && file.Size == 0 && now.Sub(file.Changed) > makingTime
}

// ClearTorn removes what a power cut has left empty in the moment of Open
// vSwitch's first start: ovsdb-tool makes the name of the database durable before
// its content (ovsdb_log_open in log.c, 3.1), and ovs-ctl writes the host's
// identity without making it durable at all. ovsdb-server never starts with an
// empty database, and an empty identity is taken as it is, which OVN refuses.
// Nothing is lost with them, so they are no matter of the ledger: a leave would
// only put an empty database back.
func (d *Driver) ClearTorn(ctx context.Context, now time.Time) error {
	cleared := false
	for _, name := range []string{"conf.db", "system-id.conf"} {
		file := path.Join(switchDir, name)
		info, err := d.Tree.Lstat(file)
		if err != nil {
			return fmt.Errorf("looking at Open vSwitch's files: %w", err)
		}
		if !torn(info, now) {
			continue
		}
		d.log.Note(file + " is empty, as a power cut leaves it; it is removed, and Open vSwitch makes it anew")
		if err := d.Tree.Remove(file); err != nil {
			return fmt.Errorf("removing an empty file of Open vSwitch: %w", err)
		}
		cleared = true
	}
	if !cleared {
		return nil
	}
	// systemd has given up on it, or would too soon.
	return errors.Join(d.Tree.SyncDir(switchDir), d.Systemd.ResetFailed(ctx, "ovsdb-server.service"))
}

// KeepSwitch makes durable what Open vSwitch has written at its first start: see
// ClearTorn.
func (d *Driver) KeepSwitch() error { return d.Tree.SyncFileSystem("/etc") }
