package kubelet

import (
	"context"
	"errors"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Request is a CSR that waits for somebody to approve it.
type Request struct {
	Name      string
	PublicKey any // of the client CSR; nil for a serving CSR, whose key is kubelet's
}

// Approver approves a CSR. Where there is none, a person does it.
type Approver func(ctx context.Context, request Request) error

// Result is how an identity was come by.
type Result struct {
	Changed     bool   // false: a valid one was there already
	Authorities bool   // of the cluster have changed alone; certificate and key were there already
	CSR         string // "" when it was there already
	Fingerprint string // of the public key
	NotAfter    time.Time
}

// Obtain makes sure that kubelet has an identity that the API server accepts
// as this node's. It asks for one and waits for the approval where there is
// none; ctx bounds the wait.
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

// ask gets a certificate by a CSR, shows it to the API server and stores it.
// With the Node of another machine nothing is stored; the key is kept, so that
// the certificate is found again when that Node is gone.
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

// timeUp gives the failure when a wait ended because its time was up, and err
// when something better is known.
func timeUp(ctx context.Context, err, failure error) error {
	var told *report.Failure
	if err == nil || ctx.Err() == nil || errors.As(err, &told) {
		return err
	}
	return ended(ctx, failure)
}
