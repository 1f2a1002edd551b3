package ignition

import (
	"fmt"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// Plan is what a payload comes to on one host: the changes, in the order in
// which they are made, and what is to be said about the rest. It is a value;
// encoded as JSON it holds digests and no contents.
type Plan struct {
	NodePool string `json:"nodePool,omitempty"`

	Accounts types.Passwd `json:"-"` // groups, users and SSH keys that are made before the files, which they can own

	Files   []ledger.Change `json:"files"`             // directories, files, links, unit files, drop-ins, masks
	Units   []ledger.Change `json:"units,omitempty"`   // enabled at boot; Starts has those that are started
	Kubelet []ledger.Change `json:"kubelet,omitempty"` // kubelet's own enablement: only once the node has an identity
	Sysctls []ledger.Change `json:"sysctls,omitempty"` // the running kernel's, as the files have them
	Modules []ledger.Change `json:"modules,omitempty"` // likewise

	// Snapshots are values that other programs change: they are recorded before
	// the first change, never written or compared, and restored by leave.
	Snapshots []ledger.Change `json:"-"`

	// Starts are the enabled units that are started with kubelet: those that stay
	// active, as after a boot.
	Starts []string `json:"-"`
	// Commands are the binaries that units and scripts of the payload run here.
	Commands []Command `json:"-"`

	Notes []Note `json:"notes,omitempty"`
	// MissingUnits are needed and neither on the host nor in the payload: who
	// needs each, and the package that brings it.
	MissingUnits []string `json:"missingUnits,omitempty"`
}

// Action is what became of an entry of the payload.
type Action string

// The actions. What is taken as it is has no note.
const (
	Skip   Action = "skip"   // not written
	Change Action = "change" // written, but otherwise than the payload has it
	Add    Action = "add"    // not in the payload, added for this host
	Report Action = "report" // taken as it is; worth knowing
	Unmet  Action = "unmet"  // wished by the payload, and not done by the agent
)

// Note tells what was decided about one entry, and why.
type Note struct {
	Subject string `json:"subject"`
	Action  Action `json:"action"`
	Reason  string `json:"reason"`
	Rule    string `json:"rule"` // its name in the table
}

// String is the note as one line.
func (n Note) String() string {
	return fmt.Sprintf("%-6s %s: %s (%s)", n.Action, n.Subject, n.Reason, n.Rule)
}

// Changes is all that the plan changes before kubelet may start, in order.
func (p *Plan) Changes() []ledger.Change {
	var all []ledger.Change
	for _, part := range [][]ledger.Change{p.Files, p.Units, p.Sysctls, p.Modules} {
		all = append(all, part...)
	}
	return all
}

// Count tells how many notes have an action.
func (p *Plan) Count(action Action) int {
	n := 0
	for _, note := range p.Notes {
		if note.Action == action {
			n++
		}
	}
	return n
}

// Summary is the plan in one line.
func (p *Plan) Summary() string {
	text := fmt.Sprintf("%d changes, %d entries left out", len(p.Changes())+len(p.Kubelet), p.Count(Skip))
	if unmet := p.Count(Unmet); unmet > 0 {
		text += fmt.Sprintf(", %d wishes unmet", unmet)
	}
	return text
}
