package kubelet

import (
	"context"
	"errors"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Request is a CSR that waits for approval.
type Request struct {
	Name      string
	PublicKey any // of the client CSR; nil for a serving CSR, whose key only kubelet has
}

// Approver approves a CSR. If there is none, an administrator does it manually.
type Approver func(ctx context.Context, request Request) error

// Result describes how an identity was obtained.
type Result struct {
	Changed     bool   // false if a valid identity existed
	Authorities bool   // only the cluster's CAs changed; certificate and key existed
	CSR         string // "" if the certificate existed
	Fingerprint string // of the public key
	NotAfter    time.Time
}

// Obtain ensures that kubelet has an identity that the API server accepts as
// this node's. If there is none, it submits a CSR and waits for the approval
// until ctx ends.
func (i *Identity) Obtain(ctx context.Context, approve Approver) (Result, error) {
	state, err := i.Known(ctx)
	if err != nil {
		return Result{}, err
	}
	if state == Expired {
		if err := i.doubt(ctx); err != nil {
			return Result{}, err
		}
	}
	var result Result
	if state == Valid {
		result, err = i.keep(ctx)
	} else {
		result, err = i.ask(ctx, approve)
	}
	if err != nil {
		return result, err
	}
	if leaf := leafOf(i.current()); leaf != nil {
		result.NotAfter, result.Fingerprint = leaf.NotAfter, Fingerprint(leaf.PublicKey)
	}
	return result, nil
}

// ask obtains a certificate by a CSR, verifies it with the API server and
// stores it. If the Node belongs to another host, nothing is stored. The key is
// kept, so that a later run finds the certificate after that Node is deleted.
func (i *Identity) ask(ctx context.Context, approve Approver) (Result, error) {
	cluster, err := i.cluster()
	if err != nil {
		return Result{}, err
	}
	config, _, err := readBootstrap(i.Bootstrap)
	if err != nil {
		return Result{}, err
	}
	connection, err := connect(config, i.Proxy)
	if err != nil {
		return Result{}, err
	}
	a := &asking{identity: i, api: connection, approve: approve, credential: leafOfPEM(config.CertData)}
	certificate, err := a.run(ctx)
	if err != nil {
		return Result{CSR: a.csr()}, err
	}
	issued := pair{certificate: certificate, key: a.key.pem}
	verified := i.verify(ctx, clientConfig(cluster, issued), true)
	if errors.Is(verified, errForeignNode) {
		return Result{CSR: a.csr()}, verified
	}
	if err := i.store(ctx, cluster, issued); err != nil {
		return Result{CSR: a.csr()}, err
	}
	return Result{Changed: true, CSR: a.csr()}, errors.Join(verified, a.key.drop())
}

// timeUp returns failure if err only means that the deadline of ctx has passed,
// and err otherwise.
func timeUp(ctx context.Context, err, failure error) error {
	var known *report.Failure
	if err == nil || ctx.Err() == nil || errors.As(err, &known) {
		return err
	}
	return ended(ctx, failure)
}
