package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// ApplyDocument is what an apply wrote.
type ApplyDocument struct {
	report.TypeMeta
	Root    string `json:"root"`
	Changed int    `json:"changed"`
	Total   int    `json:"total"`
}

// Apply writes an Ignition config, whole and as Ignition would, to the
// directory tree root. It touches no service. After an error the tree is as it
// was.
func Apply(ctx context.Context, config string, stdin io.Reader, root string) (ApplyDocument, error) {
	document := ApplyDocument{TypeMeta: report.Meta("ApplyResult"), Root: root}
	content, err := readInput(config, stdin, "--config")
	if err != nil {
		return document, applyUsage(err)
	}
	payload, err := ignition.LoadPayload(content)
	if err != nil {
		return document, err
	}
	tree, err := openRoot(root)
	if err != nil {
		return document, err
	}
	defer tree.Close()
	users, groups, err := namesOf(tree)
	if err != nil {
		return document, err
	}
	changes, err := ignition.Verbatim(payload, users, groups)
	if err != nil {
		return document, err
	}
	document.Total = len(changes)
	document.Changed, err = write(ctx, tree, changes)
	return document, err
}

func openRoot(root string) (*host.Tree, error) {
	if path.Clean(root) == "/" {
		return nil, report.Fail(report.Usage, "hcp-node-agent join   changes the running host",
			"--root is /; apply writes to the tree of an image and touches no service")
	}
	tree, err := host.OpenTree(root)
	if err != nil {
		return nil, applyUsage(fmt.Errorf("reading --root: %w", err))
	}
	return tree, nil
}

func applyUsage(err error) error {
	return report.Fail(report.Usage, "see: hcp-node-agent apply --help", "%w", err)
}

// namesOf reads the users and groups of a tree that may have none.
func namesOf(tree *host.Tree) (users, groups ignition.Lookup, err error) {
	there, err := tree.Exists("/etc/passwd")
	if err != nil {
		return nil, nil, err
	}
	if !there {
		none := ignition.ParseNames(nil)
		return none, none, nil
	}
	return names(tree)
}

// write makes the changes with a ledger of its own, which is only there to
// take them back when one of them fails.
func write(ctx context.Context, tree *host.Tree, changes []ledger.Change) (int, error) {
	dir, err := os.MkdirTemp("", "hcp-node-agent-apply-")
	if err != nil {
		return 0, fmt.Errorf("making a place for the way back: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary folder
	paths := &ledger.Paths{Tree: tree}
	l, err := ledger.Open(dir, map[ledger.Kind]ledger.Driver{
		ledger.File: paths, ledger.Directory: paths, ledger.Link: paths, ledger.HardLink: paths,
	})
	if err != nil {
		return 0, err
	}
	defer l.Close()
	if err := strict(ctx, l, changes); err != nil {
		return 0, err
	}
	made, err := l.Apply(ctx, "apply", changes)
	if err != nil {
		// Also when ctx has ended: the tree must not stay half written.
		_, undone := l.Undo(context.WithoutCancel(ctx))
		return 0, errors.Join(err, undone)
	}
	return len(made), nil
}

// strict refuses what Ignition refuses: a file that is there already, unless
// the config overwrites it or it is exactly what is wanted.
func strict(ctx context.Context, l *ledger.Ledger, changes []ledger.Change) error {
	pending, err := l.Diff(ctx, changes)
	if err != nil {
		return err
	}
	for _, p := range pending {
		if p.Now.Present && p.Kind != ledger.Directory && !p.Overwrite {
			return report.Fail(report.Failed, "set overwrite: true for it in the config, or remove it",
				"%s exists already (%s) and the config does not overwrite it; nothing was changed", p.Target, p.Now)
		}
	}
	return nil
}
