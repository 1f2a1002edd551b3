// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
)

// declaredBridge returns the file that declares br-ex by NMState, nil if there is none. The payload's own service
// applies the file of the host, or else the one of the cluster.
func declaredBridge(hostname string, read func(file string) (content []byte, exists bool)) *ovs.Declared {
	short, _, _ := strings.Cut(hostname, ".")
	for _, name := range []string{short, "cluster"} {
		file := "/etc/nmstate/openshift/" + name + ".yml"
		if content, exists := read(file); exists {
			return &ovs.Declared{File: file, Content: string(content)}
		}
	}
	return nil
}

// checkSecondBridge refuses a second bridge that does not exist, whether the payload or the host requests it.
func (b builder) checkSecondBridge(p *Plan) error {
	content, exists := p.plannedFile(ovs.SecondBridgeFile)
	if !exists {
		var err error
		if content, _, err = b.facts.Files.ReadFile(ovs.SecondBridgeFile); errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return ovs.CheckSecondBridge(*b.facts.Network, strings.TrimSpace(string(content)))
}

// plannedFile returns the content of a file of the plan.
func (p *Plan) plannedFile(file string) (content []byte, exists bool) {
	at := slices.IndexFunc(p.Files, func(change ledger.Change) bool {
		return change.Target == file && change.Desired.Present
	})
	if at < 0 {
		return nil, false
	}
	return p.Files[at].Desired.Content, true
}

// DeclaredBridge returns the file of the host that declares br-ex by NMState, nil if there is none. When the uplink is
// attached, the files of the payload have been written.
func (u *Uplink) DeclaredBridge() (*ovs.Declared, error) {
	var failed error
	declared := declaredBridge(u.session.Host.Facts.Hostname, func(file string) ([]byte, bool) {
		content, _, err := u.session.Host.Files.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
		return content, err == nil
	})
	return declared, failed
}
