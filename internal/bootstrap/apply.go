package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// ApplyDocument is what an apply wrote.
type ApplyDocument struct {
	report.TypeMeta
	Root    string `json:"root"`
	Entries int    `json:"entries"` // that the config has: files, directories, links, units, users, groups
	Changes int    `json:"changes"` // that were made, with those that they imply; 0 when all was so already
}

// ApplyOptions is what an apply is told.
type ApplyOptions struct {
	Config  string // path of the Ignition config or user-data stub, or "-"
	Root    string // the directory that is the root of an image
	Offline bool   // refuse a config that refers to anything elsewhere
	Stdin   io.Reader
	Sink    report.Sink // may be nil
}

// Apply writes an Ignition config, whole and as Ignition would, to the
// directory tree root. It touches no service. After an error the tree is as it
// was; after a kill the next apply to the tree, of whatever config, takes back
// what was done before it begins.
func Apply(ctx context.Context, o ApplyOptions) (ApplyDocument, error) {
	document := ApplyDocument{TypeMeta: report.Meta("ApplyResult"), Root: o.Root}
	content, err := readInput(o.Config, o.Stdin, "--config")
	if err != nil {
		return document, applyUsage(err)
	}
	tree, err := openRoot(o.Root)
	if err != nil {
		return document, err
	}
	defer tree.Close()
	log := report.Log{Sink: o.Sink, Step: "apply"}
	payload, err := ignition.ReadConfig(ctx, content, ignition.Fetcher{Log: log}, o.Offline)
	if err != nil {
		return document, err
	}
	for _, warning := range append(payload.Warnings, payload.Unapplied()...) {
		log.Warn(warning, "")
	}
	i, err := openImage(ctx, tree, log)
	if err != nil {
		return document, err
	}
	document.Entries = payload.Entries()
	document.Changes, err = i.write(ctx, payload)
	if err != nil {
		// Also when ctx has ended: the tree must not stay half written.
		document.Changes = 0
		return document, errors.Join(err, i.takeBack(context.WithoutCancel(ctx)))
	}
	return document, i.done()
}

func openRoot(root string) (*host.Tree, error) {
	// By whatever name: a link to / or /proc/self/root is the running host too.
	given, err := os.Stat(root)
	if err != nil {
		return nil, applyUsage(fmt.Errorf("reading --root: %w", err))
	}
	running, err := os.Stat("/")
	if err != nil {
		return nil, fmt.Errorf("looking at the root of the running host: %w", err)
	}
	if os.SameFile(given, running) {
		return nil, report.Fail(report.Usage, "hcp-node-agent join # changes the running host",
			"--root is the root of the running host; apply writes to the tree of an image and touches no service")
	}
	// Absolute, as mounts are listed.
	name, err := filepath.Abs(root)
	if err != nil {
		return nil, applyUsage(fmt.Errorf("reading --root: %w", err))
	}
	tree, err := host.OpenTree(name)
	if err != nil {
		return nil, applyUsage(fmt.Errorf("reading --root: %w", err))
	}
	return tree, nil
}

func applyUsage(err error) error {
	return report.Fail(report.Usage, "hcp-node-agent apply --help", "%w", err)
}
