// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/fleet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/install"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// removeOptions are the flags of remove.
type removeOptions struct {
	cluster clusterFlags
	force   bool
	lost    bool
}

type removeDocument struct {
	report.TypeMeta
	Nodes []fleet.Removal `json:"nodes" doc:"what was deleted of each node"`
	report.CommandResult
}

func newRemoveCommand(p *cli.Printer) *cobra.Command {
	var o removeOptions
	c := &cobra.Command{
		Use:         "remove NODE...",
		SuggestFor:  []string{"delete", "rm"},
		Annotations: cli.ExitsWith(report.Refused, report.CredentialRefused, report.Interrupted),
		Short:       "Remove nodes from the cluster",
		Long: `Remove deletes the NodeEnrollment of a node, so that its join token is no longer
valid, the ServiceAccount of its host, and its Node. It does not prompt for
confirmation. Objects that do not exist are skipped, so that the command can be
repeated.

A Node that is Ready may run pods, and is only removed with --force. Drain it,
run hcp-node-agent leave on the host, which restores the host and ends kubelet,
and then remove the node. If only one of several Nodes is Ready, nothing is
deleted.

Remove does not revoke the certificates of the host: the cluster cannot. Until
hcp-node-agent leave has deleted them, a kubelet that is started again renews
them and creates its Node again, without the labels and taints of its
enrollment.

With --lost, the host was stolen, or is out of control. The API server then
refuses every write with its credentials: the host neither renews its
certificates nor creates its Node. A ValidatingAdmissionPolicy does that, for
the nodes in ConfigMap lost-nodes, to which the command adds the node. Then it
removes the node, also if it is Ready, and deletes its pods without a grace
period: otherwise, the host could still read their Secrets. Those of a
StatefulSet are started elsewhere, although the host may still run them. What
the host can read until its certificate expires is described in
docs/security.md. The hosted cluster must have Kubernetes 1.30, OpenShift 4.17,
or later. hcp-node-admin found ends the exclusion.` + describePermissions(removePermissions()) + lostPermissionsHelp,
		Example: "  hcp-node-admin remove worker-7.example.com worker-8.example.com\n" +
			"  hcp-node-admin remove --lost worker-7.example.com",
		Args: cobra.MatchAll(requireSome("the name of a node is required"), checkNodeNames),
	}
	o.cluster.add(c, p)
	c.Flags().BoolVar(&o.force, "force", false, "also remove a Node that is Ready; its pods are deleted")
	c.Flags().BoolVar(&o.lost, "lost", false,
		"the host was stolen: refuse all that it writes to the cluster, and delete its pods without a grace period")
	c.ValidArgsFunction = o.cluster.completeFleet(fleet.Client.NodeNames)
	c.RunE = func(c *cobra.Command, args []string) error { return o.run(c.Context(), p, args) }
	return c
}

func removePermissions() []permission {
	return []permission{
		{verbs: "get,delete", resource: enrollmentResource},
		{verbs: "get,delete", resource: "nodes"},
		{verbs: "get,delete", resource: "serviceaccounts", namespace: v1alpha1.Namespace},
	}
}

const lostPermissionsHelp = `

With --lost, also on the hosted cluster:

    get, create, patch validatingadmissionpolicies and
        validatingadmissionpolicybindings of admissionregistration.k8s.io
    get configmaps, which a policy that refers to one requires
    create, update configmaps in namespace hcp-node-admin
    get namespaces
    list, delete pods
    impersonate users, groups                      optional, to verify it`

// removeLostPermissions returns the rights that --lost requires.
func removeLostPermissions() []permission {
	const group = ".admissionregistration.k8s.io"
	return append(removePermissions(),
		permission{verbs: "get,create,patch", resource: "validatingadmissionpolicies" + group},
		permission{verbs: "get,create,patch", resource: "validatingadmissionpolicybindings" + group},
		permission{verbs: "get", resource: "configmaps"},
		listPermission("create,update", ""),
		permission{verbs: "get", resource: "namespaces"},
		permission{verbs: "list,delete", resource: "pods"},
	)
}

func (o *removeOptions) run(ctx context.Context, p *cli.Printer, names []string) error {
	client, err := o.cluster.connectFleet(ctx)
	if err != nil {
		return err
	}
	isAny := false
	deleted := func(kind, node string) {
		isAny = true
		if !p.JSON {
			fmt.Fprintf(p.Out, "%s of %s deleted\n", kind, node)
		}
	}
	var removals []fleet.Removal
	if o.lost {
		removals, err = removeLost(ctx, p, client, names, deleted)
	} else {
		removals, err = client.Remove(ctx, names, o.force, deleted)
	}
	if removals == nil && err != nil {
		return err
	}
	document := removeDocument{
		TypeMeta: report.Meta("RemoveResult"), Nodes: removals, CommandResult: report.ResultOf(err),
	}
	return p.Finish(err, document, func(w *report.Page) {
		for _, removal := range removals {
			if len(removal.Deleted) == 0 {
				w.Printf("nothing exists of %s\n", removal.Node)
			}
		}
		if isAny && !o.lost {
			w.Printf("\n# on each host, unless it was done before:\nhcp-node-agent leave\n")
		}
	})
}

// lostTimeout limits the wait until the API server refuses the writes of a lost node.
const lostTimeout = 2 * time.Minute

// removeLost makes the API server refuse the writes of nodes, and removes them with their pods.
func removeLost(
	ctx context.Context, p *cli.Printer, client fleet.Client, names []string, deleted func(kind, node string),
) ([]fleet.Removal, error) {
	names = lists.AppendMissing(nil, names...)
	log := report.Log{Sink: p.Sink, Step: "remove"}
	installer := &install.Installer{Hosted: client.Cluster, Timeout: lostTimeout, Log: log}
	if err := installer.CheckExclude(ctx, rightsOf(removeLostPermissions())); err != nil {
		return nil, err
	}
	if err := installer.Exclude(ctx, names); err != nil {
		return nil, err
	}
	if !p.JSON {
		for _, name := range names {
			fmt.Fprintf(p.Out, "writes of %s refused\n", name)
		}
	}
	return client.RemoveLost(ctx, log, names, deleted)
}
