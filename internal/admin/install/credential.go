// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
)

// tokenSecret is the Secret in the hosted cluster with the controller's token.
//
// The token does not expire. One of the TokenRequest API does, and no component outside of the hosted cluster renews
// it: kubelet renews only those of its own cluster. The controller could renew its own, but after a long outage of the
// management cluster an administrator would have to replace it. Deleting the Secret revokes the token.
const tokenSecret = controllerName + "-token"

// controllerKubeconfig returns the kubeconfig of the controller, which is a secret. In a dry run it is incomplete if
// the token does not exist yet.
func (i *Installer) controllerKubeconfig(ctx context.Context) ([]byte, error) {
	token, err := i.awaitToken(ctx)
	if err != nil {
		return nil, err
	}
	return newKubeconfig(i.HostedKubeconfig, token)
}

// newKubeconfig returns a kubeconfig of a token for the cluster of an administrator's kubeconfig. It refuses one that
// does not verify the server.
func newKubeconfig(administrators []byte, token string) ([]byte, error) {
	if _, err := kube.ParseKubeconfig(administrators); err != nil {
		return nil, err
	}
	if _, err := cluster.CAOf(administrators); err != nil {
		return nil, err
	}
	file, err := clientcmd.Load(administrators)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	const name = "hosted"
	config := api.NewConfig()
	config.Clusters[name] = file.Clusters[file.Contexts[file.CurrentContext].Cluster]
	config.AuthInfos[name] = &api.AuthInfo{Token: token}
	config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	content, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("encoding the kubeconfig of the controller: %w", err)
	}
	return content, nil
}

// awaitToken returns the controller's token, when the hosted cluster has created it. In a dry run it returns "" if the
// token does not exist.
func (i *Installer) awaitToken(ctx context.Context) (token string, err error) {
	key := client.ObjectKey{Namespace: v1alpha1.Namespace, Name: tokenSecret}
	read := func(ctx context.Context) (string, error) {
		var secret corev1.Secret
		if err := i.Hosted.Get(ctx, key, &secret); err != nil {
			return "", err
		}
		if token = string(secret.Data[corev1.ServiceAccountTokenKey]); token == "" {
			return "the hosted cluster adds the token to Secret " + key.String(), nil
		}
		return "", nil
	}
	if i.DryRun {
		_, err := read(ctx)
		return token, client.IgnoreNotFound(err)
	}
	const remedy = "# check the pods of kube-controller-manager in the namespace of the hosted control plane"
	return token, i.await(ctx, i.Hosted, remedy, read)
}
