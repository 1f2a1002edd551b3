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

// ticketOptions are the flags of ticket create.
type ticketOptions struct {
	names, addresses, labels, taints []string
	nodes, kubeconfig, ca, stub, dir string
	lifetime                         time.Duration
}

type createdTicket struct {
	ticket.Public
	TicketFile string `json:"ticketFile"`
	ClaimFile  string `json:"claimFile"`
}

type ticketsDocument struct {
	report.TypeMeta
	Tickets []createdTicket `json:"tickets"`
	result
}

func newTicketCreateCommand(p *printer) *cobra.Command {
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
	var o ticketOptions
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
	flags.StringVar(&o.stub, "embed-stub", "",
		"put the user data in `FILE` into the ticket; the host needs no other input then")
	flags.StringVar(&o.dir, "output-dir", ".", "`DIRECTORY` for the files")
	c.RunE = func(*cobra.Command, []string) error {
		document := ticketsDocument{TypeMeta: report.Meta("Tickets"), Tickets: []createdTicket{}}
		err := o.create(&document)
		print := func(w io.Writer) { printTickets(w, o, document.Tickets) }
		if err != nil && !p.json {
			print(p.out) // the tokens that were created before the error
		}
		document.result = resultOf(err)
		return p.finish(err, document, print)
	}
	return c
}

func badTicket(format string, args ...any) error {
	return report.Fail(report.Usage, "hcp-node-agent ticket create --help", format, args...)
}

func (o ticketOptions) create(document *ticketsDocument) error {
	wish, err := o.wish()
	if err != nil {
		return err
	}
	nodes, err := o.wanted()
	if err != nil {
		return err
	}
	for _, node := range nodes {
		for _, suffix := range []string{ticket.TicketSuffix, ticket.ClaimSuffix} {
			if path := filepath.Join(o.dir, node.name+suffix); exists(path) {
				return badTicket("%s is there already, and nothing is written over it: move it away, or give another --output-dir", path)
			}
		}
	}
	now := time.Now()
	for _, node := range nodes {
		wish.NodeName, wish.Addresses = node.name, node.addresses
		made, claim, err := ticket.New(wish, now)
		if err != nil {
			return badTicket("%w", err)
		}
		one := createdTicket{Public: made.Public(now)}
		one.Addresses = node.addresses
		if one.TicketFile, one.ClaimFile, err = ticket.Write(o.dir, made, claim); err != nil {
			return err
		}
		document.Tickets = append(document.Tickets, one)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// wish returns the options that all tokens share.
func (o ticketOptions) wish() (ticket.Wish, error) {
	wish := ticket.Wish{Labels: o.labels, Taints: o.taints, Lifetime: o.lifetime}
	if (o.kubeconfig == "") == (o.ca == "") {
		return wish, badTicket("give one of --kubeconfig and --ca: a ticket is for one cluster")
	}
	path, flag := o.ca, "--ca"
	if o.kubeconfig != "" {
		path, flag = o.kubeconfig, "--kubeconfig"
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return wish, badTicket("reading %s: %w", flag, err)
	}
	wish.ClusterCA = content
	if o.kubeconfig != "" {
		if wish.ClusterCA, err = approver.ClusterCA(content); err != nil {
			return wish, err
		}
	}
	if o.stub == "" {
		return wish, nil
	}
	if wish.Stub, err = os.ReadFile(o.stub); err != nil {
		return wish, badTicket("reading --embed-stub: %w", err)
	}
	if _, err := ignition.ParseStub(wish.Stub); err != nil {
		return wish, err
	}
	return wish, nil
}

// wanted returns the nodes of --node and --nodes.
func (o ticketOptions) wanted() ([]ticketNode, error) {
	addresses, err := parseAddresses(o.addresses)
	if err != nil {
		return nil, badTicket("--address: %w", err)
	}
	var nodes []ticketNode
	for _, name := range o.names {
		nodes = append(nodes, ticketNode{name, addresses})
	}
	if o.nodes != "" {
		content, err := os.ReadFile(o.nodes)
		if err != nil {
			return nil, badTicket("reading --nodes: %w", err)
		}
		more, err := parseNodes(content)
		if err != nil {
			return nil, badTicket("reading --nodes: %s: %w", o.nodes, err)
		}
		nodes = append(nodes, more...)
	}
	seen := map[string]bool{}
	for _, node := range nodes {
		if seen[node.name] {
			return nil, badTicket("the node %s is named twice", node.name)
		}
		seen[node.name] = true
	}
	switch {
	case len(nodes) == 0:
		return nil, badTicket("give the node's name: --node NAME, or --nodes FILE")
	case len(nodes) > 1 && len(addresses) > 0:
		return nil, badTicket("--address is of one node, and there are %d: give addresses in --nodes FILE", len(nodes))
	}
	return nodes, nil
}

func printTickets(w io.Writer, o ticketOptions, tickets []createdTicket) {
	for _, one := range tickets {
		fmt.Fprintf(w, "%s, until %s\n", one.NodeName, one.Expires.Local().Format(time.DateTime))
		fmt.Fprintf(w, "  %s   a secret: bring it to this host alone\n  %s   no secret: put it into the approver's directory of claims\n", one.TicketFile, one.ClaimFile)
		if len(one.Addresses) == 0 {
			fmt.Fprintln(w, "  it names no address (--address), so a person has to approve the node's serving certificate")
		}
	}
	if len(tickets) == 0 {
		return
	}
	stub := " --user-data stub.ign"
	if o.stub != "" {
		stub = ""
	}
	fmt.Fprintf(w, "\non the host:\n  hcp-node-agent join --ticket NAME.ticket%s\nwhere the hosted cluster is administered, before or after:\n  hcp-node-agent approve --claims DIR --watch --kubeconfig FILE\n", stub)
}
