package identity

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/sleep"
)

// csrRequester requests one client certificate through a CSR.
type csrRequester struct {
	identity             *Identity
	conn                 *kube.Conn
	approve              Approver
	bootstrapCertificate *x509.Certificate // from the bootstrap kubeconfig; nil if it contains no certificate

	key     *pendingKey
	desired *certificatesv1.CertificateSigningRequest

	existedBefore bool      // the CSR existed before this run
	keyReplaced   bool      // this run has already created a new key
	offeredUID    types.UID // the CSR that was passed to the approver
	approvedAt    time.Time // when the CSR was first seen as approved but not issued
	createdAt     time.Time // creation time of the most recently seen CSR
	lastStatus    csrStatus
	certificate   []byte
}

func (a *csrRequester) csrName() string {
	if a.desired == nil {
		return ""
	}
	return a.desired.Name
}

// errRetryCSR requests a new CSR, because the current CSR cannot lead to a
// certificate.
var errRetryCSR = errors.New("asking again")

// run submits CSRs until a certificate is issued or the request fails
// permanently.
func (a *csrRequester) run(ctx context.Context) ([]byte, error) {
	pause := kube.NewBackoff()
	for {
		if err := a.submit(ctx); err != nil {
			return nil, a.explainRejection(err)
		}
		err := kube.Follow(ctx, a.conn, a.identity.Log, a.source(), 5*time.Second,
			func(found map[string]*certificatesv1.CertificateSigningRequest) (bool, error) {
				return a.handleCSR(ctx, found[a.desired.Name])
			})
		if err == nil {
			return a.certificate, nil
		}
		if !errors.Is(err, errRetryCSR) {
			return nil, a.explainRejection(report.FailureAtDeadline(ctx, err, a.timeoutError()))
		}
		if sleep.For(ctx, pause.Step()) != nil {
			return nil, report.WaitError(ctx, a.timeoutError())
		}
	}
}

// submit creates the CSR, or finds the CSR that an earlier run created.
func (a *csrRequester) submit(ctx context.Context) error {
	var err error
	if a.key, err = loadOrCreateKey(a.identity.KeyDir); err != nil {
		return err
	}
	if a.desired, err = newClientCSR(a.key, a.identity.NodeName); err != nil {
		return err
	}
	a.existedBefore, a.approvedAt, a.lastStatus = false, time.Time{}, csrStatus{phase: phaseAbsent}
	if a.desired.Annotations, err = a.csrAnnotations(); err != nil {
		a.existedBefore = true
		// The CSR of an earlier run can be approved by now; if it is not, handleCSR returns the error.
		return nil //nolint:nilerr // see above
	}
	return a.conn.Retry(ctx, a.identity.Log, "submitting the client CSR", func(ctx context.Context) error {
		_, err := a.conn.Client.CSRs().Create(ctx, a.desired, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			a.existedBefore = true
			return nil
		}
		return err
	})
}

// csrAnnotations returns the annotations for the CSR of this node. Annotations can
// only be set on creation: the bootstrap credential is not allowed to change a
// CSR.
func (a *csrRequester) csrAnnotations() (map[string]string, error) {
	if a.identity.Annotate == nil {
		return nil, nil
	}
	return a.identity.Annotate(&a.key.private.PublicKey)
}

// source selects this node's client CSR by name.
func (a *csrRequester) source() kube.Source[*certificatesv1.CertificateSigningRequest] {
	return a.conn.Client.CSRs().Source("watching the client CSR "+a.desired.Name, "metadata.name="+a.desired.Name)
}

// handleCSR processes the current state of the CSR and reports whether the
// certificate was issued.
func (a *csrRequester) handleCSR(ctx context.Context, found *certificatesv1.CertificateSigningRequest) (bool, error) {
	log := a.identity.Log.ForRequest(a.desired.Name)
	before := a.lastStatus
	a.lastStatus = evaluateCSR(found, a.desired, metav1.NewTime(a.conn.Clock.Now()))
	if found != nil {
		a.createdAt = found.CreationTimestamp.Time
	}
	if _, err := a.csrAnnotations(); err != nil &&
		(a.lastStatus.phase == phaseAbsent || a.lastStatus.phase == phasePending) {
		return false, err
	}
	switch a.lastStatus.phase {
	case phaseIssued:
		a.certificate = a.lastStatus.certificate
		return true, nil
	case phaseAbsent:
		log.Warn(deletedText(a.desired.Name, before.phase, a.createdAt, a.key.createdAt, a.conn.Clock.Now()), "")
		return false, errRetryCSR
	case phasePending:
		a.existedBefore = false // later changes happen during this run
		if a.approve == nil {
			log.Wait(a.pendingText(found), a.approveCommand())
			return false, nil
		}
		if a.offeredUID == found.UID {
			return false, nil
		}
		a.offeredUID = found.UID
		log.Wait(ownApprovalText(a.desired.Name, Fingerprint(&a.key.private.PublicKey)), "")
		return false, a.approve(ctx, ApprovalRequest{Name: a.desired.Name, PublicKey: &a.key.private.PublicKey})
	case phaseApproved:
		a.existedBefore = false
		if before.phase != phaseApproved {
			a.approvedAt = time.Now()
		} else if time.Since(a.approvedAt) > 4*time.Second { // a running signer issues within moments
			log.Wait("the client CSR "+a.desired.Name+" is approved, but no certificate is issued yet",
				a.identity.Topology.SignerRemedy())
		}
		return false, nil
	}
	return false, a.discardKey()
}

// discardKey removes the key of a CSR that cannot lead to a certificate, and
// returns the error. If the CSR was already in that state before this run, the
// error is errRetryCSR once, to continue with a new key.
func (a *csrRequester) discardKey() error {
	if err := a.key.remove(); err != nil {
		return err
	}
	text := fmt.Sprintf("the client CSR %s is %s (%s)", a.desired.Name, a.lastStatus.phase,
		strings.TrimSpace(a.lastStatus.detail))
	if a.existedBefore && !a.keyReplaced {
		a.keyReplaced = true
		a.identity.Log.Warn(text+" since an earlier run; a new one is submitted with a new key", "")
		return errRetryCSR
	}
	return report.Fail(report.ApprovalMissing,
		"# find out who did this and why:\noc get csr "+a.desired.Name+" -o yaml # then run join again: it asks "+
			"anew, with a new key", "%s", text)
}

// timeoutError returns the error for a wait that reached its deadline.
func (a *csrRequester) timeoutError() error {
	if a.lastStatus.phase == phaseApproved {
		return report.Fail(report.Failed, a.identity.Topology.SignerRemedy(),
			"the client CSR %s was approved, but no certificate was issued in time", a.desired.Name)
	}
	return report.Fail(report.ApprovalMissing,
		a.approveCommand()+" # "+a.identity.Topology.CommandLocation()+"; then run join again: it finds the same CSR",
		"nobody approved the client CSR %s in time (key %s)", a.desired.Name, Fingerprint(&a.key.private.PublicKey))
}
