// SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/nodepool"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// pendingSuffix is added to the name of a join token until its NodeEnrollment exists and its content is complete.
const pendingSuffix = ".incomplete"

// tokenFile is a join token with its file.
type tokenFile struct {
	token     *enrollment.Token
	path      string // final name
	isPending bool   // the name has pendingSuffix
}

// name returns the present name of the file.
func (f *tokenFile) name() string {
	if f.isPending {
		return f.path + pendingSuffix
	}
	return f.path
}

// replace writes the join token to its file again, after it was changed.
func (f *tokenFile) replace() error {
	content, err := f.token.Encode()
	if err != nil {
		return err
	}
	if _, err := enrollment.ParseToken(content); err != nil { // the host would refuse it
		return err
	}
	return nodepool.WriteFile(f.name(), content, true)
}

// finish renames the file to its final name.
func (f *tokenFile) finish() error {
	if !f.isPending {
		return nil
	}
	err := nodepool.CheckReplaceable(f.path)
	if err == nil {
		err = os.Rename(f.name(), f.path)
	}
	if err != nil {
		return fmt.Errorf("finishing the join token: %w", err)
	}
	f.isPending = false
	return nil
}

// readToken returns the file of a node, nil if it does not exist.
func (r *run) readToken(node Node) (*tokenFile, error) {
	path, _ := enrollment.Paths(r.options.Dir, node.Name)
	file := &tokenFile{path: path}
	content, err := os.ReadFile(file.name())
	if errors.Is(err, fs.ErrNotExist) {
		file.isPending = true
		content, err = os.ReadFile(file.name())
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // it is created
	}
	if err != nil {
		return nil, fmt.Errorf("reading the join token: %w", err)
	}
	file.token, err = enrollment.ParseToken(content)
	if err == nil && file.token.NodeName != node.Name {
		err = fmt.Errorf("it is the join token of node %s", file.token.NodeName)
	}
	var hashes []enrollment.Hash
	if err == nil {
		hashes, err = enrollment.CAHashes(r.CA)
	}
	if err == nil {
		err = file.token.CheckCluster(hashes)
	}
	if err != nil {
		return nil, report.Fail(report.Refused, moveRemedy(file.name()), "%s: %w", file.name(), err)
	}
	return file, nil
}

// createToken writes a new join token to its file.
func (r *run) createToken(node Node, now time.Time) (*tokenFile, error) {
	r.result.Findings = append(r.result.Findings, r.found.checkNode(node, r.options.Reinstall.ReplacesNode())...)
	options := r.options.tokenOptions(node, r.CA)
	options.Networks = r.found.networks
	token, _, err := enrollment.New(options, now)
	if err != nil {
		return nil, report.UsageError("%w", err)
	}
	created, err := enrollment.TokenFile(r.options.Dir, token)
	if err != nil {
		return nil, err
	}
	file := &tokenFile{token: token, path: created.Path, isPending: true}
	created.Path = file.name()
	return file, enrollment.Create(created)
}

// ReadSummary returns the public fields of a join token or a NodeEnrollment in a file.
func ReadSummary(path string, now time.Time) (enrollment.Summary, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return enrollment.Summary{}, report.UsageError("%w", err)
	}
	shown, err := enrollment.ParseSummary(content, now)
	switch {
	case report.CodeOf(err) == report.Refused: // the file is of another version
		return shown, fmt.Errorf("%s: %w", path, err)
	case err != nil:
		return shown, report.Fail(report.Usage,
			"hcp-node-admin enroll -n NAMESPACE NODEPOOL NODE # creates a join token",
			"%s: %w", path, err)
	}
	return shown, nil
}

// moveRemedy returns the command that makes room for a new join token.
func moveRemedy(path string) report.Remedy {
	return report.Remedyf("# to enroll it again, run the same command again after:\nmv %[1]s %[1]s.old",
		report.ShellWord(path))
}
