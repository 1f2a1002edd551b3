// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
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

// ParseKubeconfig returns the configuration of a client and the hashes of the cluster's CAs. An enrollment is valid for
// one cluster, which is identified by its CA.
func ParseKubeconfig(kubeconfig []byte) (*rest.Config, []enrollment.Hash, error) {
	config, err := kube.ParseKubeconfig(kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, nil, report.Fail(report.Usage, "# use a kubeconfig whose files exist", "reading the files "+
			"of the kubeconfig: %w", err)
	}
	cas, err := enrollment.CAHashes(config.CAData)
	if err != nil {
		return nil, nil, report.Fail(report.Usage, caRemedy, "the kubeconfig does not contain the cluster's CA: %w", err)
	}
	config.UserAgent = "hcp-node-admin"
	return config, cas, nil
}

// connect reads a kubeconfig.
func connect(kubeconfig []byte) (connection, error) {
	config, cas, err := ParseKubeconfig(kubeconfig)
	if err != nil {
		return connection{}, err
	}
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

const rightsRemedy = "# use the kubeconfig of an administrator of the hosted cluster:\n" + kube.AdminKubeconfigCommand

// explain returns err with a message and a remedy for the administrator.
func (a *Approver) explain(err error) error {
	var recorded *report.Failure
	switch {
	case err == nil, errors.As(err, &recorded):
		return err
	case apierrors.IsUnauthorized(err):
		return report.Fail(report.CredentialRefused, rightsRemedy, "%s rejects the credential of the kubeconfig: %w",
			a.server, err)
	case apierrors.IsForbidden(err):
		return report.Fail(report.CredentialRefused, rightsRemedy, "the credential of the kubeconfig lacks a "+
			"permission on %s: %w", a.server, err)
	}
	return report.Fail(report.Failed, report.Remedy("curl -k "+a.server+"/livez"), "%s: %w", a.server, err)
}

// hyperShiftGroup is the API group of HostedClusters and NodePools, which a management cluster
// serves and a hosted cluster does not.
const hyperShiftGroup = "hypershift.openshift.io"

// checkHostedCluster returns an error if the kubeconfig is that of a management cluster. The nodes
// of a NodePool are never approved there, and the right to approve would admit hosts to the cluster
// that runs the control planes.
func (a *Approver) checkHostedCluster(ctx context.Context) error {
	if a.options.AllowManagementCluster {
		return nil
	}
	return CheckHostedCluster(ctx, a.client, a.server)
}

// CheckHostedCluster returns an error if a client is one of a management cluster.
func CheckHostedCluster(ctx context.Context, client *kube.Client, server string) error {
	isManagement, err := IsManagementCluster(ctx, client)
	if err != nil {
		return fmt.Errorf("checking whether %s is a hosted cluster: %w", server, err)
	}
	if !isManagement {
		return nil
	}
	return report.Fail(report.Refused, kube.AdminKubeconfigCommand+
		" # on the management cluster; then use hosted.kubeconfig",
		"%s is a management cluster, which serves %s; the kubeconfig must be that of the hosted cluster "+
			"(--allow-management-cluster approves nodes of the management cluster itself)", server, hyperShiftGroup)
}

// IsManagementCluster reports whether a cluster serves the API of HyperShift.
func IsManagementCluster(ctx context.Context, client *kube.Client) (bool, error) {
	isServed, err := isServed(ctx, client, hyperShiftGroup)
	if apierrors.IsForbidden(err) { // ClusterRole system:discovery, which can be removed
		err = nil
	}
	return isServed, err
}

// CheckEnrollmentAPI returns an error if a cluster does not serve the API of NodeEnrollment.
func CheckEnrollmentAPI(ctx context.Context, client *kube.Client, server string) error {
	version := v1alpha1.GroupVersion
	isServed, err := isServed(ctx, client, version.Group, version.Version)
	if err != nil {
		return fmt.Errorf("checking the API of %s: %w", server, err)
	}
	if !isServed {
		return report.Fail(report.Refused, "oc --kubeconfig hosted.kubeconfig apply -k deploy/hosted-base",
			"%s does not serve %s, the API of NodeEnrollment", server, version)
	}
	return nil
}

// isServed reports whether a cluster serves an API group, or a version of it.
func isServed(ctx context.Context, client *kube.Client, path ...string) (bool, error) {
	_, err := kube.Send(ctx, client.RESTClient().Get().AbsPath(append([]string{"/apis"}, path...)...))
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}
