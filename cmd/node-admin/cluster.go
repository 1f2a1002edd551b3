// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"

	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
)

// clusterFlags select a cluster as kubectl does.
type clusterFlags struct{ kubeconfig, context string }

// add adds the flags. purpose is added to the description of --kubeconfig.
func (c *clusterFlags) add(flags *pflag.FlagSet, purpose string) { c.addFor(flags, "hosted", purpose) }

// addFor adds the flags for the hosted or the management cluster.
func (c *clusterFlags) addFor(flags *pflag.FlagSet, place, purpose string) {
	flags.StringVar(&c.kubeconfig, "kubeconfig", "",
		"kubeconfig `FILE` of the "+place+" cluster"+purpose+" (default $KUBECONFIG, else ~/.kube/config)")
	flags.StringVar(&c.context, "context", "", "`NAME` of the context of the kubeconfig (default the current context)")
}

// isSet reports whether one of the flags is set.
func (c *clusterFlags) isSet() bool { return c.kubeconfig != "" || c.context != "" }

// read returns the kubeconfig of the selected context.
func (c *clusterFlags) read(stdin io.Reader) ([]byte, error) {
	content, err := cluster.SelectKubeconfig(c.kubeconfig, c.context, stdin)
	if err != nil {
		return nil, usageError("%w", err)
	}
	return content, nil
}

// open prepares the connection to a cluster with the selected context. It returns its namespace, or "default".
func (c *clusterFlags) open(place cluster.Place, stdin io.Reader) (*cluster.Cluster, string, error) {
	kubeconfig, err := c.read(stdin)
	if err != nil {
		return nil, "", err
	}
	config, namespace, err := cluster.ParseContext(kubeconfig)
	if err != nil {
		return nil, "", err
	}
	opened, err := cluster.Open(place, config)
	return opened, namespace, err
}
