// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"

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
	return ClusterFromConfig(config)
}

// ClusterFromConfig returns the cluster of a client configuration. It fails for a
// configuration that runs a program or does not verify the server.
func ClusterFromConfig(config *rest.Config) (Cluster, error) {
	if config.ExecProvider != nil || config.AuthProvider != nil {
		return Cluster{}, errors.New("reading kubeconfig: it runs a command to obtain its credential, which is " +
			"not supported for a node")
	}
	if err := rest.LoadTLSFiles(config); err != nil {
		return Cluster{}, fmt.Errorf("reading the files of a kubeconfig: %w", err)
	}
	if config.Insecure || len(config.CAData) == 0 {
		return Cluster{}, errors.New("reading kubeconfig: it contains no CA, so the API server cannot be verified")
	}
	return Cluster{Server: config.Host, CA: config.CAData}, nil
}

// CheckSame returns a MismatchError unless other is the same cluster. The URL
// must be equal, and the CA bundles must share at least one certificate, because
// a bundle grows and shrinks during a CA rotation.
func (c Cluster) CheckSame(other Cluster) error {
	expected, err := ParsePEMCertificates(c.CA)
	if err != nil {
		return err
	}
	actual, err := ParsePEMCertificates(other.CA)
	if err != nil {
		return err
	}
	sharesCA := slices.ContainsFunc(actual, func(certificate *x509.Certificate) bool {
		return slices.ContainsFunc(expected, certificate.Equal)
	})
	sameServer := NormalizeServer(c.Server) == NormalizeServer(other.Server)
	if sameServer && sharesCA {
		return nil
	}
	text := fmt.Sprintf("it is for %s, not for %s", other.Server, c.Server)
	if sameServer {
		text = "it trusts other CAs for " + other.Server + "; the cluster may have been reinstalled"
	}
	return MismatchError{SameServer: sameServer, SharesCA: sharesCA, text: text}
}

// NormalizeServer returns server in a form in which https://Host and
// https://host:443/ are equal.
func NormalizeServer(server string) string {
	parsed, err := url.Parse(server)
	if err != nil {
		return server
	}
	port := parsed.Port()
	if port == "" {
		port = "443"
	}
	return strings.ToLower(parsed.Scheme) + "://" + strings.ToLower(parsed.Hostname()) + ":" + port +
		strings.TrimRight(parsed.Path, "/")
}

// JoinPEM returns the blocks of both PEM bundles. The first may lack a newline at its end.
func JoinPEM(first, second []byte) []byte {
	if len(first) == 0 || len(second) == 0 {
		return slices.Concat(first, second)
	}
	return slices.Concat(bytes.TrimRight(first, "\n"), []byte("\n"), second)
}

// EncodeCertificates returns certificates as a PEM bundle.
func EncodeCertificates(certificates []*x509.Certificate) []byte {
	var bundle []byte
	for _, certificate := range certificates {
		bundle = append(bundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})...)
	}
	return bundle
}

// MissingCertificates returns the certificates that known does not contain. A CA that was reissued with another
// validity is another certificate.
func MissingCertificates(known, certificates []*x509.Certificate) []*x509.Certificate {
	return slices.DeleteFunc(slices.Clone(certificates), func(c *x509.Certificate) bool {
		return slices.ContainsFunc(known, c.Equal)
	})
}

// ParsePEMCertificates parses the certificates of a PEM bundle and ignores other
// blocks. It fails if there are none.
func ParsePEMCertificates(bundle []byte) ([]*x509.Certificate, error) {
	all, err := cert.ParseCertsPEM(bundle)
	if err != nil {
		return nil, fmt.Errorf("parsing certificates in PEM form: %w", err)
	}
	return all, nil
}

// MismatchError is the difference between two clusters. The same server with other CAs can be a cluster that was
// reinstalled. Another server with a common CA can be another endpoint of the same cluster.
type MismatchError struct {
	SameServer bool
	SharesCA   bool // the CA bundles have a certificate in common
	text       string
}

// Error states the mismatch.
func (e MismatchError) Error() string { return e.text }

// HostedKubeconfig is the file in remedies with the administrator's kubeconfig of the hosted cluster.
const HostedKubeconfig = "hosted.kubeconfig"

// AdminKubeconfigCommand writes HostedKubeconfig with the kubeconfig of the management cluster.
const AdminKubeconfigCommand = "hcp-node-admin kubeconfig --kubeconfig management.kubeconfig -n NAMESPACE HC >" +
	HostedKubeconfig

// ParseKubeconfig returns the client configuration of an administrator's kubeconfig. It refuses a
// kubeconfig that runs a command to obtain its credential, or that does not verify the server.
func ParseKubeconfig(kubeconfig []byte) (*rest.Config, error) {
	const remedy = "# get the kubeconfig of the hosted cluster from the management cluster:\n" + AdminKubeconfigCommand
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
