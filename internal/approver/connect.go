// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"net/http"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// connection is a connection to the hosted cluster.
type connection struct {
	client   *kube.Client
	server   string
	caHashes []enrollment.Hash
}

const caRemedy = "# use a kubeconfig that contains the cluster's certificate-authority-data"

// connect reads a kubeconfig. onRequest is called for every request.
func connect(kubeconfig []byte, onRequest func()) (connection, error) {
	config, err := kube.ParseKubeconfig(kubeconfig)
	if err != nil {
		return connection{}, err
	}
	if err := rest.LoadTLSFiles(config); err != nil {
		return connection{}, report.Fail(report.Usage, "# use a kubeconfig whose files exist", "reading the files "+
			"of the kubeconfig: %w", err)
	}
	cas, err := enrollment.CAHashes(config.CAData)
	if err != nil {
		// An enrollment is valid for one cluster, which is identified by its CA.
		return connection{}, report.Fail(report.Usage, caRemedy, "the approver's kubeconfig does not contain the "+
			"cluster's CA: %w", err)
	}
	config.UserAgent = "hcp-node-admin"
	config.Wrap(func(base http.RoundTripper) http.RoundTripper { return limitedTransport{base, onRequest} })
	client, err := kube.NewClient(config)
	if err != nil {
		return connection{}, err
	}
	return connection{client: client, server: config.Host, caHashes: cas}, nil
}

// ClusterCA returns the PEM CA bundle of the kubeconfig's current cluster. It neither evaluates
// nor uses the credentials of the kubeconfig.
func ClusterCA(kubeconfig []byte) ([]byte, error) {
	file, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return nil, report.Fail(report.Usage, caRemedy, "reading the kubeconfig: %w", err)
	}
	current := file.Contexts[file.CurrentContext]
	if current == nil || file.Clusters[current.Cluster] == nil {
		return nil, report.Fail(report.Usage, caRemedy, "reading the kubeconfig: it has no current context with a "+
			"cluster")
	}
	cluster := file.Clusters[current.Cluster]
	config := &rest.Config{TLSClientConfig: rest.TLSClientConfig{
		CAFile: cluster.CertificateAuthority, CAData: cluster.CertificateAuthorityData,
	}}
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, report.Fail(report.Usage, caRemedy, "reading the cluster's CA: %w", err)
	}
	if len(config.CAData) == 0 {
		return nil, report.Fail(report.Usage, caRemedy+", or pass the CA: --ca FILE", "the kubeconfig contains "+
			"no CA of the cluster")
	}
	return config.CAData, nil
}
