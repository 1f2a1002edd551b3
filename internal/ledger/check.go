package ledger

import (
	"fmt"
	"path"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// maxObstacles is the maximum number of obstacles in one error.
const maxObstacles = 5

// Check rejects, before anything is changed, changes that cannot all be made or restored.
// It fails if an object of another type occupies a path and no earlier change removes the
// object, if a directory to be removed would not be empty, or if a special file would be
// lost.
func (d *Paths) Check(pending []PlannedChange) error {
	inside := map[string][]string{}
	for _, p := range pending {
		if p.Kind != Directory || p.Desired.Present || p.Now.Type != string(hostfs.Directory) {
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
	gone := removals{}
	for _, p := range pending {
		if !p.isPath() {
			continue
		}
		target := path.Clean(p.Target)
		directory := p.Now.Type == string(hostfs.Directory)
		switch {
		case p.Now.Type == string(hostfs.Other):
			found = append(found, fmt.Sprintf("%s is a special file, which could not be given back", target))
		case !p.Desired.Present:
			gone[target] = true
			for _, name := range inside[target] {
				if inner := path.Join(target, name); !gone[inner] {
					found = append(found, fmt.Sprintf("directory %s shall go, but %s is in it", target, inner))
				}
			}
		case p.Now.Present && directory != (p.Kind == Directory):
			found = append(found, fmt.Sprintf("%s shall be a %s, but a %s is there", target, p.Kind, p.Now.Type))
		}
	}
	return found
}

func obstacleError(found []string) error {
	if len(found) == 0 {
		return nil
	}
	text := found[0]
	for i, obstacle := range found[1:] {
		if i+1 == maxObstacles {
			text += fmt.Sprintf("; and %d more", len(found)-maxObstacles)
			break
		}
		text += "; " + obstacle
	}
	return report.Fail(report.Failed, "# move what is in the way to another place, and run the same command again",
		"nothing was changed, as something is in the way: %s", text)
}
