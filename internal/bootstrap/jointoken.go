package bootstrap

import (
	"crypto"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const recreateCommand = "hcp-node-admin token create --node NAME --kubeconfig FILE # where the cluster's kubeconfig is, for a new one"

// readJoinToken returns the join token of this run, else the saved one of an
// unfinished join, or nil. A saved join token may have expired. That matters only
// if the node still has to submit a CSR with it.
func readJoinToken(c config.Join, state State, dir string, resume bool, stdin io.Reader) (*enrollment.Token, error) {
	if resume || (c.JoinToken == "" && !startsOver(c, state)) {
		content, err := loadFile(dir, joinTokenFile)
		if err != nil || content == nil {
			return nil, err
		}
		return parseJoinToken(content)
	}
	if c.JoinToken == "" {
		return nil, nil //nolint:nilnil // most nodes have none
	}
	content, err := readInput(c.JoinToken, stdin, "--join-token")
	if err != nil {
		return nil, err
	}
	t, err := parseJoinToken(content)
	if err != nil || !state.Finished.IsZero() {
		return t, err // a node that has joined no longer needs it
	}
	return t, checkTokenValidity(t)
}

func parseJoinToken(content []byte) (*enrollment.Token, error) {
	t, err := enrollment.ParseToken(content)
	if err != nil {
		return nil, report.Fail(report.Usage, recreateCommand, "%w", err)
	}
	return t, nil
}

func checkTokenValidity(t *enrollment.Token) error {
	now := time.Now()
	if err := t.CheckExpiry(now); err != nil {
		return report.Fail(report.CredentialRefused, recreateCommand, "%w, and it is %s by this host's clock", err, now.UTC().Format(time.RFC3339))
	}
	return nil
}

// saveJoinToken saves the join token for later runs. Its user data is saved
// separately, like other user data.
func saveJoinToken(dir string, t *enrollment.Token) error {
	if t == nil {
		return removeFiles(dir, joinTokenFile)
	}
	kept := *t
	kept.UserData = nil
	content, err := kept.Encode()
	if err != nil {
		return err
	}
	return saveFile(dir, joinTokenFile, content)
}

// mergeJoinToken adds the labels and taints of the join token to the configuration.
// Those of the configuration take precedence, because they are specific to the
// host.
func mergeJoinToken(c config.Join, t *enrollment.Token) config.Join {
	if t == nil {
		return c
	}
	c.Labels = mergeByKey(c.Labels, t.Labels, func(label string) string {
		key, _, _ := strings.Cut(label, "=")
		return key
	})
	c.Taints = mergeByKey(c.Taints, t.Taints, func(taint string) string {
		rest, effect, _ := strings.Cut(taint, ":")
		key, _, _ := strings.Cut(rest, "=")
		return key + ":" + effect
	})
	return c
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

// checkJoinToken fails if the join token is for another node or another cluster. It
// runs before the host is changed.
func (j *operation) checkJoinToken() error {
	t := j.inputs.joinToken
	if t == nil {
		return nil
	}
	if t.NodeName != j.name {
		return report.Fail(report.Refused, fmt.Sprintf("# give this host the join token of %s, or the name of the join token:\nhostnamectl set-hostname %s", j.name, t.NodeName),
			"the join token %s is for the node %s, and this node is %s", t.ID, t.NodeName, j.name)
	}
	cluster, err := enrollment.CAHashes(j.state.APIServerCA)
	if err == nil {
		err = t.CheckCluster(cluster)
	}
	if err != nil {
		return report.Fail(report.Refused, recreateCommand, "the join token cannot be used with %s: %w", j.state.APIServer, err)
	}
	return nil
}

// csrAnnotations returns a function that returns the annotations with which the
// client CSR proves possession of the join token. It returns nil if there is no
// join token.
func (j *operation) csrAnnotations() func(crypto.PublicKey) (map[string]string, error) {
	t := j.inputs.joinToken
	if t == nil {
		return nil
	}
	return func(publicKey crypto.PublicKey) (map[string]string, error) {
		if err := checkTokenValidity(t); err != nil {
			return nil, err
		}
		cluster, err := enrollment.CAHashes(j.state.APIServerCA)
		if err != nil {
			return nil, err
		}
		return t.Sign(cluster, publicKey)
	}
}
