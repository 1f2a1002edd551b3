// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"path"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// checkObstacles rejects, before anything is changed, changes that cannot all be made or restored.
// It fails if an object of another type occupies a path and no earlier change removes the
// object, if a directory to be removed would not be empty, or if a special file would be
// lost.
func (d *Paths) checkObstacles(pending []PlannedChange) error {
	inside := map[string][]string{}
	for _, p := range pending {
		if p.Kind != Directory || p.Desired.Present || p.Now.Type != hostfs.Directory {
			continue
		}
		names, err := d.Tree.ReadDir(p.Target)
		if err != nil {
			return err
		}
		inside[path.Clean(p.Target)] = names
	}
	return obstacleError(obstacles(pending, inside))
}

// obstacles returns the reasons why the changes cannot be made. The map inside lists the
// names in each directory that will be removed.
func obstacles(pending []PlannedChange, inside map[string][]string) []string {
	var found []string
	removed := pathSet{}
	for _, p := range pending {
		target := path.Clean(p.Target)
		switch {
		case !p.Kind.isPath():
		case p.Now.Type == hostfs.Other:
			found = append(found, fmt.Sprintf("%s is a special file, which cannot be restored", target))
		case !p.Desired.Present:
			removed[target] = true
			for _, name := range inside[target] {
				if inner := path.Join(target, name); !removed[inner] {
					found = append(found, fmt.Sprintf("directory %s must be removed, but contains %s", target, inner))
				}
			}
		case p.Now.Present && (p.Now.Type == hostfs.Directory) != (p.Kind == Directory):
			found = append(found, fmt.Sprintf("%s must be a %s, but is a %s", target, p.Kind, p.Now.Type))
		}
	}
	return found
}

func obstacleError(found []string) error {
	if len(found) == 0 {
		return nil
	}
	return report.Fail(report.Failed, "# move the conflicting files to another directory, then rerun the command",
		"nothing was changed because of conflicting files: %s", report.AbbreviateList(found))
}
