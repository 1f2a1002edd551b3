// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"
)

// csrRequester requests one client certificate through a CSR.
type csrRequester struct {
	identity             *Identity
	conn                 *kube.Conn
	approve              Approver
	bootstrapCertificate *x509.Certificate // from the bootstrap kubeconfig; nil if it contains no certificate
	expired              *expiredPair      // proves the node's identity; nil if there is none

	key     *pendingKey
	desired *kube.CSR

	existedBefore bool      // the CSR existed before this run
	keyReplaced   bool      // this run has already created a new key
	offeredUID    types.UID // the CSR that was passed to the approver
	approvedAt    time.Time // when the CSR was first seen as approved but not issued
	createdAt     time.Time // creation time of the most recently seen CSR
	lastStatus    csrStatus
	certificate   []byte
}

func (r *csrRequester) csrName() string {
	if r.desired == nil {
		return ""
	}
	return r.desired.Name
}

// errRetryCSR requests a new CSR, because the current CSR cannot lead to a
// certificate.
var errRetryCSR = errors.New("retrying the client CSR")

// run submits CSRs until a certificate is issued or the request fails
// permanently.
func (r *csrRequester) run(ctx context.Context) ([]byte, error) {
	pause := wait.NewBackoff()
	for {
		if err := r.submit(ctx); err != nil {
			return nil, r.explainRejection(err)
		}
		err := kube.Follow(ctx, r.conn, r.identity.Log, r.source(), 5*time.Second,
			func(found map[string]*kube.CSR) (bool, error) {
				return r.handleCSR(ctx, found[r.desired.Name])
			})
		if err == nil {
			return r.certificate, nil
		}
		if !errors.Is(err, errRetryCSR) {
			return nil, r.explainRejection(report.FailureAtDeadline(ctx, err, r.timeoutError()))
		}
		if wait.Sleep(ctx, pause.Step()) != nil {
			return nil, report.WaitError(ctx, r.timeoutError())
		}
	}
}

// submit creates the CSR, or finds the CSR that an earlier run created.
func (r *csrRequester) submit(ctx context.Context) error {
	var err error
	if r.key, err = loadOrCreateKey(r.identity.KeyDir, r.expired); err != nil {
		return err
	}
	if r.desired, err = newClientCSR(r.key, r.identity.NodeName); err != nil {
		return err
	}
	r.existedBefore, r.approvedAt, r.lastStatus = false, time.Time{}, csrStatus{phase: phaseAbsent}
	if r.desired.Annotations, err = r.csrAnnotations(); err != nil {
		r.existedBefore = true
		// The CSR of an earlier run can be approved by now; if it is not, handleCSR returns the error.
		return nil //nolint:nilerr // see above
	}
	return r.conn.Retry(ctx, r.identity.Log, "submitting the client CSR", func() error {
		_, err := r.conn.Client.CSRs().Create(ctx, r.desired, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			r.existedBefore = true
			return nil
		}
		return err
	})
}

// csrAnnotations returns the annotations for the CSR of this node. Annotations can
// only be set on creation: the bootstrap credential is not allowed to change a
// CSR.
func (r *csrRequester) csrAnnotations() (map[string]string, error) {
	annotations := map[string]string{}
	if r.identity.Annotate != nil {
		proof, err := r.identity.Annotate(&r.key.private.PublicKey)
		if err != nil {
			return nil, err
		}
		maps.Copy(annotations, proof)
	}
	if r.hasExpiredKey() {
		proof, err := enrollment.SignCSRName(r.desired.Name, r.key.private)
		if err != nil {
			return nil, err
		}
		maps.Copy(annotations, proof)
		annotations[enrollment.AnnotationCertificate] = enrollment.EncodeCertificate(r.expired.certificate)
	}
	return annotations, nil
}

// hasExpiredKey reports whether the CSR has the key of the expired certificate.
func (r *csrRequester) hasExpiredKey() bool {
	return r.expired != nil && r.expired.key.Equal(r.key.private)
}

// source selects this node's client CSR by name.
func (r *csrRequester) source() kube.Source[*kube.CSR] {
	return r.conn.Client.CSRs().Source("watching the client CSR "+r.desired.Name, "metadata.name="+r.desired.Name)
}

// handleCSR processes the current state of the CSR and reports whether the
// certificate was issued.
func (r *csrRequester) handleCSR(ctx context.Context, found *kube.CSR) (bool, error) {
	log := r.identity.Log.ForRequest(r.desired.Name)
	before := r.lastStatus
	r.lastStatus = evaluateCSR(found, r.desired, metav1.NewTime(r.conn.Clock.Now()))
	if found != nil {
		r.createdAt = found.CreationTimestamp.Time
	}
	if _, err := r.csrAnnotations(); err != nil &&
		(r.lastStatus.phase == phaseAbsent || r.lastStatus.phase == phasePending) {
		return false, err
	}
	switch r.lastStatus.phase {
	case phaseIssued:
		r.certificate = r.lastStatus.certificate
		return true, nil
	case phaseAbsent:
		log.Warn(deletedText(r.desired.Name, before.phase, r.createdAt, r.key.createdAt, r.conn.Clock.Now()), "")
		return false, errRetryCSR
	case phasePending:
		r.existedBefore = false // later changes happen during this run
		if r.approve == nil {
			log.Wait(r.pendingText(found), r.approvalRemedy())
			return false, nil
		}
		if r.offeredUID == found.UID {
			return false, nil
		}
		r.offeredUID = found.UID
		log.Wait(ownApprovalText(r.desired.Name, fingerprint(&r.key.private.PublicKey)), "")
		return false, r.approve(ctx, ApprovalRequest{Name: r.desired.Name, PublicKey: &r.key.private.PublicKey})
	case phaseApproved:
		r.existedBefore = false
		if before.phase != phaseApproved {
			r.approvedAt = time.Now()
		} else if time.Since(r.approvedAt) > 4*time.Second { // a running signer issues within moments
			log.Wait("waiting for a certificate: client CSR "+r.desired.Name+" is approved, but no "+
				"certificate has been issued yet",
				r.identity.Topology.SignerRemedy())
		}
		return false, nil
	}
	return false, r.discardKey()
}

// discardKey removes the key of a CSR that cannot lead to a certificate, and
// returns the error. If the CSR was already in that state before this run, the
// error is errRetryCSR once, to continue with a new key.
func (r *csrRequester) discardKey() error {
	if err := r.key.remove(); err != nil {
		return err
	}
	text := fmt.Sprintf("client CSR %s is %s (%s)", r.desired.Name, r.lastStatus.phase,
		strings.TrimSpace(r.lastStatus.detail))
	switch {
	case r.hasExpiredKey() && !r.isRejected():
		// Only the key of the expired certificate proves the node's identity. The next CSR has that key too.
		r.identity.Log.Warn(text+"; submitting a new CSR with another name and the same key", "")
		return errRetryCSR
	case r.existedBefore && !r.keyReplaced:
		r.keyReplaced, r.expired = true, nil
		r.identity.Log.Warn(text+" since an earlier run; submitting a new CSR with a new key", "")
		return errRetryCSR
	}
	return report.Fail(report.ApprovalMissing,
		report.Remedy("# find the cause:\noc get csr "+r.desired.Name+" -o yaml # then run join again: it "+
			"submits a new CSR with a new key"), "%s", text)
}

// isRejected reports whether an administrator or the signer has rejected the CSR. A CSR with the
// same key would be rejected again.
func (r *csrRequester) isRejected() bool {
	return r.lastStatus.phase == phaseDenied || r.lastStatus.phase == phaseFailed
}

// timeoutError returns the error for a wait that reached its deadline.
func (r *csrRequester) timeoutError() error {
	if r.lastStatus.phase == phaseApproved {
		return report.Fail(report.Failed, r.identity.Topology.SignerRemedy(),
			"client CSR %s was approved, but no certificate was issued in time", r.desired.Name)
	}
	return report.Fail(report.ApprovalMissing,
		r.approvalRemedy()+"\nhcp-node-agent join # on this host afterwards: it uses the same CSR",
		"timed out waiting for approval of client CSR %s (key %s)", r.desired.Name, fingerprint(&r.key.private.PublicKey))
}
