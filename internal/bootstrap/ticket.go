package bootstrap

import (
	"crypto"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ticket"
)

const freshTicket = "hcp-node-agent ticket create --node NAME --kubeconfig FILE # where the cluster's kubeconfig is, for a new one"

// readTicket returns the join token of this run, else the saved one of an
// unfinished join, or nil. A saved join token may have expired. That matters only
// if the node still has to submit a CSR with it.
func readTicket(c config.Join, state State, dir string, resume bool, stdin io.Reader) (*ticket.Ticket, error) {
	if resume || (c.Ticket == "" && !given(c, state)) {
		content, err := read(dir, ticketFile)
		if err != nil || content == nil {
			return nil, err
		}
		return parseTicket(content)
	}
	if c.Ticket == "" {
		return nil, nil //nolint:nilnil // most nodes have none
	}
	content, err := readInput(c.Ticket, stdin, "--ticket")
	if err != nil {
		return nil, err
	}
	t, err := parseTicket(content)
	if err != nil || !state.Finished.IsZero() {
		return t, err // a node that has joined no longer needs it
	}
	return t, inTime(t)
}

func parseTicket(content []byte) (*ticket.Ticket, error) {
	t, err := ticket.ParseTicket(content)
	if err != nil {
		return nil, report.Fail(report.Usage, freshTicket, "%w", err)
	}
	return t, nil
}

func inTime(t *ticket.Ticket) error {
	now := time.Now()
	if err := t.InTime(now); err != nil {
		return report.Fail(report.CredentialRefused, freshTicket, "%w, and it is %s by this host's clock", err, now.UTC().Format(time.RFC3339))
	}
	return nil
}

// keepTicket saves the join token for later runs. Its user data is saved
// separately, like other user data.
func keepTicket(dir string, t *ticket.Ticket) error {
	if t == nil {
		return drop(dir, ticketFile)
	}
	kept := *t
	kept.Stub = nil
	content, err := kept.Encode()
	if err != nil {
		return err
	}
	return keep(dir, ticketFile, content)
}

// withTicket adds the labels and taints of the join token to the configuration.
// Those of the configuration take precedence, because they are specific to the
// host.
func withTicket(c config.Join, t *ticket.Ticket) config.Join {
	if t == nil {
		return c
	}
	c.Labels = unlessNamed(c.Labels, t.Labels, func(label string) string {
		key, _, _ := strings.Cut(label, "=")
		return key
	})
	c.Taints = unlessNamed(c.Taints, t.Taints, func(taint string) string {
		rest, effect, _ := strings.Cut(taint, ":")
		key, _, _ := strings.Cut(rest, "=")
		return key + ":" + effect
	})
	return c
}

// unlessNamed returns list plus the elements of more whose key list does not
// contain.
func unlessNamed(list, more []string, name func(string) string) []string {
	list = slices.Clone(list)
	for _, one := range more {
		if !slices.ContainsFunc(list, func(other string) bool { return name(other) == name(one) }) {
			list = append(list, one)
		}
	}
	return list
}

// ticketFits fails if the join token is for another node or another cluster. It
// runs before the host is changed.
func (j *join) ticketFits() error {
	t := j.inputs.ticket
	if t == nil {
		return nil
	}
	if t.NodeName != j.name {
		return report.Fail(report.Refused, fmt.Sprintf("# give this host the ticket of %s, or the name of the ticket:\nhostnamectl set-hostname %s", j.name, t.NodeName),
			"the ticket %s is for the node %s, and this node is %s", t.ID, t.NodeName, j.name)
	}
	cluster, err := ticket.Authorities(j.state.APIServerCA)
	if err == nil {
		err = t.Fits(cluster)
	}
	if err != nil {
		return report.Fail(report.Refused, freshTicket, "the ticket cannot be used with %s: %w", j.state.APIServer, err)
	}
	return nil
}

// annotate returns a function that returns the annotations with which the
// client CSR proves possession of the join token. It returns nil if there is no
// join token.
func (j *join) annotate() func(crypto.PublicKey) (map[string]string, error) {
	t := j.inputs.ticket
	if t == nil {
		return nil
	}
	return func(publicKey crypto.PublicKey) (map[string]string, error) {
		if err := inTime(t); err != nil {
			return nil, err
		}
		cluster, err := ticket.Authorities(j.state.APIServerCA)
		if err != nil {
			return nil, err
		}
		return t.Prove(cluster, publicKey)
	}
}
