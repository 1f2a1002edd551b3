// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/deployment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/hostclass"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/nodecheck"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/bootunits"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software/osimage"
)

// Document describes the state of the node.
type Document struct {
	report.TypeMeta
	Phase        joinstate.Phase              `json:"phase" doc:"state of this host as a node"`
	Join         *Join                        `json:"join,omitempty" doc:"the join of this host; absent in the phase none"`
	HostClass    hostclass.Class              `json:"hostClass" doc:"class of the host"`
	Deployments  *deployment.Status           `json:"deployments,omitempty" doc:"images of a host in image mode; absent without root"`
	FailedImages []joinstate.FailedImage      `json:"failedImages,omitempty" doc:"images that an upgrade has rolled back"`
	Software     *software.Contents           `json:"software,omitempty" doc:"release and packages of the payload"`
	Changes      int                          `json:"changes" doc:"number of changes that leave would revert"`
	Staged       *Staged                      `json:"staged,omitempty" doc:"what upgrade --stage has prepared, if any"`
	Unused       []UnusedSoftware             `json:"unusedSoftware,omitempty" doc:"unpacked software that does not run"`
	Drift        []ledger.PublishedDifference `json:"drift" doc:"objects that were changed since the join"`
	Maintained   []string                     `json:"maintained,omitempty" doc:"files of the join that components of the cluster have rewritten, which is no drift"`
	Units        map[string]systemd.UnitState `json:"units" doc:"states of units; empty without systemd"`
	Bridge       *ovs.Status                  `json:"bridge,omitempty" doc:"state of br-ex"`
	Node         *node.Status                 `json:"node,omitempty" doc:"state of the Node; absent if unreadable"`
	Findings     []report.Finding             `json:"findings,omitempty" doc:"changes that affect the node"`
	Certificates []Certificate                `json:"certificates" doc:"certificates of kubelet that exist"`
	Errors       []string                     `json:"errors,omitempty" doc:"what could not be determined, and why"`
	report.CommandResult
}

// Join describes the join of this host.
type Join struct {
	NodeName   string    `json:"nodeName,omitempty" doc:"name of the Node; absent before the step plan"`
	NodePool   string    `json:"nodePool,omitempty" doc:"NAMESPACE/NAME of the NodePool; absent for a standalone cluster"`
	ConfigHash string    `json:"configHash,omitempty" doc:"TargetConfigVersionHash of the NodePool"`
	Endpoint   string    `json:"endpoint,omitempty" doc:"HOST:PORT of the ignition server"`
	APIServer  string    `json:"apiServer,omitempty" doc:"URL of the cluster's API server"`
	LastStep   string    `json:"lastStep,omitempty" doc:"last completed step"`
	NextStep   string    `json:"nextStep,omitempty" doc:"step after the last completed step"`
	Started    time.Time `json:"started" doc:"start of the join"`
	Finished   time.Time `json:"finished,omitzero" doc:"end of the join; absent while the join is in progress"`
	Leaving    time.Time `json:"leaving,omitzero" doc:"start of a leave that has not finished"`

	Maintaining time.Time `json:"maintaining,omitzero" doc:"start of a maintenance that has not finished"`
	Upgrading   time.Time `json:"upgrading,omitzero" doc:"start of an upgrade that has not finished"`

	RebootNeeded bool `json:"rebootNeeded,omitempty" doc:"whether new kernel arguments require a reboot"`
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

// statusUnits returns the units whose state is part of the status, with their labels in the text. The unit for
// the node address has none: only its failure is printed.
func statusUnits() []struct{ label, name string } {
	return []struct{ label, name string }{
		{"kubelet", kubelet.UnitName},
		{"CRI-O", crio.Unit},
		{"Open vSwitch", openvswitch.Unit},
		{"NetworkManager", systemd.NetworkManagerUnit},
		{"", bootunits.NodeIPUnit},
	}
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
	if maintenance != nil && document.Phase == joinstate.PhaseJoined { // a leave takes precedence
		document.Phase, document.Join.Maintaining = joinstate.PhaseMaintenance, maintenance.Started
		document.Join.LastStep, document.Join.NextStep = maintenance.Step, ""
	}
	host, err := machine.OpenReader(ctx, stateDir)
	if err != nil {
		return document, err
	}
	defer host.Close()
	document.HostClass, document.Changes = host.Facts.Class(), len(host.Ledger.Items())
	document.Deployments, err = host.Deployments(ctx)
	document.addError(err)
	images, err := joinstate.LoadImages(stateDir)
	if err != nil {
		return document, err
	}
	document.FailedImages = images.Failed
	contents, softwareErr := joinstate.LoadSoftware(stateDir)
	migration, migrationErr := loadMigration(stateDir)
	for _, err := range []error{softwareErr, migrationErr} {
		if report.CodeOf(err) == report.Refused { // another version of the agent wrote the record
			return document, err
		}
		document.addError(err)
	}
	document.Software, document.Staged = contents, newStaged(state.Staged)
	for _, dir := range osimage.Unused(host.Ledger.Items()) {
		size, err := hostfs.DiskUsage(dir)
		if document.addError(err); err == nil {
			document.Unused = append(document.Unused, UnusedSoftware{Directory: dir, Size: size})
		}
	}
	if host.Units == nil {
		document.addError(host.UnitsErr)
	} else {
		for _, unit := range statusUnits() {
			document.Units[unit.name], err = host.Units.UnitState(ctx, unit.name)
			document.addError(err)
		}
	}
	document.addBridge(ctx, host.NetworkManager, migration)
	if document.Join != nil {
		document.Join.RebootNeeded = state.RebootNeeded != "" && state.RebootNeeded == host.Facts.BootID
		document.addNode(ctx, state)
	}
	if state.Phase() == joinstate.PhaseJoined {
		changes, err := nodecheck.GatherHost(ctx, host.Units, stateDir, state.NodeName)
		document.addError(err)
		document.addFindings("host", changes.Findings()...)
	}
	for _, one := range identity.CertificateExpiries(identity.PKIDirectory) {
		document.Certificates = append(document.Certificates, Certificate{Name: one.Name, Expires: one.NotAfter.UTC()})
	}
	drift, err := host.Ledger.Drift(ctx)
	document.addError(err)
	document.Drift = ledger.Publish(drift)
	document.Maintained, err = host.Ledger.Maintained(ctx)
	document.addError(err)
	document.CommandResult = report.ResultOf(document.Err())
	return document, nil
}

func (d *Document) addError(err error) {
	if err != nil {
		d.Errors = append(d.Errors, err.Error())
	}
}

func (d *Document) addFindings(check string, findings ...report.Finding) {
	for _, finding := range findings {
		finding.Check = check
		d.Findings = append(d.Findings, finding)
	}
}

// Err returns nil if the host has joined, its Node is Ready, and nothing has drifted. Otherwise it
// returns a failure, with the code DriftFound if the host differs from the state that the join
// created.
func (d Document) Err() error {
	unfinished, resume := d.unfinishedRun()
	expectsDrift := d.Phase == joinstate.PhaseUpgrading || d.Phase == joinstate.PhaseMaintenance
	switch n := len(d.Drift); {
	case n > 0 && !expectsDrift:
		return report.Fail(report.DriftFound, "hcp-node-agent join", "drift: %d of %d items differ", n, d.Changes)
	case d.Phase == joinstate.PhaseNone:
		return report.Fail(report.Failed, ignition.UserDataRemedyFor("join"), "this host has not joined a cluster")
	case d.Phase == joinstate.PhaseJoining && d.Join != nil && d.Join.RebootNeeded:
		return report.Fail(report.RebootNeeded, report.RebootRemedy,
			"the host must be rebooted before the join continues")
	case unfinished != "":
		return report.Fail(report.Failed, resume, "%s", unfinished)
	case len(d.Findings) > 0:
		return report.Fail(report.Failed, d.Findings[0].Remedy, "%s", d.Findings[0].Message)
	case d.Node == nil:
		return report.Fail(report.Failed, "hcp-node-agent doctor", "the state of the Node is unknown")
	case !d.Node.Ready:
		return report.Fail(report.Failed, "hcp-node-agent doctor", "Node %s is not Ready", d.Node.Name)
	}
	return nil
}

// unfinishedRun returns a message about the unfinished run, with the remedy, and "" if there is none.
func (d Document) unfinishedRun() (message string, resume report.Remedy) {
	switch d.Phase {
	case joinstate.PhaseJoining:
		return "the join has not finished", "hcp-node-agent join # resumes the join"
	case joinstate.PhaseLeaving:
		return "the leave has not finished", "hcp-node-agent leave # resumes the leave"
	case joinstate.PhaseUpgrading:
		return "the upgrade has not finished", joinstate.ResumeUpgrade
	case joinstate.PhaseMaintenance:
		return "the maintenance has not finished", joinstate.ResumeMaintenance
	}
	return "", ""
}

// addBridge adds the current state of br-ex and the record of its creation.
func (d *Document) addBridge(ctx context.Context, nm networkmanager.Reader, migration *ovs.Record) {
	bridge, err := ovs.GatherStatus(ctx, nm)
	d.addError(err)
	bridge.Migration = migration
	d.Bridge = &bridge
}

// loadMigration returns the record of the last migration of the uplink to br-ex, nil if there is none.
func loadMigration(dir string) (*ovs.Record, error) {
	content, err := joinstate.LoadFile(dir, joinstate.BridgeRecordFile)
	if err != nil || content == nil {
		return nil, err
	}
	record, err := ovs.DecodeRecord(content)
	if err != nil {
		return nil, err
	}
	return &record, nil
}

// addNode adds the Node in the cluster, or a finding if it was deleted.
func (d *Document) addNode(ctx context.Context, state joinstate.State) {
	if state.NodeName == "" {
		return
	}
	own, err := node.OpenNode(identity.KubeconfigPath, state.NodeName, nil, report.Log{})
	if err != nil {
		d.addError(err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if exists, err := own.Exists(ctx); err == nil && !exists && state.Registered {
		d.addFindings("node", node.DeletedFinding(state.NodeName))
		return
	}
	if status, err := own.Status(ctx); err == nil {
		d.Node = &status
	} else {
		d.addError(err)
	}
}
