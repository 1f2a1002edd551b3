// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// SelectKubeconfig returns the kubeconfig of one context, with the content of the files to which it refers. It selects
// the file as kubectl does: file, else KUBECONFIG, else ~/.kube/config; and of it the context, else its current one.
// The file - is stdin.
func SelectKubeconfig(file, context string, stdin io.Reader) ([]byte, error) {
	config, err := loadKubeconfig(file, stdin)
	if err != nil {
		return nil, err
	}
	if context != "" {
		config.CurrentContext = context
	}
	if len(config.Contexts) == 0 {
		return nil, errors.New("no kubeconfig was found: pass one with --kubeconfig or KUBECONFIG")
	}
	if _, found := config.Contexts[config.CurrentContext]; !found {
		return nil, fmt.Errorf("the kubeconfig has no context %q: select one with --context", config.CurrentContext)
	}
	if err := api.MinifyConfig(config); err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	if err := api.FlattenConfig(config); err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	content, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("encoding the kubeconfig: %w", err)
	}
	return content, nil
}

func loadKubeconfig(file string, stdin io.Reader) (*api.Config, error) {
	if file != "-" {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.ExplicitPath = file
		config, err := rules.Load()
		isUnreadable := errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
		switch {
		case err != nil && file != "" && !isUnreadable: // the error contains Go types
			return nil, fmt.Errorf("%s is not a kubeconfig", file)
		case err != nil:
			return nil, fmt.Errorf("reading the kubeconfig: %w", err)
		}
		return config, nil
	}
	content, err := io.ReadAll(io.LimitReader(stdin, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("reading standard input: %w", err)
	}
	config, err := clientcmd.Load(content)
	if err != nil {
		return nil, errors.New("standard input is not a kubeconfig")
	}
	return config, nil
}
