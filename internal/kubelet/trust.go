package kubelet

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

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// otherAuthorities says that two bundles for one server have nothing in common.
type otherAuthorities struct{ server string }

func (o otherAuthorities) Error() string {
	return "it trusts other certificate authorities for " + o.server + ", as after the cluster was made anew"
}

// Known is Check, and asks the API server where kubelet's kubeconfig has none of
// the authorities that the cluster has now. A cluster that was made anew has
// another signer of nodes' certificates, and refuses this one; one that has
// replaced its authority takes it.
func (i *Identity) Known(ctx context.Context) (State, error) {
	state, err := i.Check(ctx)
	var others otherAuthorities
	if !errors.As(err, &others) {
		return state, err
	}
	cluster, unread := i.cluster()
	if unread != nil {
		return state, unread
	}
	config, certified, unread := loadKubeconfig(i.Kubeconfig)
	if unread != nil || !certified || rest.LoadTLSFiles(config) != nil {
		return state, err
	}
	if found, foreign := i.checkCertificate(config.CertData); foreign != nil || found != Valid {
		return state, err
	}
	if i.accepted(ctx, cluster) != nil {
		return state, err
	}
	return Valid, nil
}

// keep goes on with the identity that is there. Its kubeconfig gets the
// authorities of the payload where it has others: nothing else brings a node
// those of a cluster that replaces its own. What the API server cannot be
// reached with is not written: a payload can be older than the kubeconfig.
func (i *Identity) keep(ctx context.Context) (Result, error) {
	cluster, err := i.cluster()
	if err != nil {
		return Result{}, err
	}
	content, changed, err := trusting(i.Kubeconfig, cluster)
	if err != nil {
		return Result{}, err
	}
	if !changed {
		return Result{}, i.verifyStored(ctx)
	}
	if err := i.accepted(ctx, cluster); err != nil {
		if ctx.Err() == nil {
			i.Log.Warn("the API server cannot be reached with the payload's certificate authorities, so kubelet's kubeconfig keeps those that it has: "+err.Error(),
				"hcp-node-agent join --user-data STUB # with a fresh stub")
		}
		return Result{}, i.verifyStored(ctx)
	}
	if err := i.writeKubeconfig(ctx, content); err != nil {
		return Result{}, err
	}
	return Result{Changed: true, Authorities: true}, i.verifyStored(ctx)
}

// accepted tells whether the API server that these authorities vouch for takes
// the certificate that is there for this node's; it asks once.
func (i *Identity) accepted(ctx context.Context, cluster Cluster) error {
	config, err := clientcmd.BuildConfigFromFlags("", i.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reading kubelet's kubeconfig: %w", err)
	}
	config.CAFile, config.CAData = "", cluster.CA
	connection, err := connect(config, i.Proxy)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err = connection.client.Nodes().Get(ctx, i.NodeName)
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	problem := connection.explain(ctx, err)
	return report.Fail(problem.code, problem.remedy, "%s", problem.text)
}

// trusting is a kubeconfig with the cluster's authorities, and whether it has
// others now. Their order makes no difference.
func trusting(path string, cluster Cluster) (content []byte, changed bool, err error) {
	config, _, err := loadKubeconfig(path)
	if err != nil {
		return nil, false, fmt.Errorf("reading kubelet's kubeconfig: %w", err)
	}
	stored, err := clusterOf(config)
	if err != nil {
		return nil, false, err
	}
	same, err := sameAuthorities(stored.CA, cluster.CA)
	if err != nil || same {
		return nil, false, err
	}
	file, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return nil, false, fmt.Errorf("reading kubelet's kubeconfig: %w", err)
	}
	for _, entry := range file.Clusters {
		if normalServer(entry.Server) == normalServer(cluster.Server) {
			entry.CertificateAuthority, entry.CertificateAuthorityData = "", cluster.CA
		}
	}
	if content, err = clientcmd.Write(*file); err != nil {
		return nil, false, fmt.Errorf("encoding kubeconfig: %w", err)
	}
	return content, true, nil
}

func sameAuthorities(a, b []byte) (bool, error) {
	if bytes.Equal(a, b) {
		return true, nil
	}
	ours, err := certificates(a)
	if err != nil {
		return false, err
	}
	theirs, err := certificates(b)
	if err != nil {
		return false, err
	}
	return allAmong(ours, theirs) && allAmong(theirs, ours), nil
}

// allAmong tells whether all of some certificates are among others.
func allAmong(some, others []*x509.Certificate) bool {
	return !slices.ContainsFunc(some, func(c *x509.Certificate) bool { return !slices.ContainsFunc(others, c.Equal) })
}
