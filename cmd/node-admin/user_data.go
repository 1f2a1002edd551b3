// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/nodepool"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// userDataOptions are the flags of user-data.
type userDataOptions struct {
	management                    clusterFlags
	file                          string
	overwrite, skipsEndpointCheck bool
}

type userDataDocument struct {
	report.TypeMeta
	NodePool      string           `json:"nodePool" doc:"NodePool as NAMESPACE/NAME"`
	HostedCluster string           `json:"hostedCluster" doc:"name of the HostedCluster"`
	Release       string           `json:"release" doc:"version of the NodePool's release; its image until HyperShift has read it"`
	File          string           `json:"file,omitempty" doc:"path of the file that was written, which is a secret; - for standard output; absent if none was written"`
	Expires       *time.Time       `json:"expires,omitempty" doc:"time at which the ignition server rejects the token; absent if it is not known"`
	Findings      []report.Finding `json:"findings" doc:"findings about the NodePool, its HostedCluster and the ignition endpoint"`
	report.CommandResult
}

func newUserDataCommand(p *cli.Printer) *cobra.Command {
	var o userDataOptions
	c := &cobra.Command{
		Use:         "user-data NODEPOOL",
		Annotations: cli.ExitsWith(report.Refused, report.CredentialRefused),
		Short:       "Write the user data with which hosts join a NodePool",
		Long: `User-data connects to the management cluster. It checks that hosts can join the
NodePool, of platform None, and writes its current user data to a file that only
you can read. The file is a secret: it contains a token, which is valid for 5 to
11 hours. The time at which it expires is printed.

If the payload of the NodePool is not generated, its release does not match that
of the control plane, or the ignition server does not accept the token, it exits
with code 3 or 4, prints the causes, and writes nothing.

To check the ignition endpoint, it requests the payload once, as a host does,
but without the headers by which HyperShift records the arrival of a host. If
this machine cannot connect to the endpoint, a warning is printed.

Required permissions on the management cluster:

    namespace of the NodePool           get nodepools and hostedclusters of
                                        hypershift.openshift.io
    NAMESPACE-HOSTEDCLUSTER             get secrets

The second permission also covers the keys of the hosted control plane. If list
nodepools is permitted too, names of NodePools are completed.`,
		Example: "  hcp-node-admin user-data workers -n clusters",
		Args:    requireOne("the name of one NodePool is required"),
	}
	flags := c.Flags()
	o.management.addManagement(c, p, "NodePool")
	flags.StringVar(&o.file, "output-file", "user-data.ign", "write to `FILE`, or to standard output if it is -")
	flags.BoolVar(&o.overwrite, "overwrite", false, "replace an existing file with another content")
	flags.BoolVar(&o.skipsEndpointCheck, "skip-endpoint-check", false, "do not connect to the ignition endpoint")
	c.ValidArgsFunction = completeOne(o.management.complete(nodepool.Names))
	c.RunE = func(c *cobra.Command, args []string) error { return o.run(c.Context(), p, args[0]) }
	return c
}

func (o *userDataOptions) run(ctx context.Context, p *cli.Printer, name string) error {
	if o.file == "-" && p.JSON {
		return report.UsageError("--output-file - and --output json both print to standard output")
	}
	management, err := o.management.Management()
	if err != nil {
		return err
	}
	facts, err := nodepool.GetObjects(ctx, management, o.management.Namespace, o.management.HostedCluster, name)
	if err != nil {
		return err
	}
	o.management.HostedCluster = facts.NodePool.Spec.ClusterName
	if err := facts.GetSecrets(ctx, management); err != nil {
		return err
	}
	findings, err := facts.Check(ctx, time.Now(), !o.skipsEndpointCheck)
	document := userDataDocument{
		TypeMeta:      report.Meta("UserDataResult"),
		NodePool:      facts.NodePool.Namespace + "/" + facts.NodePool.Name,
		HostedCluster: facts.NodePool.Spec.ClusterName,
		Release:       facts.Release(),
		Findings:      findings,
	}
	switch {
	case err != nil:
	case o.file == "-":
		_, err = p.Out.Write(facts.UserData)
	default:
		err = nodepool.WriteFile(o.file, facts.UserData, o.overwrite)
	}
	if err == nil {
		document.File = o.file
		if expires := facts.Expires(); !expires.IsZero() {
			document.Expires = &expires
		}
	}
	document.CommandResult = report.ResultOf(err)
	if page, isPage := p.Err.(*report.Page); isPage && o.file == "-" && err == nil {
		printUserData(page, document)
		return nil
	}
	return p.Finish(err, document, func(w *report.Page) { printUserData(w, document) })
}

// printUserData prints the findings, the file and how to use it.
func printUserData(w *report.Page, document userDataDocument) {
	w.Item("", fmt.Sprintf("NodePool %s of HostedCluster %s, release %s", document.NodePool, document.HostedCluster,
		document.Release))
	w.Findings(document.Findings)
	until := ""
	if document.Expires != nil {
		until = fmt.Sprintf(", which is valid until %s (%s)", report.Timestamp(*document.Expires),
			report.FormatAge(time.Until(*document.Expires)))
	}
	name := document.File
	if name == "-" {
		name = "the user data"
	}
	w.Item("", fmt.Sprintf("%s contains a token%s", name, until))
	w.Printf("\n# copy the file, a secret, to each host; there:\nhcp-node-agent join --user-data user-data.ign\n")
}
