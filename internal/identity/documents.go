package identity

import (
	"context"
	"path/filepath"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ticket"
)

// CSRsJSON is like the function [CSRsJSON], but uses the bootstrap credential. It
// serves hosts that have no node credential yet.
func (i *Identity) CSRsJSON(ctx context.Context, names []string) ([]byte, error) {
	connection, err := i.connectBootstrap()
	if err != nil {
		return nil, err
	}
	return CSRsJSON(ctx, connection, i.NodeName, names)
}

// CSRNames returns the names of this node's client CSRs, derived from its
// keys: the key of the current certificate and the key of a pending request.
func (i *Identity) CSRNames() []string {
	var names []string
	add := func(publicKey any) {
		if name, err := ticket.ClientCSRName(publicKey, i.NodeName); err == nil {
			names = append(names, name)
		}
	}
	if leaf := readLeaf(i.clientCertificatePath()); leaf != nil {
		add(leaf.PublicKey)
	}
	if key, err := loadKey(i.KeyDir); err == nil && key.private != nil {
		add(&key.private.PublicKey)
	}
	return names
}

// ServingCertificatePath returns the path of kubelet's current serving certificate.
func ServingCertificatePath(dir string) string {
	return filepath.Join(dir, "kubelet-server-current.pem")
}

// ClientCertificatePath returns the path of kubelet's current client certificate.
func ClientCertificatePath(dir string) string { return (&Identity{Dir: dir}).clientCertificatePath() }

// CSRsJSON returns CSRs of a node in JSON: the client CSRs with the given names,
// and kubelet's newest CSR for its serving certificate.
func CSRsJSON(ctx context.Context, a *kube.Conn, node string, names []string) ([]byte, error) {
	csrs := a.Client.CSRs()
	own := map[string]*certificatesv1.CertificateSigningRequest{}
	for _, name := range names {
		csr, err := csrs.Get(ctx, name)
		switch {
		case err == nil:
			own[name] = csr
		case !apierrors.IsNotFound(err): // CSRs are deleted an hour after their approval
			return nil, kube.Explain(err, a.Server).Failure("asking the cluster about the CSR "+name, err)
		}
	}
	serving, _, err := csrSource(a, "", "spec.signerName="+certificatesv1.KubeletServingSignerName).ListAll(ctx)
	if err != nil {
		return nil, kube.Explain(err, a.Server).Failure("asking the cluster for serving CSRs", err)
	}
	if newest := newestFirst(serving, nodeUser(node)); len(newest) > 0 {
		own[newest[0].Name] = newest[0]
	}
	all := make([]*certificatesv1.CertificateSigningRequest, 0, len(own))
	for _, csr := range own {
		csr.ManagedFields = nil
		all = append(all, csr)
	}
	return kube.EncodeJSON(all)
}
