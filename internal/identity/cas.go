// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// CheckWithCluster is like Check, but queries the API server if kubelet's kubeconfig
// contains none of the cluster's current CAs, or another URL with the same CA. A cluster
// that was reinstalled has another signer and rejects the node's certificate. A cluster
// that rotated its CA, or whose API server has a new endpoint, accepts it. A new endpoint
// must also have a certificate of a CA in the kubeconfig. Every API server rejects an
// expired certificate, so that of the node then only has to be rejected by such a server:
// the approver verifies whether the cluster has issued it.
func (i *Identity) CheckWithCluster(ctx context.Context) (State, error) {
	cluster, config, mismatch := i.compareCluster()
	if config == nil {
		return Missing, mismatch
	}
	state, err := i.checkCertificate(config.CertData)
	if mismatch == nil {
		return state, err
	}
	var difference kube.MismatchError
	switch {
	case err != nil, !errors.As(mismatch, &difference):
		return Missing, mismatch
	case !difference.SameServer && difference.SharesCA:
		cluster.CA = config.CAData
		refusal := i.checkAccepted(ctx, cluster)
		if refusal == nil || (state == Expired && report.CodeOf(refusal) == report.CredentialRefused) {
			return state, nil
		}
		return Missing, i.foreignIdentityError("%w, which does not accept it: %w", difference, refusal)
	case difference.SameServer && state == Valid && i.checkAccepted(ctx, cluster) == nil:
		return Valid, nil
	}
	return Missing, mismatch
}

// refreshCluster keeps the existing identity, and replaces the URL and the CAs in its
// kubeconfig if those of the payload differ. No other component distributes them to a
// node. CAs with which the API server cannot be verified are not written, because a
// payload can be older than the kubeconfig.
func (i *Identity) refreshCluster(ctx context.Context) (Result, error) {
	cluster, err := i.expectedCluster()
	if err != nil {
		return Result{}, err
	}
	content, err := replaceCluster(i.Kubeconfig, cluster)
	if err != nil {
		return Result{}, err
	}
	if content == nil {
		return Result{}, i.verifyStored(ctx)
	}
	if err := i.checkAccepted(ctx, cluster); err != nil {
		if ctx.Err() == nil {
			i.Log.Warn("the API server cannot be reached with the payload's CAs, so kubelet's kubeconfig keeps "+
				"its current CAs: "+err.Error(),
				"hcp-node-agent join --user-data USER_DATA # with current user data")
		}
		return Result{}, i.verifyStored(ctx)
	}
	if err := i.writeKubeconfig(ctx, content); err != nil {
		return Result{}, err
	}
	return Result{Changed: true, OnlyCluster: true}, i.verifyStored(ctx)
}

// AddCAs adds CAs of the API server, in PEM, to those in kubelet's kubeconfig. kubelet reads them when
// it starts.
func (i *Identity) AddCAs(ctx context.Context, cas []byte) error {
	cluster, err := loadCluster(i.Kubeconfig)
	if err != nil {
		return err
	}
	cluster.CA = kube.JoinPEM(cluster.CA, cas)
	content, err := replaceCluster(i.Kubeconfig, cluster)
	if err != nil || content == nil {
		return err
	}
	return i.writeKubeconfig(ctx, content)
}

// checkAccepted returns an error unless the cluster's API server, verified by its CAs,
// accepts the existing certificate as this node's. It sends one request.
func (i *Identity) checkAccepted(ctx context.Context, cluster kube.Cluster) error {
	_, err := i.findNode(ctx, cluster)
	return err
}

// findNode returns this host's Node, nil if it does not exist, from the cluster's API server, verified by its CAs, with
// the existing certificate.
func (i *Identity) findNode(ctx context.Context, cluster kube.Cluster) (*corev1.Node, error) {
	connection, err := i.connectStored(cluster)
	if err != nil {
		return nil, err
	}
	node, err := connection.Client.Nodes().Find(ctx, i.NodeName) // every API server that accepts the certificate responds
	if err == nil {
		return node, nil
	}
	problem := connection.Explain(ctx, err)
	return nil, report.Fail(problem.Code, problem.Remedy, "%s", problem.Message)
}

// connectStored returns a connection with the certificate in kubelet's kubeconfig. Empty fields of cluster are
// those of the kubeconfig.
//
// The files are read here: client-go caches connections by the names of the files and notices a new certificate
// only after minutes.
func (i *Identity) connectStored(cluster kube.Cluster) (*kube.Conn, error) {
	config, err := clientcmd.BuildConfigFromFlags(cluster.Server, i.Kubeconfig)
	if err == nil {
		err = rest.LoadTLSFiles(config)
	}
	if err != nil {
		return nil, fmt.Errorf("reading kubelet's kubeconfig: %w", err)
	}
	if len(cluster.CA) > 0 {
		config.CAFile, config.CAData = "", cluster.CA
	}
	return kube.Connect(config, i.Proxy)
}

// replaceCluster returns the kubeconfig with the cluster's URL and CAs, or nil if they are the
// current ones. The order of the CAs is ignored.
func replaceCluster(path string, cluster kube.Cluster) ([]byte, error) {
	stored, err := loadCluster(path)
	if err != nil {
		return nil, err
	}
	same, err := sameCAs(stored.CA, cluster.CA)
	sameServer := kube.NormalizeServer(stored.Server) == kube.NormalizeServer(cluster.Server)
	if err != nil || (same && sameServer) {
		return nil, err
	}
	file, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading kubelet's kubeconfig: %w", err)
	}
	for _, entry := range file.Clusters {
		if kube.NormalizeServer(entry.Server) != kube.NormalizeServer(stored.Server) {
			continue
		}
		if entry.CertificateAuthority, entry.CertificateAuthorityData = "", cluster.CA; !sameServer {
			entry.Server = cluster.Server
		}
	}
	content, err := clientcmd.Write(*file)
	if err != nil {
		return nil, fmt.Errorf("encoding kubeconfig: %w", err)
	}
	return content, nil
}

// loadCluster returns the cluster of kubelet's kubeconfig.
func loadCluster(path string) (kube.Cluster, error) {
	config, _, err := loadKubeconfig(path)
	if err != nil {
		return kube.Cluster{}, fmt.Errorf("reading kubelet's kubeconfig: %w", err)
	}
	return kube.ClusterFromConfig(config)
}

func sameCAs(a, b []byte) (bool, error) {
	if bytes.Equal(a, b) {
		return true, nil
	}
	first, err := kube.ParsePEMCertificates(a)
	if err != nil {
		return false, err
	}
	second, err := kube.ParsePEMCertificates(b)
	if err != nil {
		return false, err
	}
	return containsAll(first, second) && containsAll(second, first), nil
}

// containsAll reports whether others contains all certificates of some.
func containsAll(some, others []*x509.Certificate) bool {
	return !slices.ContainsFunc(some, func(c *x509.Certificate) bool { return !slices.ContainsFunc(others, c.Equal) })
}
