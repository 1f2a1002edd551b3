// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/hostchange"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/bootunits"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software/osimage"
)

// NodeIPUnit is the unit that determines the node's address again at every boot.
const NodeIPUnit = bootunits.NodeIPUnit

// Document describes the state of the node.
type Document struct {
	report.TypeMeta
	Phase        joinstate.Phase              `json:"phase" doc:"state of this host as a node"`
	Join         *Join                        `json:"join,omitempty" doc:"the join of this host; absent in the phase none"`
	Software     *software.Contents           `json:"software,omitempty" doc:"release of the payload, and the packages of its OS image; absent if it is unknown"`
	Changes      int                          `json:"changes" doc:"number of changes that leave would revert"`
	Staged       *Staged                      `json:"staged,omitempty" doc:"what upgrade --stage has prepared; absent if nothing"`
	Unused       []UnusedSoftware             `json:"unusedSoftware,omitempty" doc:"unpacked software that does not run on the node"`
	Drift        []ledger.PublishedDifference `json:"drift" doc:"objects that were changed since the join"`
	Units        map[string]systemd.UnitState `json:"units" doc:"states of systemd units by name; empty if systemd is unreachable"`
	Bridge       *ovs.Status                  `json:"bridge,omitempty" doc:"state of br-ex"`
	Node         *node.Status                 `json:"node,omitempty" doc:"state of the Node in the cluster; absent if it cannot be read"`
	Findings     []report.Finding             `json:"findings,omitempty" doc:"changes of the host name, of the node address, and of the Node that affect the node"`
	Certificates []Certificate                `json:"certificates" doc:"certificates of kubelet that exist"`
	Errors       []string                     `json:"errors,omitempty" doc:"what could not be determined, and why"`
	report.CommandResult
}

// Join describes the join of this host.
type Join struct {
	NodeName   string    `json:"nodeName,omitempty" doc:"name of the Node; absent before the step plan"`
	NodePool   string    `json:"nodePool,omitempty" doc:"NAMESPACE/NAME of the NodePool; absent for a standalone cluster"`
	ConfigHash string    `json:"configHash,omitempty" doc:"version of the NodePool's configuration (TargetConfigVersionHash)"`
	Endpoint   string    `json:"endpoint,omitempty" doc:"HOST:PORT of the ignition server"`
	APIServer  string    `json:"apiServer,omitempty" doc:"URL of the cluster's API server"`
	LastStep   string    `json:"lastStep,omitempty" doc:"last completed step"`
	NextStep   string    `json:"nextStep,omitempty" doc:"step after the last completed step"`
	Started    time.Time `json:"started" doc:"start of the join"`
	Finished   time.Time `json:"finished,omitzero" doc:"end of the join; absent while the join is in progress"`
	Leaving    time.Time `json:"leaving,omitzero" doc:"start of a leave that has not finished; absent if there is none"`

	Maintaining time.Time `json:"maintaining,omitzero" doc:"start of a maintenance that has not finished; absent if there is none"`

	Upgrading time.Time `json:"upgrading,omitzero" doc:"start of an upgrade that has not finished; absent if there is none"`

	RebootNeeded bool `json:"rebootNeeded,omitempty" doc:"whether the host must be rebooted with the kernel arguments that the join has set"`
}

// Staged describes what upgrade --stage has prepared.
type Staged struct {
	Release string    `json:"release,omitempty" doc:"release of the payload, such as OpenShift 4.21 on RHEL 9.6; absent if it is unknown"`
	Payload string    `json:"payload" doc:"SHA-256 of the payload, hexadecimal"`
	Size    int64     `json:"size" doc:"size on the disk, in bytes"`
	Since   time.Time `json:"since" doc:"when it was complete"`
}

// UnusedSoftware describes unpacked software that does not run on the node.
type UnusedSoftware struct {
	Directory string `json:"directory" doc:"directory with the files"`
	Size      int64  `json:"size" doc:"size on the disk, in bytes"`
}

// Certificate describes a certificate of kubelet.
type Certificate struct {
	Name    string    `json:"name" doc:"client or serving"`
	Expires time.Time `json:"expires" doc:"end of validity"`
}

// newJoin returns the public part of the state; nil if no join was started.
func newJoin(state joinstate.State) *Join {
	if !state.Exists() {
		return nil
	}
	join := &Join{
		NodeName:   state.NodeName,
		NodePool:   state.NodePool,
		ConfigHash: state.ConfigHash,
		Endpoint:   state.Endpoint,
		APIServer:  state.APIServer,
		LastStep:   state.LastStep,
		NextStep:   state.NextStep,
		Started:    state.Started,
		Finished:   state.Finished,
		Leaving:    state.Leaving,
	}
	if u := state.Upgrade; u != nil {
		join.Upgrading, join.LastStep, join.NextStep = u.Started, u.Step, ""
	}
	return join
}

func newStaged(s *joinstate.Staged) *Staged {
	if s == nil {
		return nil
	}
	staged := &Staged{Payload: s.PayloadDigest, Size: s.Size, Since: s.Since}
	if s.Software != nil {
		staged.Release = s.Software.String()
	}
	return staged
}

// unusedSoftware returns the unpacked software that does not run on the node.
func unusedSoftware(items []ledger.Item) ([]UnusedSoftware, error) {
	var unused []UnusedSoftware
	for _, dir := range osimage.Unused(items) {
		size, err := hostfs.DiskUsage(dir)
		if err != nil {
			return unused, err
		}
		unused = append(unused, UnusedSoftware{Directory: dir, Size: size})
	}
	return unused, nil
}

// statusUnits returns the units whose state is part of the status.
func statusUnits() []string {
	return []string{"NetworkManager.service", "openvswitch.service", crio.Unit, kubelet.UnitName, NodeIPUnit}
}

// Get gathers the state of the node from the state directory, systemd, NetworkManager and the
// cluster. It fails if the state directory cannot be read. Other failures are in the document.
func Get(ctx context.Context, stateDir string) (Document, error) {
	document := Document{
		TypeMeta:     report.Meta("Status"),
		Phase:        joinstate.PhaseNone,
		Units:        map[string]systemd.UnitState{},
		Certificates: []Certificate{},
	}
	state, err := joinstate.Read(stateDir)
	if err != nil {
		return document, err
	}
	document.Join, document.Phase = newJoin(state), state.Phase()
	maintenance, err := joinstate.ReadMaintenance(stateDir)
	if err != nil {
		return document, err
	}
	document.addMaintenance(maintenance)
	m, err := machine.Open(ctx, stateDir, false)
	if err != nil {
		return document, err
	}
	defer m.Close()
	document.Changes = len(m.Ledger.Items())
	if document.Join != nil {
		document.Join.RebootNeeded = state.RebootNeeded != "" && state.RebootNeeded == m.Facts.BootID
	}
	trouble := func(err error) {
		if err != nil {
			document.Errors = append(document.Errors, err.Error())
		}
	}
	document.Software, err = joinstate.LoadSoftware(stateDir)
	trouble(err)
	document.Staged = newStaged(state.Staged)
	document.Unused, err = unusedSoftware(m.Ledger.Items())
	trouble(err)
	if m.Systemd != nil {
		for _, unit := range statusUnits() {
			unitState, err := m.Systemd.UnitState(ctx, unit)
			trouble(err)
			document.Units[unit] = unitState
		}
	} else {
		trouble(m.SystemdErr)
	}
	document.Bridge = bridgeStatus(ctx, m.NM, stateDir, trouble)
	if document.Join != nil && state.NodeName != "" {
		document.addNode(ctx, state, trouble)
	}
	if state.Phase() == joinstate.PhaseJoined {
		changes, err := hostchange.Gather(ctx, m.Systemd, stateDir, state.NodeName)
		trouble(err)
		document.addFindings("host", changes.Findings())
	}
	for _, one := range identity.CertificateExpiries(identity.PKIDirectory) {
		document.Certificates = append(document.Certificates, Certificate{Name: one.Name, Expires: one.NotAfter.UTC()})
	}
	drift, err := m.Ledger.Drift(ctx)
	trouble(err)
	document.Drift = ledger.Publish(drift)
	document.CommandResult = report.ResultOf(document.Err())
	return document, nil
}

// addMaintenance adds an unfinished maintenance, if there is one. A leave takes precedence.
func (d *Document) addMaintenance(record *joinstate.Maintenance) {
	if record == nil || d.Phase != joinstate.PhaseJoined {
		return
	}
	d.Phase = joinstate.PhaseMaintenance
	d.Join.Maintaining, d.Join.LastStep, d.Join.NextStep = record.Started, record.Step, ""
}

// Err returns nil if the host has joined, its Node is Ready, and nothing has drifted. Otherwise it
// returns a failure, with the code DriftFound if the host differs from the state that the join
// created.
func (d Document) Err() error {
	if d.Phase == joinstate.PhaseUpgrading { // drift is expected
		return report.Fail(report.Failed, joinstate.ResumeUpgrade, "the upgrade has not finished")
	}
	if d.Phase == joinstate.PhaseMaintenance {
		return report.Fail(report.Failed, joinstate.ResumeMaintenance, "the maintenance has not finished")
	}
	if n := len(d.Drift); n > 0 {
		return report.Fail(report.DriftFound, "hcp-node-agent join", "drift: %d of %d items differ", n, d.Changes)
	}
	switch d.Phase {
	case joinstate.PhaseNone:
		return report.Fail(report.Failed, "hcp-node-agent join --user-data USER_DATA", "this host has not joined a cluster")
	case joinstate.PhaseJoining:
		if d.Join != nil && d.Join.RebootNeeded {
			return report.Fail(report.RebootNeeded, "systemctl reboot", "the host must be rebooted before the join continues")
		}
		return report.Fail(report.Failed, "hcp-node-agent join # resumes the join", "the join has not finished")
	case joinstate.PhaseLeaving:
		return report.Fail(report.Failed, "hcp-node-agent leave # resumes the leave", "the leave has not finished")
	case joinstate.PhaseJoined, joinstate.PhaseUpgrading, joinstate.PhaseMaintenance, joinstate.PhaseUnknown:
	}
	switch {
	case len(d.Findings) > 0:
		return report.Fail(report.Failed, d.Findings[0].Remedy, "%s", d.Findings[0].Message)
	case d.Node == nil:
		return report.Fail(report.Failed, "hcp-node-agent doctor", "the state of the Node is unknown")
	case !d.Node.Ready:
		return report.Fail(report.Failed, "hcp-node-agent doctor", "Node %s is not Ready", d.Node.Name)
	}
	return nil
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
		bridge.Migration = ovs.PublishRecord(made)
	}
	return &bridge
}

// addNode adds the Node in the cluster, or a finding if it was deleted.
func (d *Document) addNode(ctx context.Context, state joinstate.State, trouble func(error)) {
	own, err := node.OpenNode(identity.KubeconfigPath, state.NodeName, nil, report.Log{})
	if err != nil {
		trouble(err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if exists, err := own.Exists(ctx); err == nil && !exists && state.Registered {
		d.addFindings("node", []report.Finding{node.DeletedFinding(state.NodeName)})
		return
	}
	status, err := own.Status(ctx)
	if err != nil {
		trouble(err)
		return
	}
	d.Node = &status
}
