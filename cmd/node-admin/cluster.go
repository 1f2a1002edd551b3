// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// clusterFlags select the hosted cluster as kubectl does: --kubeconfig, else KUBECONFIG, else ~/.kube/config; and
// of the file --context, else its current context.
type clusterFlags struct{ kubeconfig, context string }

// add adds the flags. purpose is added to the description of --kubeconfig.
func (c *clusterFlags) add(flags *pflag.FlagSet, purpose string) {
	flags.StringVar(&c.kubeconfig, "kubeconfig", "",
		"kubeconfig `FILE` of the hosted cluster"+purpose+" (default $KUBECONFIG, else ~/.kube/config)")
	flags.StringVar(&c.context, "context", "", "`NAME` of the context of the kubeconfig (default the current context)")
}

// isSet reports whether one of the flags is set.
func (c *clusterFlags) isSet() bool { return c.kubeconfig != "" || c.context != "" }

// read returns the kubeconfig of the selected context, with the content of the files to which it refers.
func (c *clusterFlags) read(stdin io.Reader) ([]byte, error) {
	config, err := c.load(stdin)
	if err != nil {
		return nil, err
	}
	if c.context != "" {
		config.CurrentContext = c.context
	}
	if len(config.Contexts) == 0 {
		return nil, usageError("no kubeconfig was found: pass that of the hosted cluster with --kubeconfig or KUBECONFIG")
	}
	if _, found := config.Contexts[config.CurrentContext]; !found {
		return nil, usageError("the kubeconfig has no context %q: select one with --context", config.CurrentContext)
	}
	if err := api.MinifyConfig(config); err != nil {
		return nil, usageError("reading the kubeconfig: %w", err)
	}
	if err := api.FlattenConfig(config); err != nil {
		return nil, usageError("reading the kubeconfig: %w", err)
	}
	content, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("encoding the kubeconfig: %w", err)
	}
	return content, nil
}

func (c *clusterFlags) load(stdin io.Reader) (*api.Config, error) {
	if c.kubeconfig != "-" {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.ExplicitPath = c.kubeconfig
		config, err := rules.Load()
		isUnreadable := errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
		switch {
		case err != nil && c.kubeconfig != "" && !isUnreadable: // the error contains Go types
			return nil, usageError("%s is not a kubeconfig", c.kubeconfig)
		case err != nil:
			return nil, usageError("reading the kubeconfig: %w", err)
		}
		return config, nil
	}
	content, err := io.ReadAll(io.LimitReader(stdin, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("reading standard input: %w", err)
	}
	config, err := clientcmd.Load(content)
	if err != nil {
		return nil, usageError("standard input is not a kubeconfig")
	}
	return config, nil
}
