// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// tokenOptions are the flags of token create.
type tokenOptions struct {
	cluster                          clusterFlags
	names, addresses, labels, taints []string
	nodes, ca, userData, dir         string
	lifetime                         time.Duration
	firstBoot                        firstBootOptions
}

type createdToken struct {
	enrollment.Summary
	TokenFile      string `json:"joinTokenFile" doc:"path of the join token, which is a secret"`
	EnrollmentFile string `json:"enrollmentFile" doc:"path of the enrollment"`
	UserDataFile   string `json:"userDataFile,omitempty" doc:"path of the user data for the first boot of the host, which is a secret"`
}

type tokensDocument struct {
	report.TypeMeta
	Tokens   []createdToken `json:"joinTokens" doc:"join tokens that were created"`
	Existing []string       `json:"existing,omitempty" doc:"nodes whose files exist already, and were not changed"`
	report.CommandResult
}

func newTokenCreateCommand(p *cli.Printer) *cobra.Command {
	c := &cobra.Command{
		Use:   "create",
		Short: "Create join tokens for nodes, and the enrollments that match them",
		Long: `Create runs where the cluster is administered, and connects to no cluster. It
writes two files for each node:

    tokens/NAME.token            a secret, for that host only:
                                 join --join-token NAME.token
    enrollments/NAME.enrollment  no secret, for the approver:
                                 approve --enrollments DIR/enrollments

With --for rhcos, it writes a third file:

    tokens/NAME.ign              a secret, for that host only: user data with
                                 which it enrolls at its first boot

It can be repeated with a longer list: the files of a node are never replaced.`,
		Example: "  hcp-node-admin token create --node worker-7.example.com \\\n" +
			"      --address 192.0.2.7 --kubeconfig hosted.kubeconfig\n" +
			"  hcp-node-admin token create --node worker-8.example.com \\\n" +
			"      --address 192.0.2.8 --ca ca.crt \\\n" +
			"      --embed-user-data user-data.ign --for rhcos \\\n" +
			"      --agent-url https://files.example.com/hcp-node-agent \\\n" +
			"      --agent-sha512 \"$(sha512sum hcp-node-agent | cut -d ' ' -f 1)\"",
		Args: cli.NoArgs,
	}
	var o tokenOptions
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringArrayVar(&o.names, "node", nil,
		"`NAME` of the node, which is the host name of the host (hostname); can be repeated")
	flags.StringVar(&o.nodes, "nodes", "", "`FILE` with many nodes, one NAME ADDRESS... per line")
	flags.StringSliceVar(&o.addresses, "address", nil,
		"`IP` that the node's serving certificate may contain; can be repeated; if there is none, an administrator "+
			"must approve that certificate")
	flags.DurationVar(&o.lifetime, "expires", 0,
		"`DURATION` in which the node can use the join token, at most 720h (default 24h, with --embed-user-data 5h)")
	o.cluster.add(flags, "; only its CA is read")
	flags.StringVar(&o.ca, "ca", "", "`FILE` with the hosted cluster's CA (PEM), instead of a kubeconfig")
	flags.StringArrayVar(&o.labels, "label", nil, "`KEY=VALUE` for the Node; can be repeated")
	flags.StringArrayVar(&o.taints, "taint", nil, "`KEY[=VALUE]:EFFECT` for the Node; can be repeated")
	flags.StringVar(&o.userData, "embed-user-data", "",
		"include the user data in `FILE` in the join token; the host then needs no other input")
	o.firstBoot.add(c)
	flags.StringVar(&o.dir, "output-dir", ".", "`DIRECTORY` in which the directories tokens and enrollments are created")
	c.RunE = func(*cobra.Command, []string) error {
		document := tokensDocument{TypeMeta: report.Meta("JoinTokens")}
		err := o.create(p.In, &document)
		print := func(w *report.Page) { printTokens(w, o, document, p.Program) }
		if err != nil && !p.JSON {
			print(&report.Page{Writer: p.Out}) // the tokens that were created before the error
		}
		if err != nil && len(document.Tokens) == 0 {
			return err
		}
		document.CommandResult = report.ResultOf(err)
		return p.Finish(err, document, print)
	}
	return c
}

func (o tokenOptions) create(stdin io.Reader, document *tokensDocument) error {
	options, err := o.sharedOptions(stdin)
	if err != nil {
		return err
	}
	nodes, err := o.tokenNodes()
	if err != nil {
		return err
	}
	now := time.Now()
	for _, node := range nodes {
		if secret, public := enrollment.Paths(o.dir, node.name); exists(secret) || exists(public) ||
			exists(enrollment.UserDataPath(o.dir, node.name)) {
			document.Existing = append(document.Existing, node.name)
			continue
		}
		options.NodeName, options.Addresses = node.name, node.addresses
		made, record, err := enrollment.New(options, now)
		if err != nil {
			return usageError("%w", err)
		}
		one := createdToken{Summary: made.Summarize(now)}
		one.Addresses = enrollment.FormatAddresses(node.addresses)
		userData, err := o.firstBoot.userData(made)
		if err != nil {
			return err
		}
		if one.TokenFile, one.EnrollmentFile, err = enrollment.Write(o.dir, made, record, userData); err != nil {
			return err
		}
		if userData != nil {
			one.UserDataFile = enrollment.UserDataPath(o.dir, node.name)
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
func (o tokenOptions) sharedOptions(stdin io.Reader) (enrollment.Options, error) {
	options := enrollment.Options{Labels: o.labels, Taints: o.taints, Lifetime: o.lifetime}
	err := o.firstBoot.check(o.userData != "")
	if err != nil {
		return options, err
	}
	if options.ClusterCA, err = o.clusterCA(stdin); err != nil {
		return options, err
	}
	if o.userData == "" {
		return options, nil
	}
	if options.UserData, err = os.ReadFile(o.userData); err != nil {
		return options, usageError("--embed-user-data: %w", err)
	}
	if _, err := ignition.ParseUserData(options.UserData); err != nil {
		return options, err
	}
	return options, nil
}

// clusterCA returns the CA of the cluster for which the join tokens are valid.
func (o tokenOptions) clusterCA(stdin io.Reader) ([]byte, error) {
	if o.ca == "" {
		kubeconfig, err := o.cluster.read(stdin)
		if err != nil {
			return nil, err
		}
		return approver.ClusterCA(kubeconfig)
	}
	if o.cluster.isSet() {
		return nil, usageError("--ca replaces --kubeconfig and --context: a join token is for one cluster")
	}
	ca, err := os.ReadFile(o.ca)
	if err != nil {
		return nil, usageError("--ca: %w", err)
	}
	return ca, nil
}

// tokenNodes returns the nodes of --node and --nodes.
func (o tokenOptions) tokenNodes() ([]tokenNode, error) {
	addresses, err := parseAddresses(o.addresses)
	if err != nil {
		return nil, usageError("--address: %w", err)
	}
	nodes := lists.Map(o.names, func(name string) tokenNode { return tokenNode{name: name, addresses: addresses} })
	if o.nodes != "" {
		content, err := os.ReadFile(o.nodes)
		if err != nil {
			return nil, usageError("--nodes: %w", err)
		}
		more, err := parseNodes(content)
		if err != nil {
			return nil, usageError("--nodes: %s: %w", o.nodes, err)
		}
		nodes = append(nodes, more...)
	}
	seen := map[string]bool{}
	for _, node := range nodes {
		if seen[node.name] {
			return nil, usageError("node %s is listed twice", node.name)
		}
		seen[node.name] = true
	}
	switch {
	case len(nodes) == 0:
		return nil, usageError("the node's name is required: --node NAME, or --nodes FILE")
	case len(nodes) > 1 && len(addresses) > 0:
		return nil, usageError("--address is for a single node, but %d are given: list the addresses in "+
			"--nodes FILE", len(nodes))
	}
	return nodes, nil
}

func printTokens(w io.Writer, o tokenOptions, document tokensDocument, program cli.Program) {
	for _, one := range document.Tokens {
		fmt.Fprintf(w, "%s, valid until %s\n", one.TokenFile, report.Timestamp(one.Expires))
		if one.UserDataFile != "" {
			fmt.Fprintf(w, "%s, user data for the first boot, contains the join token\n", one.UserDataFile)
		}
		if len(one.Addresses) == 0 {
			fmt.Fprintln(w, "  no address given (--address): an administrator must approve the node's serving CSR")
		}
	}
	for _, name := range document.Existing {
		secret, public := enrollment.Paths(o.dir, name)
		for _, file := range []string{secret, public, enrollment.UserDataPath(o.dir, name)} {
			if exists(file) {
				fmt.Fprintf(w, "%s exists and is kept; for a new join token, move it\n", file)
			}
		}
	}
	if len(document.Tokens) == 0 {
		return
	}
	name := "NAME"
	if len(document.Tokens) == 1 {
		name = document.Tokens[0].NodeName
	}
	if o.firstBoot.isSet() {
		printFirstBoot(w, enrollment.UserDataPath(o.dir, name))
	} else {
		printJoin(w, name+enrollment.TokenSuffix, o.userData != "")
	}
	fmt.Fprintf(w, "# where the hosted cluster is administered, before or after:\n%s",
		program.Rename(fmt.Sprintf("hcp-node-admin approve --enrollments %s --watch%s\n",
			report.ShellWord(filepath.Dir(document.Tokens[0].EnrollmentFile)), o.cluster.words())))
}

// printJoin prints how a host uses its join token.
func printJoin(w io.Writer, token string, hasUserData bool) {
	userData := " --user-data user-data.ign"
	if hasUserData {
		userData = ""
	}
	fmt.Fprintf(w, "\n# copy each join token, a secret, only to its host; there:\nhcp-node-agent join --join-token %s%s\n",
		token, userData)
}
