// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"encoding/json"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// bridgeData is the data of a state of br-ex.
type bridgeData struct {
	// Unfinished marks a br-ex that the agent has created and that is not in the desired
	// state: a migration or a rollback was interrupted, or the administrator has reverted a
	// part of it.
	Unfinished bool        `json:"unfinished,omitempty"`
	Backup     *ovs.Backup `json:"backup,omitempty"` // for Restore
}

func (d bridgeData) state(present bool) (ledger.State, error) {
	data, err := json.Marshal(d)
	return ledger.State{Present: present, Data: data}, wrap.Errorf(err, "encoding the state of br-ex")
}

func decodeData(s ledger.State) (data bridgeData, err error) {
	if err = s.DecodeData(&data); err != nil {
		err = fmt.Errorf("decoding the state of br-ex: %w", err)
	}
	return data, err
}

// stateOf returns the state of br-ex when no migration is in progress. Planned is the
// migration of this host; planErr is the reason why there is none.
func stateOf(facts ovs.Facts, planned ovs.Migration, planErr error) (ledger.State, error) {
	if uplink, ok := ovs.BridgedUplink(facts); ok {
		return bridgeData{Backup: &ovs.Backup{Uplink: uplink}}.state(true)
	}
	if planErr != nil {
		// A br-ex of the agent without traffic must be removed even so.
		own := ovs.Backup{ProfileUUIDs: ovs.ProfileUUIDs(facts.MachineID)}.OwnProfiles(facts.Profiles)
		return bridgeData{Unfinished: len(own) > 0}.state(false)
	}
	return bridgeData{Unfinished: ovs.HasLeftovers(facts, planned.Backup), Backup: &planned.Backup}.state(false)
}

// IsPartiallyRestored reports whether a br-ex in an unexpected state may still be managed
// by the agent: an interrupted rollback is not a foreign change.
func (d *Driver) IsPartiallyRestored(_ ledger.Change, _, now ledger.State) (bool, error) {
	data, err := decodeData(now)
	return data.Unfinished, err
}

// withCurrentName sets the uplink's current name in a backup whose interface no
// longer exists, because the NIC was renamed at a boot. The name comes from
// br-ex or its profile. It refuses an original profile that only matches the
// old name, because its activation would fail.
func withCurrentName(backup ovs.Backup, facts ovs.Facts) (ovs.Backup, error) {
	now, ok := ovs.BridgedUplink(facts)
	if !ok { // br-ex does not carry the host's traffic, for any reason
		nic, _ := facts.Profile(ovs.ProfileUUID(facts.MachineID, ovs.NICProfile))
		now = nic.Settings.Text("connection", "interface-name")
		_, ok = facts.Link(now)
	}
	if _, there := facts.Link(backup.Uplink); there || !ok {
		return backup, nil
	}
	bound := backup.Settings.Text("connection", "interface-name") != ""
	if own, found := facts.Profile(backup.UUID); found {
		named := own.Settings.Text("connection", "interface-name")
		if named != "" && named != now {
			return backup, ovs.Refuse(report.Remedyf(
				"nmcli connection modify %s connection.interface-name %s # then rerun the command", backup.UUID, now),
				"the uplink %s was renamed to %s after it was attached to br-ex, but its profile %s applies only to %s",
				backup.Uplink, now, backup.ID, named)
		}
		bound = named != ""
	}
	if bound {
		backup.Settings = backup.Settings.Clone()
		backup.Settings.Set("connection", "interface-name", now)
	}
	backup.Uplink = now
	return backup, nil
}
