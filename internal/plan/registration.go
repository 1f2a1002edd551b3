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

// umaskPath is the path of kubelet's drop-in with its umask.
const umaskPath = "/etc/systemd/system/" + kubelet.UnitName + ".d/" + kubelet.UmaskDropIn

// registration returns the labels and taints with which kubelet must register the
// Node: the configured ones and, on a hosted cluster, the NodePool's label.
func (b builder) registration() (kubelet.Registration, error) {
	pool := ""
	if b.settings.Hosted {
		pool = b.settings.NodePool
	}
	return kubelet.NewRegistration(b.settings.Config.Labels, b.settings.Config.Taints, pool)
}

// planRegistration adds the drop-in with labels and taints to the plan. If the unit
// does not allow such a drop-in, planRegistration fails if labels or taints are
// configured. For the NodePool's label alone it adds a note.
func (b builder) planRegistration(p *Plan) error {
	desired, err := b.registration()
	if err != nil {
		return err
	}
	if _, labelled := desired.Labels[kubelet.NodePoolLabel]; !labelled && b.settings.Hosted && b.settings.NodePool != "" {
		p.Notes = append(p.Notes, adapt.Note{
			Subject: "label " + kubelet.NodePoolLabel, Action: adapt.Unsupported, Rule: "registration",
			Reason: "the name of NodePool " + b.settings.NodePool + " is not a valid label value",
		})
	}
	content, err := desired.RenderDropIn(kubeletLaunch(b.facts.Files, p, false))
	rule := adapt.Note{Subject: registrationPath, Rule: "registration"}
	switch {
	case err != nil && len(b.settings.Config.Labels)+len(b.settings.Config.Taints) > 0:
		return err
	case err != nil:
		rule.Action, rule.Reason = adapt.Unsupported, err.Error()
	case content != "":
		rule.Action, rule.Reason = adapt.Add, "kubelet registers the Node with "+desired.String()
		p.Files = append(p.Files, ledger.FileChange(registrationPath, "labels and taints of the Node", content))
	default:
		if !slices.ContainsFunc(b.facts.Items, func(item ledger.Item) bool { return item.Target == registrationPath }) {
			return nil
		}
		rule.Action, rule.Reason = adapt.Change, "no labels or taints are configured any more"
		p.Files = append(p.Files, ledger.Change{Kind: ledger.File, Target: registrationPath, Reason: rule.Reason})
	}
	p.Notes = append(p.Notes, rule)
	return nil
}

// planUmask adds the drop-in for kubelet's umask to the plan if the host restricts the umask of all services.
func (b builder) planUmask(p *Plan) {
	content := kubeletLaunch(b.facts.Files, p, true).RenderUmaskDropIn()
	if content == "" {
		return
	}
	const reason = "kubelet creates files that users in containers must be able to read"
	p.Files = append(p.Files, ledger.FileChange(umaskPath, reason, content))
	p.Notes = append(p.Notes, adapt.Note{Subject: umaskPath, Action: adapt.Add, Rule: "umask", Reason: reason})
}

// registrationCheck returns the Node that is submitted as a dry run before kubelet starts.
func (b builder) registrationCheck(p *Plan) (*kubelet.RegistrationCheck, error) {
	desired, err := b.registration()
	return &kubelet.RegistrationCheck{
		UnitFiles: kubeletLaunch(b.facts.Files, p, true),
		Desired:   desired,
		Arch:      b.facts.Host.Arch,
		FirstJoin: b.settings.FirstJoin,
	}, err
}

// kubeletLaunch returns the unit file and drop-ins with which systemd will start
// kubelet, with or without the agent's own drop-in. Planned files replace the
// host's, in the directories of systemd.unit(5).
func kubeletLaunch(files hostfs.Reader, p *Plan, withDropIn bool) kubelet.UnitFiles {
	launch := kubelet.ReadUnitFiles(func(name string) ([]byte, bool) { return plannedFile(files, p, name) },
		func(dir string) []string { return plannedNames(files, p, dir) })
	if !withDropIn {
		delete(launch.DropIns, kubelet.RegistrationDropIn)
	}
	return launch
}

// plannedFile returns the content of a file after the plan is applied. A link reads
// as empty, because systemd treats a link to /dev/null as a file without content.
func plannedFile(files hostfs.Reader, p *Plan, name string) ([]byte, bool) {
	for _, change := range slices.Backward(p.Files) {
		switch {
		case change.Target != name:
		case change.Kind == ledger.Symlink:
			return nil, change.Desired.Present
		case change.Kind == ledger.File && (!change.Desired.Present || change.Desired.Digest != ""):
			return change.Desired.Content, change.Desired.Present
		}
	}
	return hostfs.ReadFollowing(files, name)
}

// plannedNames returns the names in a directory after the plan is applied. The
// result also contains files that the plan removes.
func plannedNames(files hostfs.Reader, p *Plan, dir string) []string {
	names, err := files.ReadDir(dir)
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
