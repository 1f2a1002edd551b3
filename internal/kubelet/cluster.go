package kubelet

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Cluster identifies a cluster by its API server URL and the CAs of that
// server.
type Cluster struct {
	Server string // URL
	CA     []byte // PEM bundle
}

// ParseCluster reads the cluster from a kubeconfig.
func ParseCluster(kubeconfig []byte) (Cluster, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return Cluster{}, fmt.Errorf("reading kubeconfig: %w", err)
	}
	return clusterFromConfig(config)
}

func clusterFromConfig(config *rest.Config) (Cluster, error) {
	if config.ExecProvider != nil || config.AuthProvider != nil {
		return Cluster{}, errors.New("reading kubeconfig: it runs a program to get its credential, which a node's kubeconfig never does")
	}
	if err := rest.LoadTLSFiles(config); err != nil {
		return Cluster{}, fmt.Errorf("reading the files that a kubeconfig names: %w", err)
	}
	if config.Insecure || len(config.CAData) == 0 {
		return Cluster{}, errors.New("reading kubeconfig: it names no certificate authority, so the API server could be anybody")
	}
	return Cluster{Server: config.Host, CA: config.CAData}, nil
}

// CheckSame returns an error that states the difference unless other is the same
// cluster. The URL must be equal, and the CA bundles must share at least one
// certificate, because a bundle grows and shrinks during a CA rotation.
func (c Cluster) CheckSame(other Cluster) error {
	if normalizeServer(c.Server) != normalizeServer(other.Server) {
		return fmt.Errorf("it is for %s, not for %s", other.Server, c.Server)
	}
	ours, err := parsePEMCertificates(c.CA)
	if err != nil {
		return err
	}
	theirs, err := parsePEMCertificates(other.CA)
	if err != nil {
		return err
	}
	for _, certificate := range theirs {
		if slices.ContainsFunc(ours, certificate.Equal) {
			return nil
		}
	}
	return caMismatchError{server: other.Server}
}

// normalizeServer returns server in a form in which https://Host and
// https://host:443/ are equal.
func normalizeServer(server string) string {
	parsed, err := url.Parse(server)
	if err != nil {
		return server
	}
	port := parsed.Port()
	if port == "" {
		port = "443"
	}
	return strings.ToLower(parsed.Scheme) + "://" + strings.ToLower(parsed.Hostname()) + ":" + port + strings.TrimRight(parsed.Path, "/")
}

// parsePEMCertificates parses the certificates of a PEM bundle and ignores other
// blocks. It fails if there are none.
func parsePEMCertificates(bundle []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for rest := bundle; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("parsing certificate: %w", err)
		}
		all = append(all, certificate)
	}
	if len(all) == 0 {
		return nil, errors.New("parsing certificate: there is none in PEM form")
	}
	return all, nil
}

// encodeKubeconfig returns the kubeconfig that kubelet itself would write after
// its TLS bootstrap, byte for byte (writeKubeconfigFromBootstrapping in
// k8s.io/kubernetes/pkg/kubelet/certificate/bootstrap). kubelet accepts it and
// does not bootstrap again.
func encodeKubeconfig(cluster Cluster, pairFile string) ([]byte, error) {
	content, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"default-cluster": {Server: cluster.Server, CertificateAuthorityData: cluster.CA}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"default-auth": {ClientCertificate: pairFile, ClientKey: pairFile}},
		Contexts:       map[string]*clientcmdapi.Context{"default-context": {Cluster: "default-cluster", AuthInfo: "default-auth", Namespace: "default"}},
		CurrentContext: "default-context",
	})
	if err != nil {
		return nil, fmt.Errorf("encoding kubeconfig: %w", err)
	}
	return content, nil
}

// parseBootstrapKubeconfig parses the bootstrap kubeconfig.
func parseBootstrapKubeconfig(kubeconfig []byte) (*rest.Config, Cluster, error) {
	const remedy = "# fetch the payload anew with a fresh user-data stub"
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, Cluster{}, report.Fail(report.Usage, remedy, "reading the bootstrap kubeconfig: %w", err)
	}
	cluster, err := clusterFromConfig(config)
	if err != nil {
		return nil, Cluster{}, report.Fail(report.Usage, remedy, "reading the bootstrap kubeconfig: %w", err)
	}
	return config, cluster, nil
}
