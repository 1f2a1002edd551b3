// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/enroll"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/nodepool"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/site"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// enrollOptions are the flags of enroll.
type enrollOptions struct {
	management                   clusterFlags
	ca                           string
	offline                      bool
	nodesFile, userDataFile, dir string
	labels, taints               []string
	lifetime                     time.Duration
	format, reinstall            *string
	firstBoot                    firstBootOptions
}

type enrollDocument struct {
	report.TypeMeta
	NodePool string `json:"nodePool" doc:"name of the NodePool"`
	enroll.Result
	report.CommandResult
}

const allowReinstall = "allow"

func newEnrollCommand(p *cli.Printer) *cobra.Command {
	var o enrollOptions
	c := &cobra.Command{
		Use:         "enroll NODEPOOL (NODE[=ADDRESS,...]... | -f FILE)",
		Annotations: cli.ExitsWith(report.Refused, report.CredentialRefused),
		Short:       "Enroll hosts in a NodePool, and write one file for each",
		Long: `Enroll creates the NodeEnrollment of each node in the hosted cluster, which
admits its host, and writes the file of the host, which is a secret:

    tokens/NAME.token       its join token: join --join-token NAME.token
    tokens/NAME.EXTENSION   with --format, its only input at its first boot,
                            with the join token and the settings of site apply

NODE is the name of the host, as hostname prints it there. ADDRESS is an IP
address or a CIDR that the serving certificate of the node may contain. Without
one, an administrator approves that certificate. FILE has one NAME ADDRESS...
per line. With --one-file, serial=SERIAL beside or instead of the addresses is
the serial number of the machine, as dmidecode -s system-serial-number prints.

If the controller publishes the user data of the NodePool, the join token
contains a credential with which the host gets it from the hosted cluster, as
long as the join token is valid. Otherwise the host needs the user data too. For
formats without other input, the current user data is then embedded, and the
join token is valid for 5 hours at most.

The command can be repeated with a longer list: existing enrollments and files
are kept, and an interrupted run is completed.

--kubeconfig and --context select the management cluster, from which the
NodePool and the kubeconfig of the hosted cluster are read. With
--hosted-kubeconfig and without --namespace, it connects only to the hosted
cluster. With --offline, it connects to no cluster, and writes manifests to
enrollments/NAME.yaml.

Required permissions:

    management cluster, namespace of    get nodepools and hostedclusters of
    the NodePool                        hypershift.openshift.io, get secrets
    management cluster, to embed user   get secrets in namespace
    data                                NAMESPACE-HOSTEDCLUSTER
    hosted cluster                      get, list and create nodeenrollments,
                                        list nodes
    hosted cluster, namespace           get secrets, get and create
    hcp-node-admin                      serviceaccounts and their tokens`,
		Example: "  hcp-node-admin enroll -n clusters workers \\\n" +
			"      worker-7.example.com=192.0.2.7 worker-8.example.com=192.0.2.8\n" +
			"  hcp-node-admin enroll -n clusters workers -f rack-1.txt \\\n" +
			"      --expires 720h --format cloud-init\n" +
			"  hcp-node-admin enroll --offline workers worker-7.example.com=192.0.2.7 \\\n" +
			"      --ca ca.crt",
		Args: requireSome("the name of the NodePool is required, then the nodes or -f FILE"),
	}
	o.addFlags(c, p)
	c.ValidArgsFunction = completeOne(o.management.complete(nodepool.Names))
	c.RunE = func(c *cobra.Command, args []string) error { return o.run(c.Context(), p, args[0], args[1:]) }
	return c
}

func (o *enrollOptions) addFlags(c *cobra.Command, p *cli.Printer) {
	flags := c.Flags()
	flags.StringVarP(&o.nodesFile, "filename", "f", "",
		"`FILE` with many nodes, one NAME ADDRESS... per line; - for standard input")
	flags.DurationVar(&o.lifetime, "expires", 0,
		"`DURATION` in which the host can join, at most 720h (default 24h, with embedded user data 5h)")
	o.format = cli.EnumFlag(c, "format", "",
		"`FORMAT` of the hosts' input: dir, the join tokens; cloud-init, kickstart or ansible (scripts and an inventory), "+
			"which make the hosts nodes; ignition, user data for RHEL CoreOS", enroll.Formats()...)
	o.firstBoot.add(flags)
	flags.StringVar(&o.userDataFile, "embed-user-data", "",
		"include the user data in `FILE` in the join tokens; hosts then need no other input")
	flags.StringArrayVar(&o.labels, "label", nil, "`KEY=VALUE` for the Nodes; can be repeated")
	flags.StringArrayVar(&o.taints, "taint", nil, "`KEY[=VALUE]:EFFECT` for the Nodes; can be repeated")
	o.reinstall = cli.EnumFlag(c, "reinstall", "",
		"`POLICY` for a host whose Node exists and is not Ready: allow, the reinstalled host may join; or refuse",
		"refuse", allowReinstall)
	flags.StringVar(&o.dir, "output-dir", ".", "`DIRECTORY` in which the directory tokens is created")
	o.management.addManagement(c, p, "NodePool")
	o.management.addHostedKubeconfig(c)
	flags.BoolVar(&o.offline, "offline", false,
		"connect to no cluster, and write manifests of the NodeEnrollments to the directory enrollments")
	flags.StringVar(&o.ca, "ca", "", "`FILE` with the hosted cluster's CA (PEM), with --offline")
}

// check returns a usage error for flags that exclude each other.
func (o *enrollOptions) check() error {
	switch {
	case o.nodesFile == "-" && o.management.Kubeconfig == "-":
		return report.UsageError("only one of --filename and --kubeconfig can read standard input")
	case !o.offline && o.ca != "":
		return report.UsageError("--ca requires --offline")
	case o.offline && o.management.IsSet():
		return report.UsageError("--offline connects to no cluster: --kubeconfig, --context, --namespace and " +
			"--hosted-cluster have no effect")
	case o.offline && (o.ca == "") == (o.management.HostedKubeconfig == ""):
		return report.UsageError("--offline requires the CA of the hosted cluster: either --ca FILE or " +
			"--hosted-kubeconfig FILE")
	}
	return nil
}

func (o *enrollOptions) run(ctx context.Context, p *cli.Printer, nodePool string, nodes []string) error {
	document := enrollDocument{TypeMeta: report.Meta("EnrollResult"), NodePool: nodePool}
	err := o.enroll(ctx, p, nodes, &document)
	print := func(w *report.Page) { printEnrolled(w, o, document, p.Program) }
	if err != nil && len(document.Enrolled) == 0 && len(document.Findings) == 0 {
		return err
	}
	document.CommandResult = report.ResultOf(err)
	return p.FinishPartly(err, document, print)
}

func (o *enrollOptions) enroll(ctx context.Context, p *cli.Printer, nodes []string, document *enrollDocument) error {
	if err := o.check(); err != nil {
		return err
	}
	options, findings, err := o.options(p.In, document.NodePool, nodes)
	if err != nil {
		return err
	}
	if o.offline {
		p.Program.SelectCluster = nil // the manifests can be for any cluster
		err = o.enrollOffline(p.In, options, &document.Result)
	} else {
		err = o.enrollInCluster(ctx, options, &document.Result)
	}
	document.Findings = append(findings, document.Findings...)
	return err
}

// options returns the options of the flags and arguments, and findings about the nodes.
func (o *enrollOptions) options(
	stdin io.Reader, nodePool string, nodes []string,
) (enroll.Options, []report.Finding, error) {
	options := enroll.Options{
		NodePool: nodePool, Dir: o.dir, Labels: o.labels, Taints: o.taints, Lifetime: o.lifetime,
		ReplacesNodes: *o.reinstall == allowReinstall,
	}
	var err error
	if options.Input, err = o.firstBoot.input(enroll.Format(*o.format), stdin); err != nil {
		return options, nil, err
	}
	if options.Nodes, err = o.nodes(stdin, nodes); err != nil {
		return options, nil, err
	}
	findings, err := enroll.CheckNodes(options.Nodes)
	if err == nil {
		err = options.CheckIDs()
	}
	if err != nil {
		return options, nil, report.UsageError("%w", err)
	}
	if o.userDataFile == "" {
		return options, findings, nil
	}
	if options.UserData, err = os.ReadFile(o.userDataFile); err != nil {
		return options, nil, report.UsageError("--embed-user-data: %w", err)
	}
	_, err = ignition.ParseUserData(options.UserData)
	return options, findings, err
}

// nodes returns the nodes of the arguments and of --filename.
func (o *enrollOptions) nodes(stdin io.Reader, arguments []string) ([]enroll.Node, error) {
	var nodes []enroll.Node
	for _, argument := range arguments {
		node, err := enroll.ParseNode(argument)
		if err != nil {
			return nil, report.UsageError("%s: %w", argument, err)
		}
		nodes = append(nodes, node)
	}
	if o.nodesFile == "" {
		return nodes, nil
	}
	content, err := readInput(o.nodesFile, stdin)
	if err != nil {
		return nil, report.UsageError("--filename: %w", err)
	}
	more, err := enroll.ParseNodes(content)
	if err != nil {
		return nil, report.UsageError("--filename: %s: %w", o.nodesFile, err)
	}
	return append(nodes, more...), nil
}

// readInput returns the content of a file, or of standard input if the name is -.
func readInput(name string, stdin io.Reader) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(io.LimitReader(stdin, 32<<20))
	}
	return os.ReadFile(name)
}

func (o *enrollOptions) enrollOffline(stdin io.Reader, options enroll.Options, result *enroll.Result) error {
	ca, err := o.offlineCA(stdin)
	if err != nil {
		return err
	}
	if _, err := enrollment.CAHashes(ca); err != nil {
		return report.UsageError("%w", err)
	}
	if options.Input.NeedsUserData() && options.UserData == nil {
		return report.UsageError("--offline with --format %s requires --embed-user-data: the host gets no other "+
			"input at its first boot", options.Input.Format)
	}
	if options.Input.NeedsSite() && options.Input.Site == nil {
		return report.UsageError("--offline with --format %s requires --site-config: a host needs more than its "+
			"join token to become a node", options.Input.Format)
	}
	if options.Input.Site == nil {
		options.Input.Site = &site.Config{}
	}
	*result, err = enroll.Offline(options, ca, time.Now())
	return err
}

// offlineCA returns the CA of the cluster for which the join tokens are valid.
func (o *enrollOptions) offlineCA(stdin io.Reader) ([]byte, error) {
	if o.ca != "" {
		ca, err := os.ReadFile(o.ca)
		if err != nil {
			return nil, report.UsageError("--ca: %w", err)
		}
		return ca, nil
	}
	selected, err := cluster.Select(o.management.HostedKubeconfig, "", stdin)
	if err != nil {
		return nil, err
	}
	return cluster.CAOf(selected.Kubeconfig)
}
