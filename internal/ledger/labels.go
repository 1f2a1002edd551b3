package ledger

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// Labeler returns and sets the SELinux labels of paths, as host.SELinux does.
type Labeler interface {
	// Labels returns the label that the policy defines for each path with its future file
	// type. Paths without a known label are missing in the result.
	Labels(ctx context.Context, types map[string]hostfs.FileType) (map[string][]byte, error)
	// Relabel sets the labels of existing paths to those of the policy.
	Relabel(ctx context.Context, paths []string) error
}

// policyLabels requests the labels of all paths in one call. Each file is labeled before it is
// renamed into place: a program that starts between the rename and a later relabel would
// find a file that it may not read.
func (d *Paths) policyLabels(ctx context.Context, pending []PlannedChange) (map[string][]byte, error) {
	if d.SELinux == nil {
		return nil, nil
	}
	types := map[string]hostfs.FileType{}
	for _, p := range pending {
		if p.Desired.Present && p.Kind != HardLink {
			types[p.Target] = hostfs.FileType(fileType(p.Kind))
		}
	}
	if len(types) == 0 {
		return nil, nil
	}
	return d.SELinux.Labels(ctx, types)
}

// labelOf returns the policy's label, or the label of the replaced file if the policy has
// none.
func labelOf(p PlannedChange, policy map[string][]byte) []byte {
	if label := policy[p.Target]; len(label) > 0 {
		return label
	}
	return p.Now.Xattrs["security.selinux"]
}
