// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
)

// Document is the result of an apply.
type Document struct {
	report.TypeMeta
	Root    string `json:"root" doc:"root directory of the image"`
	Entries int    `json:"entries" doc:"number of files, directories, links, units, users and groups in the config"`
	Changes int    `json:"changes" doc:"number of changes made, implied changes included; 0 if the tree already matched the config"`
	report.CommandResult
}

// Options configures Apply.
type Options struct {
	Payload string // path of the Ignition config or the user data, or "-" for standard input
	Root    string // root directory of the image
	Offline bool   // refuse a config that refers to remote resources
	Stdin   io.Reader
	Sink    report.Sink // may be nil
}

// Apply writes a complete Ignition config, as Ignition itself does, to the
// directory tree o.Root. Only files with secrets get stricter modes. It does not touch running services.
// On failure the tree is restored to its previous state. After a kill the next apply to the same tree,
// with any config, first rolls back the interrupted one.
func Apply(ctx context.Context, o Options) (Document, error) {
	document := Document{TypeMeta: report.Meta("ApplyResult"), Root: o.Root}
	content, err := request.ReadFile(o.Payload, o.Stdin, "--payload")
	if err != nil {
		return document, err
	}
	tree, err := openRoot(o.Root)
	if err != nil {
		return document, err
	}
	defer tree.Close()
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent(len(content))))
	log := report.Log{Sink: o.Sink, Step: "apply"}
	payload, err := ignition.ReadConfig(ctx, content, ignition.Fetcher{Log: log}, o.Offline)
	if err != nil {
		return document, err
	}
	for _, warning := range append(payload.Warnings, adapt.UnappliedKernelArguments(payload)...) {
		log.Warn(warning, "")
	}
	payload.Raw = nil // as large as the config, and not needed here
	i, err := openImage(ctx, tree, log)
	if err != nil {
		return document, err
	}
	document.Entries = payload.EntryCount()
	document.Changes, err = i.writeConfig(ctx, payload, log)
	if err != nil {
		// Roll back even if ctx has ended: the tree must not remain partially written.
		document.Changes = 0
		return document, errors.Join(err, i.rollBack(context.WithoutCancel(ctx)))
	}
	return document, i.commit()
}

// gcPercent returns how much the heap grows between two garbage collections, in percent, for a config of so
// many bytes. By default, the heap doubles. For a small config, the collections of a heap of a few MiB take a
// tenth of the processor time. For a large one, they take 1 %, and more garbage is allocated while a
// collection waits for the processor.
func gcPercent(size int) int {
	switch {
	case size < 512<<10:
		return 300
	case size > 4<<20:
		return 50
	}
	return 100
}

func openRoot(root string) (tree *hostfs.Tree, err error) {
	// Compare inodes, not names: a link to / or /proc/self/root is the running host
	// too.
	given, err := os.Stat(root)
	if err != nil {
		return nil, report.UsageError("--root: %w", err)
	}
	if !given.IsDir() {
		return nil, report.UsageError("--root: %s is not a directory", root)
	}
	running, err := os.Stat("/")
	if err != nil {
		return nil, fmt.Errorf("reading the root directory of the running host: %w", err)
	}
	if os.SameFile(given, running) {
		return nil, report.Fail(report.Usage, "hcp-node-agent join # changes the running host",
			"--root is the root directory of the running host; apply only changes the directory tree of an image")
	}
	// Use an absolute path, because mount points are listed by absolute path.
	name, err := filepath.Abs(root)
	if err == nil {
		tree, err = hostfs.OpenTree(name)
	}
	if err != nil {
		return nil, report.UsageError("--root: %w", err)
	}
	tree.SkipSyncs() // see the package comment
	return tree, nil
}
