// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// saveOriginals makes the contents that will be replaced durable. It skips targets that the
// ledger already changed: their current content is the agent's own or backed up (backUpEdits),
// is never restored, and can be a secret that is being removed.
func (l *Ledger) saveOriginals(pending []PlannedChange) error {
	changed := map[string]bool{}
	for _, item := range l.Items() {
		changed[item.Key()] = true
	}
	tree, err := l.openDir()
	if err != nil {
		return err
	}
	defer tree.Close()
	batch := tree.NewBatch()
	defer batch.Abort()
	staged := map[string]bool{}
	for _, p := range pending {
		if p.Now.Digest == "" || staged[p.Now.Digest] || changed[p.Key()] {
			continue
		}
		staged[p.Now.Digest] = true
		name := path.Join("/", originalsName, p.Now.Digest)
		if err := batch.Stage(name, p.Now.Content, hostfs.AgentAttr(0o600)); err != nil {
			return fmt.Errorf("saving the original of %s: %w", p.Target, err)
		}
	}
	if len(staged) == 0 {
		return nil
	}
	return batch.Commit()
}

// withOriginal returns the state with the saved content, if the state has a digest.
func (l *Ledger) withOriginal(s State) (State, error) {
	if s.Digest == "" {
		return s, nil
	}
	name := filepath.Join(l.dir, originalsName, filepath.Base(s.Digest))
	content, err := os.ReadFile(name)
	if err != nil {
		return s, fmt.Errorf("reading a saved original: %w", err)
	}
	if digest(content) != s.Digest {
		return s, fmt.Errorf("reading a saved original: %s is damaged", name)
	}
	s.Content = content
	return s, nil
}
