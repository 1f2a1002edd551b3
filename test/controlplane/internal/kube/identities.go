// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"net"
	"net/netip"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/pki"
)

// identities are the CAs of a hosted cluster with their roles there, and the files that the
// servers read.
type identities struct {
	root         *pki.Authority // signs the API server's certificate
	csrSigner    *pki.Authority // signs kubelets' certificates
	controlPlane *pki.Authority // signs the control plane's and the bootstrap client certificates
	aggregator   *pki.Authority // would sign client certificates of aggregated API servers
}

func newIdentities() (identities, error) {
	var ids identities
	for _, a := range []struct {
		name string
		into **pki.Authority
	}{
		{"root-ca", &ids.root},
		{"kube-csr-signer", &ids.csrSigner},
		{"kube-control-plane-signer", &ids.controlPlane},
		{"kube-aggregator-client-signer", &ids.aggregator},
	} {
		authority, err := pki.NewAuthority(a.name)
		if err != nil {
			return ids, err
		}
		*a.into = authority
	}
	return ids, nil
}

// clientCAs returns the bundle of client CAs for the API server and kubelets. In the payload it
// is the file /etc/kubernetes/kubelet-ca.crt.
func (ids identities) clientCAs() []byte {
	return append(append([]byte{}, ids.csrSigner.Certificate...), ids.controlPlane.Certificate...)
}

// write writes the servers' certificates and keys to the paths in their flags.
func (ids identities) write(c Config) error {
	serving, err := ids.root.Issue(pki.Leaf{
		CommonName: "kubernetes",
		DNSNames: []string{
			"localhost", c.APIName, c.InternalName, "kubernetes", "kubernetes.default",
			"kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		},
		Addresses: []net.IP{
			net.IPv4(127, 0, 0, 1), c.Stack.Address().AsSlice(), c.Stack.InternalAPI.AsSlice(),
			netip.MustParsePrefix(c.Stack.Services[0]).Addr().Next().AsSlice(),
		},
	})
	if err != nil {
		return err
	}
	kubeletClient, err := ids.controlPlane.Issue(pki.Leaf{
		CommonName: "system:kube-apiserver", Organizations: []string{"system:masters"},
	})
	if err != nil {
		return err
	}
	serviceAccounts, err := pki.NewSigningKey()
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"root-ca.crt":        ids.root.Certificate,
		publishedCAs:         ids.root.Certificate,
		"csr-signer.crt":     ids.csrSigner.Certificate,
		"csr-signer.key":     ids.csrSigner.Key,
		"client-ca.crt":      ids.clientCAs(),
		"aggregator-ca.crt":  ids.aggregator.Certificate,
		"apiserver.crt":      serving.Certificate,
		"apiserver.key":      serving.Key,
		"kubelet-client.crt": kubeletClient.Certificate,
		"kubelet-client.key": kubeletClient.Key,
		"sa.key":             serviceAccounts.Key,
		"sa.pub":             serviceAccounts.Certificate,
	} {
		if err := c.write(name, content); err != nil {
			return fmt.Errorf("writing the control plane's keys: %w", err)
		}
	}
	return nil
}

// kubeconfig returns a kubeconfig with a client certificate.
func (ids identities) kubeconfig(server, user string, groups ...string) ([]byte, error) {
	client, err := ids.controlPlane.Issue(pki.Leaf{CommonName: user, Organizations: groups})
	if err != nil {
		return nil, err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["cluster"] = &clientcmdapi.Cluster{
		Server: server, CertificateAuthorityData: ids.root.Certificate,
	}
	config.AuthInfos["user"] = &clientcmdapi.AuthInfo{
		ClientCertificateData: client.Certificate, ClientKeyData: client.Key,
	}
	config.Contexts["user@cluster"] = &clientcmdapi.Context{
		Cluster: "cluster", AuthInfo: "user", Namespace: "default",
	}
	config.CurrentContext = "user@cluster"
	return clientcmd.Write(*config)
}
