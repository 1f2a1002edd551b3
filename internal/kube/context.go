// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// ParseContext returns the client configuration of the current context of an administrator's kubeconfig, as kubectl
// does: also with a command that obtains the credential. It returns the namespace of the context, or "default".
func ParseContext(kubeconfig []byte) (config *rest.Config, namespace string, err error) {
	const remedy = "oc config view --minify # prints the selected context"
	client, err := clientcmd.NewClientConfigFromBytes(kubeconfig)
	if err != nil {
		return nil, "", report.Fail(report.Usage, remedy, "reading the kubeconfig: %w", err)
	}
	if namespace, _, err = client.Namespace(); err != nil {
		return nil, "", report.Fail(report.Usage, remedy, "reading the kubeconfig: %w", err)
	}
	if config, err = client.ClientConfig(); err != nil {
		return nil, "", report.Fail(report.Usage, remedy, "reading the kubeconfig: %w", err)
	}
	config.UserAgent = "hcp-node-admin"
	return config, namespace, nil
}
