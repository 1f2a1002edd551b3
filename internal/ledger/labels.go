package ledger

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// Labeler knows the SELinux labels of paths, as host.SELinux does.
type Labeler interface {
	// Labels tells the label that each path shall have, given what it shall
	// become. What is not in the answer has none, or it is not known.
	Labels(ctx context.Context, types map[string]host.FileType) (map[string][]byte, error)
	// Relabel sets the labels of paths; it has the last word.
	Relabel(ctx context.Context, paths []string) error
}

// labels asks once for all that will be made. A program that starts in the
// moment between a rename and a relabelling would find a file that it may not
// read; so each thing gets its label before it gets its name.
func (d *Paths) labels(ctx context.Context, pending []Pending) (map[string][]byte, error) {
	if d.SELinux == nil {
		return nil, nil
	}
	types := map[string]host.FileType{}
	for _, p := range pending {
		if p.Want.Present && p.Kind != HardLink {
			types[p.Target] = host.FileType(fileType(p.Kind))
		}
	}
	if len(types) == 0 {
		return nil, nil
	}
	return d.SELinux.Labels(ctx, types)
}

// labelOf is the policy's label, else that of what is replaced.
func labelOf(p Pending, policy map[string][]byte) []byte {
	if label := policy[p.Target]; len(label) > 0 {
		return label
	}
	return p.Now.Xattrs["security.selinux"]
}
