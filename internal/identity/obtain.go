package identity

import (
	"context"
	"errors"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
)

// ApprovalRequest is a CSR that waits for approval.
type ApprovalRequest struct {
	Name      string
	PublicKey any // of the client CSR; nil for a serving CSR, whose key only kubelet has
}

// Approver approves a CSR. If there is none, an administrator does it manually.
type Approver func(ctx context.Context, request ApprovalRequest) error

// Result describes how an identity was obtained.
type Result struct {
	Changed     bool   // false if a valid identity existed
	OnlyCAs     bool   // only the cluster's CAs changed; certificate and key existed
	CSR         string // "" if the certificate existed
	Fingerprint string // of the public key
	NotAfter    time.Time
}

// Obtain ensures that kubelet has an identity that the API server accepts as
// this node's. If there is none, it submits a CSR and waits for the approval
// until ctx ends.
func (i *Identity) Obtain(ctx context.Context, approve Approver) (Result, error) {
	state, err := i.CheckWithCluster(ctx)
	if err != nil {
		return Result{}, err
	}
	if state == Expired {
		if err := i.checkClock(ctx); err != nil {
			return Result{}, err
		}
	}
	var result Result
	if state == Valid {
		result, err = i.refreshCAs(ctx)
	} else {
		result, err = i.requestCertificate(ctx, approve)
	}
	if err != nil {
		return result, err
	}
	if leaf := readLeaf(i.clientCertificatePath()); leaf != nil {
		result.NotAfter, result.Fingerprint = leaf.NotAfter, Fingerprint(leaf.PublicKey)
	}
	return result, nil
}

// requestCertificate obtains a certificate by a CSR, verifies it with the API server and
// stores it. If the Node belongs to another host, nothing is stored. The key is
// kept, so that a later run finds the certificate after that Node is deleted.
func (i *Identity) requestCertificate(ctx context.Context, approve Approver) (Result, error) {
	cluster, err := i.expectedCluster()
	if err != nil {
		return Result{}, err
	}
	config, _, err := parseBootstrapKubeconfig(i.BootstrapKubeconfig)
	if err != nil {
		return Result{}, err
	}
	connection, err := kube.Connect(config, i.Proxy)
	if err != nil {
		return Result{}, err
	}
	a := &csrRequester{identity: i, conn: connection, approve: approve, bootstrapCertificate: parseLeaf(config.CertData)}
	certificate, err := a.run(ctx)
	if err != nil {
		return Result{CSR: a.csrName()}, err
	}
	issued := keyPair{certificate: certificate, key: a.key.pem}
	verified := i.verify(ctx, clientConfig(cluster, issued), true)
	if errors.Is(verified, errForeignNode) {
		return Result{CSR: a.csrName()}, verified
	}
	if err := i.store(ctx, cluster, issued); err != nil {
		return Result{CSR: a.csrName()}, err
	}
	return Result{Changed: true, CSR: a.csrName()}, errors.Join(verified, a.key.remove())
}
