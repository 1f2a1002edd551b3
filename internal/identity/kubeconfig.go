// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// parseBootstrapKubeconfig parses the bootstrap kubeconfig.
func parseBootstrapKubeconfig(kubeconfig []byte) (*rest.Config, kube.Cluster, error) {
	const remedy = "# fetch the payload again with current user data"
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	var cluster kube.Cluster
	if err == nil {
		cluster, err = kube.ClusterFromConfig(config)
	}
	if err != nil {
		return nil, kube.Cluster{}, report.Fail(report.Usage, remedy, "reading the bootstrap kubeconfig: %w", err)
	}
	return config, cluster, nil
}

// connectBootstrap returns a connection with the bootstrap credential, and its settings.
func (i *Identity) connectBootstrap() (*kube.Conn, *rest.Config, error) {
	config, _, err := parseBootstrapKubeconfig(i.BootstrapKubeconfig)
	if err != nil {
		return nil, nil, err
	}
	connection, err := kube.Connect(config, i.Proxy)
	return connection, config, err
}

// loadKubeconfig reads kubelet's kubeconfig. Its certificate may be missing,
// for example after an interrupted bootstrap of kubelet itself.
func loadKubeconfig(path string) (config *rest.Config, certified bool, err error) {
	file, err := clientcmd.LoadFromFile(path)
	if err == nil {
		err = clientcmd.ResolveLocalPaths(file)
	}
	if err != nil {
		return nil, false, fmt.Errorf("loading: %w", err)
	}
	certified = true
	for _, user := range file.AuthInfos {
		if _, err := os.Stat(user.ClientCertificate); user.ClientCertificate != "" && errors.Is(err, fs.ErrNotExist) {
			user.ClientCertificate, user.ClientKey, certified = "", "", false
		}
	}
	config, err = clientcmd.NewDefaultClientConfig(*file, nil).ClientConfig()
	if err != nil {
		return nil, false, fmt.Errorf("loading: %w", err)
	}
	return config, certified, nil
}

// encodeKubeconfig returns the kubeconfig that kubelet itself would write after
// its TLS bootstrap, byte for byte (writeKubeconfigFromBootstrapping in
// k8s.io/kubernetes/pkg/kubelet/certificate/bootstrap). kubelet accepts it and
// does not bootstrap again.
func encodeKubeconfig(cluster kube.Cluster, pairFile string) ([]byte, error) {
	content, err := clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"default-cluster": {
			Server:                   cluster.Server,
			CertificateAuthorityData: cluster.CA,
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"default-auth": {
			ClientCertificate: pairFile,
			ClientKey:         pairFile,
		}},
		Contexts: map[string]*clientcmdapi.Context{"default-context": {
			Cluster:  "default-cluster",
			AuthInfo: "default-auth", Namespace: "default",
		}},
		CurrentContext: "default-context",
	})
	if err != nil {
		return nil, fmt.Errorf("encoding kubeconfig: %w", err)
	}
	return content, nil
}
