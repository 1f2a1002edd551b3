// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// ParseKubeconfig returns the client configuration of an administrator's kubeconfig. It refuses a
// kubeconfig that runs a command to obtain its credential, or that does not verify the server.
func ParseKubeconfig(kubeconfig []byte) (*rest.Config, error) {
	const remedy = "oc -n HOSTED_CLUSTER_NAMESPACE extract secret/HOSTED_CLUSTER-admin-kubeconfig --to=- " +
		"# prints a usable kubeconfig"
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, report.Fail(report.Usage, remedy, "reading the kubeconfig: %w", err)
	}
	if config.ExecProvider != nil || config.AuthProvider != nil {
		return nil, report.Fail(report.Usage, remedy,
			"the kubeconfig runs a command to obtain its credential, which is not supported")
	}
	if config.Insecure {
		return nil, report.Fail(report.Usage, remedy,
			"the kubeconfig does not verify the server (insecure-skip-tls-verify), so that another server could "+
				"receive its credential")
	}
	return config, nil
}
