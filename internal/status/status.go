package status

import (
	"context"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Document describes the state of the node.
type Document struct {
	report.TypeMeta
	Phase   string                       `json:"phase"` // none, joining, joined, leaving
	State   joinstate.State              `json:"state"`
	Changes int                          `json:"changes"` // changes that leave would revert
	Drift   []ledger.Difference          `json:"drift"`
	Units   map[string]systemd.UnitState `json:"units"`
	Bridge  *ovs.Status                  `json:"bridge,omitempty"`
	Node    *node.Status                 `json:"node,omitempty"`
	Errors  []string                     `json:"trouble,omitempty"` // what could not be determined, and why
}

// statusUnits returns the units whose state is part of the status.
func statusUnits() []string {
	return []string{"NetworkManager.service", "openvswitch.service", crio.Unit, kubelet.UnitName, ovs.NodeIPUnit}
}

// Get gathers the state of the node. It fails if the state cannot be read. Drift
// is in the document and in its Err.
func Get(ctx context.Context, options inputs.Options) (Document, error) {
	document := Document{TypeMeta: report.Meta("Status"), Phase: "none", Units: map[string]systemd.UnitState{}}
	state, err := joinstate.Read(options.StateDir)
	if err != nil {
		return document, err
	}
	document.State, document.Phase = state, state.Phase()
	m, err := machine.Open(ctx, options.StateDir, false)
	if err != nil {
		return document, err
	}
	defer m.Close()
	document.Changes = len(m.Ledger.Items())
	trouble := func(err error) {
		if err != nil {
			document.Errors = append(document.Errors, err.Error())
		}
	}
	if m.Systemd != nil {
		for _, unit := range statusUnits() {
			unitState, err := m.Systemd.UnitState(ctx, unit)
			trouble(err)
			document.Units[unit] = unitState
		}
	} else {
		trouble(m.SystemdErr)
	}
	document.Bridge = bridgeStatus(ctx, m.NM, options.StateDir, trouble)
	if document.Phase != "none" && state.NodeName != "" {
		document.Node = nodeStatus(ctx, state.NodeName, trouble)
	}
	drift, err := m.Ledger.Drift(ctx)
	trouble(err)
	document.Drift = drift
	return document, nil
}

// Err returns a failure with the code DriftFound if the host differs from the state
// that the join created, else nil.
func (d Document) Err() error {
	if len(d.Drift) == 0 {
		return nil
	}
	return report.Fail(report.DriftFound, "hcp-node-agent join", "drift: %d of %d items differ", len(d.Drift), d.Changes)
}

// bridgeStatus returns the current state of br-ex and the saved record of its
// creation.
func bridgeStatus(ctx context.Context, nm *networkmanager.Client, dir string, trouble func(error)) *ovs.Status {
	bridge, err := ovs.GatherStatus(ctx, nm)
	trouble(err)
	content, err := joinstate.LoadFile(dir, joinstate.BridgeRecordFile)
	trouble(err)
	if content == nil {
		return &bridge
	}
	made, err := ovs.DecodeRecord(content)
	if trouble(err); err == nil {
		bridge.Record = &made
	}
	return &bridge
}

func nodeStatus(ctx context.Context, name string, trouble func(error)) *node.Status {
	node, err := node.OpenNode(identity.KubeconfigPath, name, nil, report.Log{})
	if err != nil {
		trouble(err)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	status, err := node.Status(ctx)
	if err != nil {
		trouble(err)
		return nil
	}
	return &status
}
