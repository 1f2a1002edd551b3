// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/enroll"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/nodepool"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// enrollOptions are the flags of enroll.
type enrollOptions struct {
	enroll.Flags

	clusters          clusterFlags
	offline           bool
	format, reinstall *string
}

type enrollDocument struct {
	report.TypeMeta
	NodePool string `json:"nodePool" doc:"name of the NodePool"`
	enroll.Result
	report.CommandResult
}

// reinstallPolicy is a policy and its value of --reinstall.
type reinstallPolicy struct {
	value  string
	policy v1alpha1.ReinstallPolicy
}

// reinstallPolicies are all policies, the default first.
var reinstallPolicies = []reinstallPolicy{
	{"refuse", v1alpha1.ReinstallRefuse},
	{"allow", v1alpha1.ReinstallAllow},
	{"allow-same-token", v1alpha1.ReinstallAllowSameToken},
}

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
join token is valid for 5 hours at most. With embedded user data, the payload is
applied by Ignition at the first boot of a host of RHEL CoreOS; without it, the
host gets the payload after its first boot, and reboots into its image.

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
                                        list nodes; optional, for the check of
                                        the hosts' networks: get networks of
                                        operator.openshift.io
    hosted cluster, namespace           get secrets, get configmaps (optional),
    hcp-node-admin                      get and create serviceaccounts and their
                                        tokens`,
		Example: "  hcp-node-admin enroll -n clusters workers \\\n" +
			"      worker-7.example.com=192.0.2.7 worker-8.example.com=192.0.2.8\n" +
			"  hcp-node-admin enroll -n clusters workers -f rack-1.txt \\\n" +
			"      --expires 720h --format cloud-init\n" +
			"  hcp-node-admin enroll --offline workers worker-7.example.com=192.0.2.7 \\\n" +
			"      --ca ca.crt",
		Args: requireSome("the name of the NodePool is required, then the nodes or -f FILE"),
	}
	o.addFlags(c, p)
	c.ValidArgsFunction = completeOne(o.clusters.complete(nodepool.Names))
	c.RunE = func(c *cobra.Command, args []string) error { return o.run(c.Context(), p, args[0], args[1:]) }
	return c
}

func (o *enrollOptions) addFlags(c *cobra.Command, p *cli.Printer) {
	flags := c.Flags()
	flags.StringVarP(&o.NodesFile, "filename", "f", "",
		"`FILE` with many nodes, one NAME ADDRESS... per line; - for standard input")
	flags.DurationVar(&o.Lifetime, "expires", 0,
		"`DURATION` in which the host can join, at most 720h (default 24h, with embedded user data 5h)")
	o.format = cli.EnumFlag(c, "format", "",
		"`FORMAT` of the hosts' input: dir, the join tokens; cloud-init, kickstart or ansible (scripts and an inventory), "+
			"which make the hosts nodes; ignition, user data for RHEL CoreOS", enroll.Formats()...)
	flags.StringVar(&o.SiteFile, "site-config", "",
		"`FILE` with the settings of the site (default those of site apply); requires a format other than dir")
	flags.StringVar(&o.Input.ForAll, "one-file", "",
		"write one `FILE` for all hosts, in which each machine finds its entry by serial number or address; requires "+
			"--format cloud-init or kickstart")
	flags.StringVar(&o.AgentURL, "agent-url", "",
		"`URL` (https or http) from which Ignition downloads the binary hcp-node-agent, for an image that does not "+
			"contain it; requires --format ignition and --agent-sha512")
	flags.StringVar(&o.AgentSHA512, "agent-sha512", "",
		"SHA-512 of the binary in `HEX`, as sha512sum prints it, which Ignition verifies")
	flags.StringVar(&o.UserDataFile, "embed-user-data", "",
		"include the user data in `FILE` in the join tokens; hosts then need no other input")
	flags.StringArrayVar(&o.Labels, "label", nil, "`KEY=VALUE` for the Nodes; can be repeated")
	flags.StringArrayVar(&o.Taints, "taint", nil, "`KEY[=VALUE]:EFFECT` for the Nodes; can be repeated")
	o.reinstall = cli.EnumFlag(c, "reinstall", "",
		"`POLICY` for a host whose Node exists and is not Ready: refuse; allow, the host was reinstalled and may join; or "+
			"allow-same-token, the same, also again with the same join token until it expires",
		lists.Map(reinstallPolicies, func(p reinstallPolicy) string { return p.value })...)
	flags.StringVar(&o.Dir, "output-dir", ".", "`DIRECTORY` in which the directory tokens is created")
	o.clusters.addManagement(c, p, "NodePool")
	o.clusters.addHostedKubeconfig(c)
	flags.BoolVar(&o.offline, "offline", false,
		"connect to no cluster, and write manifests of the NodeEnrollments to the directory enrollments")
	flags.StringVar(&o.CAFile, "ca", "", "`FILE` with the hosted cluster's CA (PEM), with --offline")
}

// check returns a usage error for flags that exclude each other.
func (o *enrollOptions) check() error {
	switch {
	case o.NodesFile == "-" && o.clusters.Kubeconfig == "-":
		return report.UsageError("only one of --filename and --kubeconfig can read standard input")
	case !o.offline && o.CAFile != "":
		return report.UsageError("--ca requires --offline")
	case o.offline && o.clusters.IsSet():
		return report.UsageError("--offline connects to no cluster: --kubeconfig, --context, --namespace and " +
			"--hosted-cluster have no effect")
	case o.offline && (o.CAFile == "") == (o.clusters.HostedKubeconfig == ""):
		return report.UsageError("--offline requires the CA of the hosted cluster: either --ca FILE or " +
			"--hosted-kubeconfig FILE")
	}
	return nil
}

func (o *enrollOptions) run(ctx context.Context, p *cli.Printer, nodePool string, nodes []string) error {
	if err := o.check(); err != nil {
		return err
	}
	o.NodePool, o.Input.Format = nodePool, enroll.Format(*o.format)
	o.Reinstall = lists.Find(reinstallPolicies, func(p reinstallPolicy) bool { return p.value == *o.reinstall }).policy
	findings, err := o.Read(nodes, p.In)
	if err != nil {
		return err
	}
	document := enrollDocument{TypeMeta: report.Meta("EnrollResult"), NodePool: nodePool}
	if o.offline {
		p.Program.SelectCluster = nil // the manifests can be for any cluster
		document.Result, err = o.Offline(&o.clusters.Clusters, time.Now())
	} else {
		document.Result, err = enroll.InCluster(ctx, &o.clusters.Clusters, o.Options)
	}
	document.Findings = append(findings, document.Findings...)
	if err != nil && len(document.Enrolled) == 0 && len(document.Findings) == 0 {
		return err
	}
	document.CommandResult = report.ResultOf(err)
	return p.FinishPartly(err, document, func(w *report.Page) { document.Print(w, o.Options, p.Program.Remedy) })
}
