package kubelet

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

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
	CSR         string // "" when it was there already
	Fingerprint string // of the public key
	NotAfter    time.Time
}

// Obtain makes sure that kubelet has an identity that the API server accepts
// as this node's. It asks for one and waits for the approval where there is
// none; ctx bounds the wait.
func (i *Identity) Obtain(ctx context.Context, approve Approver) (Result, error) {
	state, err := i.Check(ctx)
	if err != nil {
		return Result{}, err
	}
	var result Result
	if state != Valid {
		if result, err = i.ask(ctx, approve); err != nil {
			return result, err
		}
	}
	if err := i.verify(ctx); err != nil {
		return result, err
	}
	if leaf := leafOf(i.current()); leaf != nil {
		result.NotAfter, result.Fingerprint = leaf.NotAfter, Fingerprint(leaf.PublicKey)
	}
	return result, nil
}

// ask gets a certificate by a CSR and stores it.
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
	if err := i.store(ctx, cluster, pair{certificate: certificate, key: a.key.pem}); err != nil {
		return Result{CSR: a.csr()}, err
	}
	return Result{Changed: true, CSR: a.csr()}, a.key.drop()
}

// verify asks the API server whether it takes this node's certificate for what
// it is: a node may read its own Node, also one that does not exist yet.
func (i *Identity) verify(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", i.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reading kubelet's kubeconfig: %w", err)
	}
	connection, err := connect(config, i.Proxy)
	if err != nil {
		return err
	}
	err = connection.persist(ctx, i.Log, "showing the node's certificate to the API server", func(ctx context.Context) error {
		_, err := connection.client.CoreV1().Nodes().Get(ctx, i.NodeName, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err //nolint:wrapcheck // persist explains it
	})
	if err == nil || report.CodeOf(err) != report.CredentialRefused {
		return err
	}
	detail := ""
	if leaf := leafOf(i.current()); leaf != nil {
		detail = fmt.Sprintf(" (of %s, issued by %q, valid until %s)", stamp(leaf.NotBefore), leaf.Issuer, stamp(leaf.NotAfter))
	}
	return report.Fail(report.CredentialRefused,
		fmt.Sprintf("mv %s %s.old   then run join again: it asks for a new certificate", i.Kubeconfig, i.Kubeconfig),
		"the API server does not accept this node's certificate%s, as after its signer was replaced or the Node's rights were changed: %w", detail, err)
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
