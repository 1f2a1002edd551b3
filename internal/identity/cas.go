// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	state, err := i.Check(ctx)
	var otherCAs kube.CAMismatchError
	var otherServer kube.ServerMismatchError
	moved := errors.As(err, &otherServer)
	if !moved && !errors.As(err, &otherCAs) {
		return state, err
	}
	cluster, unread := i.expectedCluster()
	if unread != nil {
		return state, unread
	}
	config, certified, unread := loadKubeconfig(i.Kubeconfig)
	if unread != nil || !certified || rest.LoadTLSFiles(config) != nil {
		return state, err
	}
	found, foreign := i.checkCertificate(config.CertData)
	if foreign != nil || (found == Expired && !moved) {
		return state, err
	}
	if moved {
		cluster.CA = config.CAData
	}
	refused := i.checkAccepted(ctx, cluster)
	if found == Expired && report.CodeOf(refused) == report.CredentialRefused {
		refused = nil
	}
	if refused != nil {
		if moved {
			return state, i.foreignIdentityError("%w, which does not accept it: %w", otherServer, refused)
		}
		return state, err
	}
	return found, nil
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
	content, changed, err := replaceCluster(i.Kubeconfig, cluster)
	if err != nil {
		return Result{}, err
	}
	if !changed {
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
	config, _, err := loadKubeconfig(i.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reading kubelet's kubeconfig: %w", err)
	}
	cluster, err := kube.ClusterFromConfig(config)
	if err != nil {
		return err
	}
	cluster.CA = kube.JoinPEM(cluster.CA, cas)
	content, changed, err := replaceCluster(i.Kubeconfig, cluster)
	if err != nil || !changed {
		return err
	}
	return i.writeKubeconfig(ctx, content)
}

// checkAccepted returns an error unless the cluster's API server, verified by its CAs,
// accepts the existing certificate as this node's. It sends one request.
func (i *Identity) checkAccepted(ctx context.Context, cluster kube.Cluster) error {
	config, err := clientcmd.BuildConfigFromFlags("", i.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reading kubelet's kubeconfig: %w", err)
	}
	config.Host, config.CAFile, config.CAData = cluster.Server, "", cluster.CA
	connection, err := kube.Connect(config, i.Proxy)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, kube.RequestTimeout)
	defer cancel()
	_, err = connection.Client.Nodes().Get(ctx, i.NodeName)
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	problem := connection.Explain(ctx, err)
	return report.Fail(problem.Code, problem.Remedy, "%s", problem.Message)
}

// replaceCluster returns the kubeconfig with the cluster's URL and CAs, and whether they
// differ from the current ones. The order of the CAs is ignored.
func replaceCluster(path string, cluster kube.Cluster) (content []byte, changed bool, err error) {
	config, _, err := loadKubeconfig(path)
	if err != nil {
		return nil, false, fmt.Errorf("reading kubelet's kubeconfig: %w", err)
	}
	stored, err := kube.ClusterFromConfig(config)
	if err != nil {
		return nil, false, err
	}
	same, err := sameCAs(stored.CA, cluster.CA)
	sameServer := kube.NormalizeServer(stored.Server) == kube.NormalizeServer(cluster.Server)
	if err != nil || (same && sameServer) {
		return nil, false, err
	}
	file, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return nil, false, fmt.Errorf("reading kubelet's kubeconfig: %w", err)
	}
	for _, entry := range file.Clusters {
		if kube.NormalizeServer(entry.Server) != kube.NormalizeServer(stored.Server) {
			continue
		}
		if entry.CertificateAuthority, entry.CertificateAuthorityData = "", cluster.CA; !sameServer {
			entry.Server = cluster.Server
		}
	}
	if content, err = clientcmd.Write(*file); err != nil {
		return nil, false, fmt.Errorf("encoding kubeconfig: %w", err)
	}
	return content, true, nil
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
