// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
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

// config returns the client configuration for the management cluster, and sets the default of the namespace.
func (m *managementFlags) config(stdin io.Reader) (*rest.Config, error) {
	config, namespace, err := m.clusterFlags.config(stdin)
	m.namespace = cmp.Or(m.namespace, namespace)
	return config, err
}

// connect prepares the connection to the management cluster, and sets the default of the namespace.
func (m *managementFlags) connect(stdin io.Reader) (*kube.Conn, error) {
	config, err := m.config(stdin)
	if err != nil {
		return nil, err
	}
	return kube.Connect(config, nil)
}

// complete completes the first argument with the names of a list, if the management cluster responds quickly.
func (m *managementFlags) complete(
	list func(ctx context.Context, conn *kube.Conn, namespace string) ([]string, error),
) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		conn, err := m.connect(c.InOrStdin())
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(c.Context(), completionTimeout)
		defer cancel()
		names, _ := list(ctx, conn, m.namespace) // without a list, the name is not completed
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
