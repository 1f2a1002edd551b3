// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"path"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// registrationPath is the path of kubelet's drop-in with the labels and taints of
// its Node.
const registrationPath = "/etc/systemd/system/" + kubelet.UnitName + ".d/" + kubelet.RegistrationDropIn

// registration returns the labels and taints with which kubelet must register the
// Node: the configured ones and, on a hosted cluster, the NodePool's label.
func (b *Builder) registration() (kubelet.Registration, error) {
	pool := ""
	if b.IsHosted() {
		pool = b.State.NodePool
	}
	return kubelet.NewRegistration(b.Config.Labels, b.Config.Taints, pool)
}

// planRegistration adds the drop-in with labels and taints to the plan. If the unit
// does not allow such a drop-in, planRegistration fails if labels or taints are
// configured. For the NodePool's label alone it adds a note.
func (b *Builder) planRegistration(p *Plan) error {
	desired, err := b.registration()
	if err != nil {
		return err
	}
	if _, labelled := desired.Labels[kubelet.NodePoolLabel]; !labelled && b.IsHosted() && b.State.NodePool != "" {
		p.Notes = append(p.Notes, adapt.Note{
			Subject: "label " + kubelet.NodePoolLabel, Action: adapt.Unsupported, Rule: "registration",
			Reason: "the name of NodePool " + b.State.NodePool + " is not a valid label value",
		})
	}
	content, err := desired.RenderDropIn(b.kubeletLaunch(p, false))
	rule := adapt.Note{Subject: registrationPath, Rule: "registration"}
	switch {
	case err != nil && len(b.Config.Labels)+len(b.Config.Taints) > 0:
		return err
	case err != nil:
		rule.Action, rule.Reason = adapt.Unsupported, err.Error()
	case content != "":
		rule.Action, rule.Reason = adapt.Add, "kubelet registers the Node with "+desired.String()
		p.Files = append(p.Files, ledger.FileChange(registrationPath, "labels and taints of the Node", content))
	default:
		if b.Ledger == nil || !slices.ContainsFunc(b.Ledger.Items(), func(item ledger.Item) bool { return item.Target == registrationPath }) {
			return nil
		}
		rule.Action, rule.Reason = adapt.Change, "no labels or taints are configured any more"
		p.Files = append(p.Files, ledger.Change{Kind: ledger.File, Target: registrationPath, Reason: rule.Reason})
	}
	p.Notes = append(p.Notes, rule)
	return nil
}

// registrationCheck returns the Node that is submitted as a dry run before kubelet starts.
func (b *Builder) registrationCheck(p *Plan) (*kubelet.RegistrationCheck, error) {
	desired, err := b.registration()
	return &kubelet.RegistrationCheck{UnitFiles: b.kubeletLaunch(p, true), Desired: desired, Arch: b.Facts.Arch, FirstJoin: b.State.Finished.IsZero()}, err
}

// kubeletLaunch returns the unit file and drop-ins with which systemd will start
// kubelet, with or without the agent's own drop-in. Planned files replace the
// host's, in the directories of systemd.unit(5).
func (b *Builder) kubeletLaunch(p *Plan, withDropIn bool) kubelet.UnitFiles {
	launch := kubelet.ReadUnitFiles(func(name string) ([]byte, bool) { return b.plannedFile(p, name) },
		func(dir string) []string { return b.plannedNames(p, dir) })
	if !withDropIn {
		delete(launch.DropIns, kubelet.RegistrationDropIn)
	}
	return launch
}

// plannedFile returns the content of a file after the plan is applied. A link reads
// as empty, because systemd treats a link to /dev/null as a file without content.
func (b *Builder) plannedFile(p *Plan, name string) ([]byte, bool) {
	for _, change := range slices.Backward(p.Files) {
		switch {
		case change.Target != name:
		case change.Kind == ledger.Symlink:
			return nil, change.Desired.Present
		case change.Kind == ledger.File && (!change.Desired.Present || change.Desired.Digest != ""):
			return change.Desired.Content, change.Desired.Present
		}
	}
	return b.hostFile(name)
}

// hostFile reads a file of the host and follows links. /etc/os-release is a link,
// and so are some drop-ins.
func (b *Builder) hostFile(p string) ([]byte, bool) {
	for range 10 { // more links indicate a loop
		info, err := b.Tree.Lstat(p)
		switch {
		case err != nil:
			return nil, false
		case info.Type != hostfs.Symlink:
			content, _, err := b.Tree.ReadFile(p)
			return content, err == nil
		case info.Link == "/dev/null":
			return nil, true
		case path.IsAbs(info.Link):
			p = info.Link
		default:
			p = path.Join(path.Dir(p), info.Link)
		}
	}
	return nil, false
}

// plannedNames returns the names in a directory after the plan is applied. The
// result also contains files that the plan removes.
func (b *Builder) plannedNames(p *Plan, dir string) []string {
	names, err := b.Tree.ReadDir(dir)
	if err != nil {
		names = nil // the directory does not exist or is not readable
	}
	for _, change := range p.Files {
		if path.Dir(change.Target) == dir {
			names = append(names, path.Base(change.Target))
		}
	}
	return names
}
