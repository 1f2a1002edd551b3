// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// managementFlags select a management cluster, and the namespace of its NodePools and HostedClusters.
type managementFlags struct {
	clusterFlags

	namespace string
}

// add adds the flags. kind is the kind of object in the namespace.
func (m *managementFlags) add(flags *pflag.FlagSet, kind string) {
	flags.StringVarP(&m.namespace, "namespace", "n", "",
		"`NAMESPACE` of the "+kind+" on the management cluster (default that of the kubeconfig's context)")
	m.addFor(flags, "management", ", or - for standard input")
}

// connect prepares the connection to the management cluster, and sets the default of the namespace.
func (m *managementFlags) connect(stdin io.Reader) (*cluster.Cluster, error) {
	management, namespace, err := m.open(cluster.Management, stdin)
	m.namespace = cmp.Or(m.namespace, namespace)
	return management, err
}

// complete completes the first argument with the names of a list, if the management cluster responds quickly.
func (m *managementFlags) complete(
	list func(ctx context.Context, management client.Reader, namespace string) ([]string, error),
) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		management, err := m.connect(c.InOrStdin())
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(c.Context(), completionTimeout)
		defer cancel()
		names, _ := list(ctx, management, m.namespace) // without a list, the name is not completed
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// words returns the flags of this run for another command line, each after a space.
func (m *managementFlags) words() string {
	words := " --namespace " + report.ShellWord(m.namespace)
	if m.kubeconfig != "" && m.kubeconfig != "-" {
		words += " --kubeconfig " + report.ShellWord(m.kubeconfig)
	}
	if m.context != "" {
		words += " --context " + report.ShellWord(m.context)
	}
	return words
}
