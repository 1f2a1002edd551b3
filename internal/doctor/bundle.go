// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bundle"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/redact"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// checkBundle fails if the archive cannot be created. It runs before the
// diagnostics.
func checkBundle(file string) error {
	switch file {
	case "":
		return nil
	case "-":
		return report.Fail(report.Usage, "hcp-node-agent doctor --bundle FILE.tar.gz", "the bundle is written to "+
			"a file and cannot be standard output")
	}
	if _, err := os.Lstat(file); err == nil {
		return report.Fail(report.Usage, "# pass a file to --bundle that does not exist yet", "%s already exists; "+
			"a bundle never replaces a file", file)
	}
	if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
		return report.Fail(report.Usage, report.Remedy("mkdir -p "+filepath.Dir(file)), "%s is not a directory to "+
			"which a bundle can be written", filepath.Dir(file))
	}
	return nil
}

// bundle creates the archive for a support case.
func (d *diagnostics) bundle(ctx context.Context, options Options, document Report) (Bundle, error) {
	g := collector{tree: d.Tree, dir: d.Dir, run: command.RunTail, limits: bundle.DefaultLimits()}
	return d.writeBundle(ctx, g, options, document)
}

func (d *diagnostics) writeBundle(ctx context.Context, g collector, options Options, document Report) (Bundle, error) {
	file, err := filepath.Abs(options.Bundle)
	if err != nil {
		return Bundle{}, err
	}
	pieces := append(reportPieces(document), g.pieces()...)
	pieces = append(pieces, d.ledgerPieces()...)
	pieces = append(pieces, d.clusterPieces()...)
	mask := d.mask(ctx, g)
	made := Bundle{File: file}
	err = hostfs.Create(file, func(w io.Writer) error {
		about := bundle.Manifest{Created: document.Time, Hostname: document.Hostname, Version: options.Version}
		made.Manifest, err = bundle.Write(ctx, w, about, pieces, mask, g.limits)
		return err
	})
	if errors.Is(err, fs.ErrExist) {
		err = checkBundle(file) // another process has just created it
	}
	return made, err
}

// mask returns a function that masks the known secrets of this host and everything
// that looks like a secret.
func (d *diagnostics) mask(ctx context.Context, g collector) func(string) string {
	secrets := g.secrets(d.options.Config, d.State.Config)
	if b, err := d.withPayload(ctx, d.SavedPayload()); err == nil && b != nil {
		secrets = append(secrets, payloadSecrets(b.Payload)...)
	}
	if userData := d.Inputs.UserData; userData != nil {
		if content, err := userData.Encode(); err == nil { // includes user data from standard input
			secrets = append(secrets, redact.Find(string(content))...)
		}
	}
	known := redact.NewValues(secrets...)
	return func(text string) string { return redact.Text(known.Text(text)) }
}

// reportPieces returns the report as text and as JSON.
func reportPieces(document Report) []bundle.File {
	var text, encoded bytes.Buffer
	document.Print(&report.Page{Writer: &text})
	err := report.WriteJSON(&encoded, document)
	return []bundle.File{
		staticPiece("doctor.txt", "hcp-node-agent doctor", text.Bytes(), nil),
		staticPiece("doctor.json", "hcp-node-agent doctor --output json", encoded.Bytes(), err),
	}
}

// staticPiece returns a piece whose content is already known.
func staticPiece(name, source string, content []byte, err error) bundle.File {
	return bundle.File{Name: name, Source: source, Get: func(context.Context) (bundle.Content, error) {
		return bundle.Content{Bytes: content}, err
	}}
}
