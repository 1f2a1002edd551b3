// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/install"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/nodepool"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/registry"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// installFlags are the flags that controller install, controller uninstall and controller status have.
type installFlags struct {
	install.Installer

	clusters clusterFlags
}

func (o *installFlags) add(c *cobra.Command, p *cli.Printer) {
	o.clusters.addManagement(c, p, "HostedCluster")
	o.clusters.addHostedKubeconfig(c)
	c.Flags().StringVar(&o.Namespace, "controller-namespace", v1alpha1.Namespace,
		"`NAMESPACE` of the controller on the management cluster; the controllers of several hosted clusters need one each")
	c.ValidArgsFunction = completeOne(o.clusters.complete(nodepool.HostedClusters))
}

func (o *installFlags) addDryRun(flags *pflag.FlagSet) {
	flags.BoolVar(&o.DryRun, "dry-run", false, "print what would change, by a dry run of the API servers")
}

// controllerInstallOptions are the flags of controller install.
type controllerInstallOptions struct {
	installFlags

	in, format *string
	manifests  string
	isSet      func(name string) bool
}

type controllerDocument struct {
	report.TypeMeta
	HostedCluster string              `json:"hostedCluster" doc:"HostedCluster as NAMESPACE/NAME"`
	DryRun        bool                `json:"dryRun,omitempty" doc:"nothing was changed, because of --dry-run"`
	Changes       []install.Change    `json:"changes" doc:"objects, in the order in which they were changed"`
	Remaining     []install.Remaining `json:"remaining,omitempty" doc:"objects of the hosted cluster that controller uninstall does not remove"`
	report.CommandResult
}

func newControllerInstallCommand(p *cli.Printer) *cobra.Command {
	var o controllerInstallOptions
	c := &cobra.Command{
		Use:         "install HOSTEDCLUSTER",
		Annotations: cli.ExitsWith(report.Refused, report.CredentialRefused, report.Interrupted),
		Short:       "Install the controller of a hosted cluster",
		Long: `Install connects to the management cluster, and with the kubeconfig of the
HostedCluster to the hosted cluster. It applies the custom resource definitions,
the service account and the permissions of the controller to the hosted cluster,
and the controller itself to the management cluster, beside the hosted control
plane. It has no permissions there: its kubeconfig, in a Secret, contains a
token of its service account in the hosted cluster.

If the hosted cluster has the namespace openshift-config, its nodes get the
permission to read the pull secret and the additional CAs there, whose contents
are in their payload.

With --publish, the controller also publishes the user data of the NodePools.
It gets the permissions to list all NodePools and to get the HostedCluster in
the namespace of the HostedCluster, and to get the Secrets in the namespace of
the hosted control plane. They contain the keys of the hosted cluster.

With --in hosted, the controller runs in the hosted cluster. Its pods need a
node there, so they cannot approve the first node of the cluster.

With --monitoring, the Prometheus Operator of the cluster that runs the
controller collects its metrics and evaluates its alerts. On OpenShift the
console shows the dashboard.

The objects are those of the directory deploy. A repetition of the command keeps
the settings of the installed controller, such as --publish and --monitoring,
unless a flag changes them. --output yaml prints the manifests and connects to
no cluster.

Required permissions: those of an administrator of the hosted cluster, get
hostedclusters and secrets in the namespace of the HostedCluster, and those of
an administrator of the namespace of the controller, which is created if the
permission exists. With --publish, also those to create roles and rolebindings
in the namespaces of the HostedCluster and of the hosted control plane, list
nodepools there, and get secrets of the hosted control plane. With --monitoring,
also those to create podmonitors, prometheusrules and networkpolicies, and
configmaps in the namespace openshift-config-managed.`,
		Example: "  hcp-node-admin controller install hosted -n clusters \\\n" +
			"      --image registry.example.com/hcp-node-admin:0.1.0\n" +
			"  hcp-node-admin controller install hosted -n clusters --publish --dry-run\n" +
			"  hcp-node-admin controller install --in hosted --output yaml",
		Args: func(_ *cobra.Command, args []string) error {
			return o.clusters.nameHostedCluster(args, *o.format != "yaml")
		},
	}
	flags := c.Flags()
	o.add(c, p)
	o.addDryRun(flags)
	o.in = cli.EnumFlag(c, "in", "", "`CLUSTER` in which the controller runs: management or hosted",
		cluster.Place("").Enum()...)
	flags.StringVar(&o.Image, "image", "",
		"`IMAGE` of hcp-node-admin in a registry of the site; the digest replaces a tag, if the registry is reachable; "+
			"required unless the controller is installed; with --output yaml, the default is that of the manifests")
	flags.IntVar(&o.Replicas, "replicas", 2, "number of replicas, one of which works")
	flags.BoolVar(&o.Publish, "publish", false,
		"publish the user data of the NodePools in the hosted cluster; requires --in management; =false removes it")
	flags.BoolVar(&o.Monitoring, "monitoring", false,
		"add metrics, alerts and the dashboard of OpenShift's console; requires the Prometheus Operator; =false removes "+
			"them")
	flags.BoolVar(&o.Wait, "wait", true,
		"wait until the controller is available, with --publish until it has published the user data")
	flags.DurationVar(&o.Timeout, "timeout", 5*time.Minute, "timeout of each wait, as a `DURATION`")
	flags.StringVar(&o.manifests, "cluster", "",
		"with --output yaml and --in management: print the manifests for this `CLUSTER`, management or hosted")
	cli.CompleteFlag(c, "cluster", cli.CompleteValue(cluster.Place("").Enum()))
	o.format = p.BindOutput(c, "output `FORMAT`: text, json, or yaml for the manifests", "text", "json", "yaml")
	o.isSet = flags.Changed
	c.RunE = func(c *cobra.Command, _ []string) error { return o.run(c.Context(), p) }
	return c
}

func (o *controllerInstallOptions) check() error {
	switch o.In = cluster.Place(*o.in); {
	case o.Replicas < 1:
		return report.UsageError("--replicas must be at least 1")
	case o.manifests != "" && *o.format != "yaml":
		return report.UsageError("--cluster requires --output yaml")
	}
	return cmp.Or(o.Check(), registry.Check(o.Image), o.CheckNamespace())
}

func (o *controllerInstallOptions) run(ctx context.Context, p *cli.Printer) error {
	if err := o.check(); err != nil {
		return err
	}
	if *o.format == "yaml" {
		return o.printManifests(p)
	}
	o.Log = report.Log{Sink: p.Sink, Step: "controller"}
	err := o.Connect(ctx, &o.clusters.Clusters)
	if err == nil {
		err = o.KeepInstalled(ctx, o.isSet)
	}
	if err != nil {
		return err
	}
	if o.isSet("image") {
		o.Image = registry.Pin(ctx, o.Image, o.Log)
	}
	changes, err := o.Install(ctx)
	document := controllerDocument{
		TypeMeta:      report.Meta("ControllerInstallResult"),
		HostedCluster: o.HostedCluster.String(), DryRun: o.DryRun, Changes: changes,
		CommandResult: report.ResultOf(err),
	}
	return p.Finish(err, document, func(w *report.Page) {
		title := fmt.Sprintf("HostedCluster %s: the controller runs in the %s cluster, in namespace %s",
			document.HostedCluster, o.In, o.Namespace)
		if o.Publish {
			title += ", and publishes the user data of the NodePools"
		}
		if o.Monitoring {
			title += "; Prometheus scrapes it"
		}
		printChanges(w, document, title)
	})
}

// printManifests prints the manifests for one cluster. Without a HostedCluster, the names are those in deploy.
func (o *controllerInstallOptions) printManifests(p *cli.Printer) error {
	o.HostedCluster.Namespace, o.HostedCluster.Name = o.clusters.Namespace, o.clusters.HostedCluster
	content, err := o.SelectManifests(cluster.Place(o.manifests))
	if err == nil {
		_, err = p.Out.Write(content)
	}
	return err
}

// printChanges prints the changes below a title.
func printChanges(w *report.Page, document controllerDocument, title string) {
	suffix := ""
	if document.DryRun {
		title += " (dry run: nothing was changed)"
		suffix = " (server dry run)" // as oc prints it
	}
	w.Item("", title)
	for _, change := range document.Changes {
		w.Item(fmt.Sprintf("  %-10s  %-10s  ", change.Result, change.Cluster), change.String()+suffix)
	}
}
