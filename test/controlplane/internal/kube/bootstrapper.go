// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"os"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// TokenKubeconfig creates the bootstrap kubeconfig of a standalone cluster: the same identity as
// in a hosted cluster, authenticated by a token of its ServiceAccount. Source:
// machine-config-operator, pkg/server/cluster_server.go. There the token is stored in a Secret
// and never expires; this token is valid for a year.
func (cluster *Cluster) TokenKubeconfig(ctx context.Context, server string) ([]byte, error) {
	name := BootstrapUser[strings.LastIndexByte(BootstrapUser, ':')+1:]
	accounts := cluster.Client.CoreV1().ServiceAccounts(bootstrapNamespace)
	if _, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("creating ServiceAccount %s: %w", name, err)
	}
	expiry := int64(365 * 24 * 60 * 60) // seconds
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &expiry}}
	granted, err := accounts.CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("requesting a token of ServiceAccount %s: %w", name, err)
	}
	ca, err := os.ReadFile(cluster.RootCA)
	if err != nil {
		return nil, fmt.Errorf("reading the cluster's CA: %w", err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["local"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	config.AuthInfos["kubelet"] = &clientcmdapi.AuthInfo{Token: granted.Status.Token}
	config.Contexts["kubelet"] = &clientcmdapi.Context{Cluster: "local", AuthInfo: "kubelet"}
	config.CurrentContext = "kubelet"
	content, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("writing the bootstrap kubeconfig: %w", err)
	}
	return content, nil
}
