// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"fmt"
	"slices"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
)

// Plan lists the changes that a payload requires on one host, in the order in which they are
// made, and notes about the other entries. Encoded as JSON, it has digests but no contents.
type Plan struct {
	NodePool string `json:"nodePool,omitempty"`

	Accounts types.Passwd `json:"-"` // groups, users and SSH keys; created before the files that they own

	Files   []ledger.Change `json:"files"`             // directories, files, links, unit files, drop-ins, masks
	Units   []ledger.Change `json:"units,omitempty"`   // enabled at boot; StartUnits lists the units to start
	Kubelet []ledger.Change `json:"kubelet,omitempty"` // enablement of kubelet, once the node has an identity
	Sysctls []ledger.Change `json:"sysctls,omitempty"` // of the running kernel, as in Files
	Modules []ledger.Change `json:"modules,omitempty"` // of the running kernel, as in Files

	// KernelArguments sets the arguments of the next boot, before any file is written: a boot of a
	// host with the files but without br-ex would start the units of the payload.
	KernelArguments []ledger.Change `json:"-"`
	// PayloadArguments are the kernel arguments of the payload, without those that the host has by default.
	PayloadArguments resource.ArgumentChange `json:"-"`
	// NeedsReboot is set if the host was not booted with the kernel arguments of the payload.
	NeedsReboot bool `json:"-"`
	// HostSettings lists the settings of resource.HostSettings and version locks.
	HostSettings []ledger.Change `json:"-"`
	// LoadedConfigs names the services that load their configuration, as in package resource, after
	// the files are written.
	LoadedConfigs []string `json:"-"`

	// Snapshots are values that other processes change. They are recorded before the first
	// change, never written or compared, and restored by leave.
	Snapshots []ledger.Change `json:"-"`

	// StartUnits lists the enabled units that are started with kubelet: units that stay active after
	// a boot.
	StartUnits []string `json:"-"`
	// Extensions and KernelPackages are required of the host. The agent does not install them.
	Extensions     []Extension `json:"-"`
	KernelPackages string      `json:"-"` // of the payload's kernel type; "" for the default or an unknown one
	// Commands lists the binaries that units and scripts of the payload run on this host.
	Commands []Command `json:"-"`

	Notes []Note `json:"notes,omitempty"`
	// MissingUnits lists the needed units that neither the host nor the payload provides, each
	// with the reason and the package that provides it.
	MissingUnits []string `json:"missingUnits,omitempty"`
}

// Action describes how an entry of the payload is handled.
type Action string

// The actions. Entries that are applied unchanged have no note.
const (
	Skip        Action = "skip"   // not written
	Change      Action = "change" // written, but differs from the payload
	Add         Action = "add"    // not in the payload; added for this host
	Report      Action = "report" // applied unchanged, with an effect that the administrator should know
	Unsupported Action = "unmet"  // requested by the payload, but not applied by the agent
)

// Enum returns all actions.
func (Action) Enum() []string { return schema.Strings(Skip, Change, Add, Report, Unsupported) }

// Note describes the decision about one entry and its reason.
type Note struct {
	Subject string `json:"subject" doc:"path, unit or other entry of the payload"`
	Action  Action `json:"action" doc:"how the entry is handled; report: applied unchanged, with an effect that the administrator should know"`
	Reason  string `json:"reason" doc:"reason for the decision"`
	Rule    string `json:"rule" doc:"name of the rule that decided"`
	// Remedy is set if the administrator has to do what the agent does not.
	Remedy report.Remedy `json:"remedy,omitempty" doc:"what the administrator must do, because the agent does not; absent if nothing"`
}

// String returns the note on one line.
func (n Note) String() string {
	text := fmt.Sprintf("%-6s %s: %s (%s)", n.Action, n.Subject, n.Reason, n.Rule)
	if n.Remedy != "" {
		text += ": " + n.Remedy.Inline()
	}
	return text
}

// Changes returns all changes that precede the start of kubelet, in order.
func (p *Plan) Changes() []ledger.Change {
	return slices.Concat(p.KernelArguments, p.Files, p.Units, p.Modules, p.Sysctls, p.HostSettings)
}

// addReport adds a note about an entry that is applied unchanged.
func (p *Plan) addReport(subject, rule, reason string) {
	p.Notes = append(p.Notes, Note{Subject: subject, Action: Report, Reason: reason, Rule: rule})
}

// countNotes returns the number of notes with an action.
func (p *Plan) countNotes(action Action) int {
	return lists.Count(p.Notes, func(note Note) bool { return note.Action == action })
}

// Summary returns the plan on one line.
func (p *Plan) Summary() string {
	text := fmt.Sprintf("%d changes, %d skipped", len(p.Changes())+len(p.Kubelet), p.countNotes(Skip))
	if unmet := p.countNotes(Unsupported); unmet > 0 {
		text += fmt.Sprintf(", %d unsupported", unmet)
	}
	return text
}
