package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ticket"
)

// tokenOptions are the flags of ticket create.
type tokenOptions struct {
	names, addresses, labels, taints     []string
	nodes, kubeconfig, ca, userData, dir string
	lifetime                             time.Duration
}

type createdToken struct {
	ticket.Summary
	TokenFile      string `json:"ticketFile"`
	EnrollmentFile string `json:"claimFile"`
}

type tokensDocument struct {
	report.TypeMeta
	Tokens []createdToken `json:"tickets"`
	result
}

func newTokenCreateCommand(p *printer) *cobra.Command {
	c := &cobra.Command{
		Use:   "create",
		Short: "Create tickets for nodes, and the claims that match them",
		Long: `Create runs where the cluster is administered, and connects to no cluster. It
writes two files for each node:

    NAME.ticket   a secret, for that host only: join --ticket NAME.ticket
    NAME.claim    no secret, for the approver: approve --claims DIR, with the
                  claims in DIR`,
		Example: "  hcp-node-agent ticket create --node worker-7 --kubeconfig hosted.kubeconfig",
		Args:    cobra.NoArgs,
	}
	var o tokenOptions
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringArrayVar(&o.names, "node", nil, "`NAME` of the node; can be repeated")
	flags.StringVar(&o.nodes, "nodes", "", "`FILE` with many nodes, one NAME ADDRESS... per line")
	flags.StringSliceVar(&o.addresses, "address", nil, "`IP` that the node's serving certificate may contain; "+
		"can be repeated; without any, an administrator approves that certificate")
	flags.DurationVar(&o.lifetime, "expires", 0,
		"`DURATION` in which the node can use the ticket (default 24h, with --embed-stub 5h)")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig `FILE` of the hosted cluster; only its CA is read")
	flags.StringVar(&o.ca, "ca", "", "`FILE` with the hosted cluster's CA (PEM), instead of --kubeconfig")
	flags.StringArrayVar(&o.labels, "label", nil, "`KEY=VALUE` for the Node; can be repeated")
	flags.StringArrayVar(&o.taints, "taint", nil, "`KEY=VALUE:EFFECT` for the Node; can be repeated")
	flags.StringVar(&o.userData, "embed-stub", "",
		"put the user data in `FILE` into the ticket; the host needs no other input then")
	flags.StringVar(&o.dir, "output-dir", ".", "`DIRECTORY` for the files")
	c.RunE = func(*cobra.Command, []string) error {
		document := tokensDocument{TypeMeta: report.Meta("Tickets"), Tokens: []createdToken{}}
		err := o.create(&document)
		print := func(w io.Writer) { printTokens(w, o, document.Tokens) }
		if err != nil && !p.json {
			print(p.out) // the tokens that were created before the error
		}
		document.result = resultOf(err)
		return p.finish(err, document, print)
	}
	return c
}

func tokenUsageError(format string, args ...any) error {
	return report.Fail(report.Usage, "hcp-node-agent ticket create --help", format, args...)
}

func (o tokenOptions) create(document *tokensDocument) error {
	wish, err := o.sharedOptions()
	if err != nil {
		return err
	}
	nodes, err := o.tokenNodes()
	if err != nil {
		return err
	}
	for _, node := range nodes {
		for _, suffix := range []string{ticket.TokenSuffix, ticket.EnrollmentSuffix} {
			if path := filepath.Join(o.dir, node.name+suffix); exists(path) {
				return tokenUsageError("%s is there already, and nothing is written over it: move it away, or give another --output-dir", path)
			}
		}
	}
	now := time.Now()
	for _, node := range nodes {
		wish.NodeName, wish.Addresses = node.name, node.addresses
		made, claim, err := ticket.New(wish, now)
		if err != nil {
			return tokenUsageError("%w", err)
		}
		one := createdToken{Summary: made.Summarize(now)}
		one.Addresses = node.addresses
		if one.TokenFile, one.EnrollmentFile, err = ticket.Write(o.dir, made, claim); err != nil {
			return err
		}
		document.Tokens = append(document.Tokens, one)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// sharedOptions returns the options that all tokens share.
func (o tokenOptions) sharedOptions() (ticket.Options, error) {
	wish := ticket.Options{Labels: o.labels, Taints: o.taints, Lifetime: o.lifetime}
	if (o.kubeconfig == "") == (o.ca == "") {
		return wish, tokenUsageError("give one of --kubeconfig and --ca: a ticket is for one cluster")
	}
	path, flag := o.ca, "--ca"
	if o.kubeconfig != "" {
		path, flag = o.kubeconfig, "--kubeconfig"
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return wish, tokenUsageError("reading %s: %w", flag, err)
	}
	wish.ClusterCA = content
	if o.kubeconfig != "" {
		if wish.ClusterCA, err = approver.ClusterCA(content); err != nil {
			return wish, err
		}
	}
	if o.userData == "" {
		return wish, nil
	}
	if wish.UserData, err = os.ReadFile(o.userData); err != nil {
		return wish, tokenUsageError("reading --embed-stub: %w", err)
	}
	if _, err := ignition.ParseUserData(wish.UserData); err != nil {
		return wish, err
	}
	return wish, nil
}

// tokenNodes returns the nodes of --node and --nodes.
func (o tokenOptions) tokenNodes() ([]tokenNode, error) {
	addresses, err := parseAddresses(o.addresses)
	if err != nil {
		return nil, tokenUsageError("--address: %w", err)
	}
	var nodes []tokenNode
	for _, name := range o.names {
		nodes = append(nodes, tokenNode{name, addresses})
	}
	if o.nodes != "" {
		content, err := os.ReadFile(o.nodes)
		if err != nil {
			return nil, tokenUsageError("reading --nodes: %w", err)
		}
		more, err := parseNodes(content)
		if err != nil {
			return nil, tokenUsageError("reading --nodes: %s: %w", o.nodes, err)
		}
		nodes = append(nodes, more...)
	}
	seen := map[string]bool{}
	for _, node := range nodes {
		if seen[node.name] {
			return nil, tokenUsageError("the node %s is named twice", node.name)
		}
		seen[node.name] = true
	}
	switch {
	case len(nodes) == 0:
		return nil, tokenUsageError("give the node's name: --node NAME, or --nodes FILE")
	case len(nodes) > 1 && len(addresses) > 0:
		return nil, tokenUsageError("--address is of one node, and there are %d: give addresses in --nodes FILE", len(nodes))
	}
	return nodes, nil
}

func printTokens(w io.Writer, o tokenOptions, tickets []createdToken) {
	for _, one := range tickets {
		fmt.Fprintf(w, "%s, until %s\n", one.NodeName, one.Expires.Local().Format(time.DateTime))
		fmt.Fprintf(w, "  %s   a secret: bring it to this host alone\n  %s   no secret: put it into the approver's directory of claims\n", one.TokenFile, one.EnrollmentFile)
		if len(one.Addresses) == 0 {
			fmt.Fprintln(w, "  it names no address (--address), so a person has to approve the node's serving certificate")
		}
	}
	if len(tickets) == 0 {
		return
	}
	stub := " --user-data stub.ign"
	if o.userData != "" {
		stub = ""
	}
	fmt.Fprintf(w, "\non the host:\n  hcp-node-agent join --ticket NAME.ticket%s\nwhere the hosted cluster is administered, before or after:\n  hcp-node-agent approve --claims DIR --watch --kubeconfig FILE\n", stub)
}
