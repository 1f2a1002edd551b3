// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"maps"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
)

// Settings contains what was configured for the join, and what earlier runs have recorded.
type Settings struct {
	Config    config.Join
	JoinToken *enrollment.Token // nil if there is none
	NodePool  string            // NAMESPACE/NAME
	Hosted    bool              // of a hosted cluster, as opposed to a standalone one
	FirstJoin bool              // no join of the host has finished
	// BootsImage: another image can be booted, because no pods run, or because an upgrade drains the node.
	BootsImage bool
	// APIServer is the URL of the API server that is recorded, and FormerAPIServers those from before it moved.
	APIServer        string
	FormerAPIServers []string
	// PayloadDigest is the SHA-256 of the payload as served, hexadecimal; "" before a join.
	PayloadDigest string
}

// Build decides what a join does to a host with these facts. It reads only its arguments.
func Build(f Facts, payload *ignition.Payload, s Settings) (*Plan, error) {
	b := builder{facts: f, payload: payload, settings: s}
	adapted, err := adapt.ToHost(payload, adapt.Input{
		ApplyHostSettings: s.Config.AppliesHostSettings(), FirewallZone: f.FirewallZone,
		Facts: f.Host, Hosted: s.Hosted, NodePool: s.NodePool,
		CreatesBridgeAtBoot: f.Network != nil && ovs.IsCreatedAtBoot(*f.Network),
		HasUnit: func(name string) bool {
			return f.UnitState(name).Load != "not-found" || f.UnitState(name).File != ""
		},
		UnitFileState:  func(name string) string { return f.UnitState(name).File },
		HasSysctl:      f.HasSysctl,
		HasModule:      f.HasModule,
		IsModuleLoaded: f.IsModuleLoaded,
		HasDevice:      f.HasDevice,
		HasFileSystem:  f.HasFileSystem,
		HasContent:     f.HasContent,
		Tree:           f.Files, User: f.User, Group: f.Group, Exclude: s.Config.Payload.Exclude,
	})
	if err != nil {
		return nil, err
	}
	p := &Plan{Plan: adapted}
	p.HostSettings = append(p.HostSettings, f.Locks...)
	if err := b.planImage(p); err != nil {
		return nil, err
	}
	if p.NodeName, err = b.nodeName(); err != nil {
		return nil, err
	}
	if p.Cluster, err = b.cluster(p.NodeName); err != nil {
		return nil, err
	}
	b.useAPIServer(p)
	if p.Runtime, err = DesiredRuntime(payload, s.Config.PauseImage); err != nil {
		return nil, err
	}
	if err := b.planRegistration(p); err != nil {
		return nil, err
	}
	b.planUmask(p)
	if f.Host.Capabilities().HasImage {
		b.planAppliedPayload(p)
	}
	if p.Registration, err = b.registrationCheck(p); err != nil {
		return nil, err
	}
	options := migrationOptions(s.Config)
	options.Declared = declaredBridge(f.Host.Hostname, p.plannedFile)
	if f.Network != nil {
		if err := b.checkSecondBridge(p); err != nil {
			return nil, err
		}
		if err := ovs.CheckAccess(*f.Network, options); err != nil {
			return nil, err
		}
	}
	if f.Network != nil && f.InstallsOpenVSwitch {
		if err := ovs.CheckDeclared(*f.Network, options); err != nil {
			return nil, err
		}
	}
	if f.Network != nil && !f.InstallsOpenVSwitch {
		migration, err := ovs.Plan(*f.Network, options)
		if err != nil {
			return nil, err
		}
		p.Migration = &migration
	}
	return p, nil
}

// planAppliedPayload adds the file that shows a rollback of the image.
func (b builder) planAppliedPayload(p *Plan) {
	content := "# SHA-256 of the payload that hcp-node-agent has applied to /etc.\n" +
		cmp.Or(b.settings.PayloadDigest, b.payload.Digest) + "\n"
	p.Files = append(p.Files, ledger.FileChange(joinstate.AppliedPayloadPath, "the payload of this /etc", content))
	p.Notes = append(p.Notes, adapt.Note{
		Subject: joinstate.AppliedPayloadPath, Action: adapt.Add, Rule: "rollback",
		Reason: "shows after a rollback of the image that its /etc is an older copy",
	})
}

// builder builds one plan.
type builder struct {
	facts    Facts
	payload  *ignition.Payload
	settings Settings
}

// nodeName returns the node name that kubelet will use.
func (b builder) nodeName() (string, error) {
	unit, dropins, _, _ := b.payload.Unit(kubelet.UnitName)
	return kubelet.NodeName(kubelet.UnitFiles{Unit: unit, DropIns: dropins, File: func(name string) ([]byte, bool) {
		return effectiveFile(b.payload, b.facts.Files, name)
	}}, b.facts.Host.Hostname)
}

// cluster returns the cluster of the payload's bootstrap kubeconfig, which the join token must fit. It is zero if
// the kubeconfig was removed.
func (b builder) cluster(nodeName string) (kube.Cluster, error) {
	kubeconfig := b.payload.BootstrapKubeconfig()
	if kubeconfig == nil {
		return kube.Cluster{}, nil
	}
	cluster, err := kube.ParseCluster(kubeconfig)
	if err != nil {
		return cluster, report.Fail(report.Usage, "# run join again with current user data; if the failure persists, check "+
			"the conditions of the NodePool or, on a standalone cluster, of the machine config pool",
			"reading %s of the payload: %w", ignition.BootstrapKubeconfigPath, err)
	}
	return cluster, checkJoinToken(b.settings.JoinToken, nodeName, cluster)
}

// checkJoinToken fails if the join token is for another node or another cluster.
func checkJoinToken(t *enrollment.Token, nodeName string, cluster kube.Cluster) error {
	if t == nil {
		return nil
	}
	if t.NodeName != nodeName {
		return report.Fail(report.Refused, report.Remedyf("# use the join token of node %s, or set the host name to that "+
			"of the join token:\nhostnamectl set-hostname %s", nodeName, t.NodeName),
			"join token %s is for node %s, but this node is %s", t.ID, t.NodeName, nodeName)
	}
	hashes, err := enrollment.CAHashes(cluster.CA)
	if err == nil {
		err = t.CheckCluster(hashes)
	}
	if err != nil {
		return report.Fail(report.Refused, request.EnrollCommand(t.NodeName), "the join token is not valid for %s: %w",
			cluster.Server, err)
	}
	return nil
}

// effectiveFile returns the content of a file after the join: the payload's, else the host's.
func effectiveFile(payload *ignition.Payload, host hostfs.Reader, p string) ([]byte, bool) {
	if content, _, found := payload.File(p); found {
		return content, true
	}
	content, _, err := host.ReadFile(p)
	return content, err == nil
}

func migrationOptions(c config.Join) ovs.Options {
	return ovs.Options{BridgeInterface: c.BridgeInterface, IgnorePacketFilter: c.IgnorePacketFilter}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
