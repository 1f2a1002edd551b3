package migrate

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
)

// stateUnfinished is what Look says of a br-ex that is this agent's and yet not
// as wished: a move, or a way back, was ended in the middle, or somebody has
// gone a part of the way back.
const stateUnfinished = "unfinished"

// stateOf tells how br-ex is when no move is under way.
func stateOf(facts ovs.Facts, options ovs.Options) (ledger.State, error) {
	if uplink, ok := ovs.BridgedUplink(facts); ok {
		value, err := ovs.Backup{Uplink: uplink}.Encode()
		return ledger.State{Present: true, Value: value}, err
	}
	state := ledger.State{}
	move, err := ovs.Plan(facts, options)
	if err != nil { // Make says it
		if len((ovs.Backup{OwnUUIDs: ovs.ProfileUUIDs(facts.MachineID)}).OwnProfiles(facts.Profiles)) > 0 {
			state.Type = stateUnfinished // a br-ex of ours that carries nothing is to be given back all the same
		}
		return state, nil
	}
	if ovs.HasLeftovers(facts, move.Backup) {
		state.Type = stateUnfinished
	}
	state.Value, err = move.Backup.Encode()
	return state, err
}

// IsPartiallyRestored tells that a br-ex that is not as a move leaves it can still be this
// agent's: a way back that was killed is not somebody else's change.
func (d *Driver) IsPartiallyRestored(_ ledger.Change, _, now ledger.State) (bool, error) {
	return now.Type == stateUnfinished, nil
}

var _ ledger.PartialRestorer = (*Driver)(nil)

// withCurrentName gives an origin the name that its NIC has since a boot, by br-ex or
// its profile, when the one that the origin names is not there. A profile of the
// administrator's that is for the old name would not come up: nothing is
// touched then.
func withCurrentName(o ovs.Backup, facts ovs.Facts) (ovs.Backup, error) {
	now, ok := ovs.BridgedUplink(facts)
	if !ok { // it carries nothing, for whatever reason
		nic, _ := facts.Profile(ovs.ProfileUUID(facts.MachineID, ovs.NICProfile))
		now = nic.Settings.Text("connection", "interface-name")
		_, ok = facts.Link(now)
	}
	if _, there := facts.Link(o.Uplink); there || !ok {
		return o, nil
	}
	bound := o.Settings.Text("connection", "interface-name") != ""
	if own, found := facts.Profile(o.UUID); found {
		named := own.Settings.Text("connection", "interface-name")
		if named != "" && named != now {
			return o, ovs.Refuse("nmcli connection modify "+o.UUID+" connection.interface-name "+now+" # and then run this again",
				"the uplink was called %s when it went into br-ex and is called %s since a boot, and its profile %s is for %s alone", o.Uplink, now, o.ID, named)
		}
		bound = named != ""
	}
	if bound {
		o.Settings = o.Settings.Clone()
		o.Settings.Set("connection", "interface-name", now)
	}
	o.Uplink = now
	return o, nil
}
