// SPDX-License-Identifier: Apache-2.0

package request

import (
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// EnrollCommand returns the commands that create another join token for a node, or for NAME. A join token does not
// contain the node's addresses.
func EnrollCommand(node string) report.Remedy {
	return report.Remedyf("# create a new join token where the hosted cluster is administered; the address is that of "+
		"the node:\nhcp-node-admin token revoke %[1]s --kubeconfig FILE\n"+
		"hcp-node-admin enroll -n NAMESPACE NODEPOOL %[1]s=ADDRESS", node)
}

// readJoinToken reads the join token of this run, else the saved one of an unfinished join, and merges its settings. A
// saved join token may have expired. That matters only if the node still has to submit a CSR with it.
func (r *reader) readJoinToken() error {
	name := r.given.JoinToken
	isSaved := name == "" && r.inherits
	var content []byte
	var err error
	if isSaved {
		content, err = joinstate.LoadFile(r.StateDir, joinstate.JoinTokenFile)
	} else if name != "" {
		content, err = r.readFile(name, "--join-token")
	}
	if err != nil || content == nil {
		return err // most nodes have none
	}
	if r.request.JoinToken, err = parseJoinToken(content); err != nil {
		return err
	}
	r.request.mergeJoinToken()
	if isSaved || !r.state.Finished.IsZero() {
		return nil // a node that has joined no longer needs it
	}
	return CheckTokenValidity(r.request.JoinToken)
}

// WithJoinToken returns c with the labels and taints of its join token, as a join
// uses it. It does not read the state of a recorded join.
func WithJoinToken(c config.Join, stdin io.Reader) (config.Join, error) {
	r := Request{Config: c}
	if c.JoinToken == "" {
		return c, nil
	}
	content, err := ReadFile(c.JoinToken, stdin, "--join-token")
	if err == nil {
		r.JoinToken, err = parseJoinToken(content)
	}
	r.mergeJoinToken()
	return r.Config, err
}

func parseJoinToken(content []byte) (*enrollment.Token, error) {
	t, err := enrollment.ParseToken(content)
	if err != nil && report.CodeOf(err) != report.Refused { // otherwise the file is of another version
		return nil, report.Fail(report.Usage, EnrollCommand("NAME"), "%w", err)
	}
	return t, err
}

// CheckTokenValidity fails if the join token has expired.
func CheckTokenValidity(t *enrollment.Token) error {
	now := time.Now()
	if err := t.CheckExpiry(now); err != nil {
		return report.Fail(report.CredentialRefused, EnrollCommand(t.NodeName), "%w; this host's clock: %s", err,
			now.UTC().Format(time.RFC3339))
	}
	return nil
}

// SaveJoinToken saves the join token for later runs. Its user data is saved
// separately, like other user data.
func SaveJoinToken(dir string, t *enrollment.Token) error {
	if t == nil {
		return joinstate.RemoveFiles(dir, joinstate.JoinTokenFile)
	}
	kept := *t
	kept.UserData = nil
	content, err := kept.Encode()
	if err != nil {
		return err
	}
	return joinstate.SaveFile(dir, joinstate.JoinTokenFile, content)
}

// mergeJoinToken adds the labels and taints of the join token to the settings. Those of the settings take precedence,
// because they are specific to the host.
func (r *Request) mergeJoinToken() {
	if r.JoinToken == nil {
		return
	}
	r.Config.Labels = mergeByKey(r.Config.Labels, r.JoinToken.Labels, func(label string) string {
		key, _, _ := strings.Cut(label, "=")
		return key
	})
	r.Config.Taints = mergeByKey(r.Config.Taints, r.JoinToken.Taints, func(taint string) string {
		rest, effect, _ := strings.Cut(taint, ":")
		key, _, _ := strings.Cut(rest, "=")
		return key + ":" + effect
	})
}

// mergeByKey returns list plus the elements of more whose key list does not
// contain.
func mergeByKey(list, more []string, name func(string) string) []string {
	list = slices.Clone(list)
	for _, one := range more {
		if !slices.ContainsFunc(list, func(other string) bool { return name(other) == name(one) }) {
			list = append(list, one)
		}
	}
	return list
}
