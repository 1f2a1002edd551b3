package kubelet

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

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// asking requests one client certificate through a CSR.
type asking struct {
	identity   *Identity
	api        *api
	approve    Approver
	credential *x509.Certificate // from the bootstrap kubeconfig; nil if it contains no certificate

	key  *pendingKey
	ours *certificatesv1.CertificateSigningRequest

	older  bool      // the CSR existed before this run
	anew   bool      // this run has already created a new key
	shown  types.UID // the CSR that was passed to the approver
	stuck  time.Time // when the CSR was first seen as approved but not issued
	asked  time.Time // creation time of the most recently seen CSR
	last   standing
	issued []byte
}

func (a *asking) csr() string {
	if a.ours == nil {
		return ""
	}
	return a.ours.Name
}

// errAgain requests a new CSR, because the current CSR cannot lead to a
// certificate.
var errAgain = errors.New("asking again")

// run submits CSRs until a certificate is issued or the request fails
// permanently.
func (a *asking) run(ctx context.Context) ([]byte, error) {
	pause := pauses()
	for {
		if err := a.submit(ctx); err != nil {
			return nil, a.refused(err)
		}
		err := follow(ctx, a.api, a.identity.Log, a.source(), 5*time.Second, func(found map[string]*certificatesv1.CertificateSigningRequest) (bool, error) {
			return a.see(ctx, found[a.ours.Name])
		})
		if err == nil {
			return a.issued, nil
		}
		if !errors.Is(err, errAgain) {
			return nil, a.refused(timeUp(ctx, err, a.unanswered()))
		}
		if !sleep(ctx, pause.Step()) {
			return nil, ended(ctx, a.unanswered())
		}
	}
}

// submit creates the CSR, or finds the CSR that an earlier run created.
func (a *asking) submit(ctx context.Context) error {
	var err error
	if a.key, err = loadOrMakeKey(a.identity.KeyDir); err != nil {
		return err
	}
	if a.ours, err = clientRequest(a.key, a.identity.NodeName); err != nil {
		return err
	}
	a.older, a.stuck, a.last = false, time.Time{}, standing{phase: absent}
	if a.ours.Annotations, err = a.annotations(); err != nil {
		a.older = true
		return nil //nolint:nilerr // the CSR of an earlier run can be approved by now; if it is not, see tells the error
	}
	return a.api.persist(ctx, a.identity.Log, "submitting the client CSR", func(ctx context.Context) error {
		_, err := a.api.client.CSRs().Create(ctx, a.ours, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			a.older = true
			return nil
		}
		return err //nolint:wrapcheck // persist explains it
	})
}

// source selects this node's client CSR by name.
func (a *asking) source() source[*certificatesv1.CertificateSigningRequest] {
	return csrSource(a.api, "watching the client CSR "+a.ours.Name, "metadata.name="+a.ours.Name)
}

func csrSource(a *api, doing, selector string) source[*certificatesv1.CertificateSigningRequest] {
	csrs := a.client.CSRs()
	return source[*certificatesv1.CertificateSigningRequest]{
		doing: doing, selector: selector,
		list: func(ctx context.Context, options metav1.ListOptions) ([]*certificatesv1.CertificateSigningRequest, metav1.ListMeta, error) {
			list, err := csrs.List(ctx, options)
			if err != nil {
				return nil, metav1.ListMeta{}, err //nolint:wrapcheck // persist explains it
			}
			return pointers(list.Items), list.ListMeta, nil
		},
		watch: csrs.Watch,
	}
}

func pointers[T any](items []T) []*T {
	all := make([]*T, 0, len(items))
	for n := range items {
		all = append(all, &items[n])
	}
	return all
}

// see processes the current state of the CSR and reports whether the
// certificate was issued.
func (a *asking) see(ctx context.Context, found *certificatesv1.CertificateSigningRequest) (bool, error) {
	log := a.identity.Log.About(a.ours.Name)
	before := a.last
	a.last = assess(found, a.ours, metav1.NewTime(a.api.clock.now()))
	if found != nil {
		a.asked = found.CreationTimestamp.Time
	}
	if _, err := a.annotations(); err != nil && (a.last.phase == absent || a.last.phase == pending) {
		return false, err
	}
	switch a.last.phase {
	case issued:
		a.issued = a.last.certificate
		return true, nil
	case absent:
		log.Warn(goneText(a.ours.Name, before.phase, a.asked, a.key.since, a.api.clock.now()), "")
		return false, errAgain
	case pending:
		a.older = false // later changes happen during this run
		if a.approve == nil {
			log.Wait(a.pendingText(found), a.approveCommand())
			return false, nil
		}
		if a.shown == found.UID {
			return false, nil
		}
		a.shown = found.UID
		log.Wait(ownApprovalText(a.ours.Name, Fingerprint(&a.key.private.PublicKey)), "")
		return false, a.approve(ctx, Request{Name: a.ours.Name, PublicKey: &a.key.private.PublicKey})
	case approved:
		a.older = false
		if before.phase != approved {
			a.stuck = time.Now()
		} else if time.Since(a.stuck) > 4*time.Second { // a running signer issues within moments
			log.Wait("the client CSR "+a.ours.Name+" is approved, but no certificate is issued yet", a.identity.Place.Signer())
		}
		return false, nil
	}
	return false, a.hopeless()
}

// hopeless removes the key of a CSR that cannot lead to a certificate, and
// returns the error. If the CSR was already in that state before this run, the
// error is errRetryCSR once, to continue with a new key.
func (a *asking) hopeless() error {
	if err := a.key.drop(); err != nil {
		return err
	}
	text := fmt.Sprintf("the client CSR %s is %s (%s)", a.ours.Name, a.last.phase, strings.TrimSpace(a.last.detail))
	if a.older && !a.anew {
		a.anew = true
		a.identity.Log.Warn(text+" since an earlier run; a new one is submitted with a new key", "")
		return errAgain
	}
	return report.Fail(report.ApprovalMissing,
		"# find out who did this and why:\noc get csr "+a.ours.Name+" -o yaml # then run join again: it asks anew, with a new key", "%s", text)
}

func (a *asking) pendingText(found *certificatesv1.CertificateSigningRequest) string {
	return fmt.Sprintf("approval of the client CSR %s for %s (key %s, signer %s, asked at %s%s); %s; run %s:",
		a.ours.Name, userOf(a.identity.NodeName), Fingerprint(&a.key.private.PublicKey), a.ours.Spec.SignerName, stamp(found.CreationTimestamp.Time), sinceText(found.CreationTimestamp.Time, a.key.since), a.whoApproves(), a.identity.Place.OnCluster())
}

// unanswered returns the error for a wait that reached its deadline.
func (a *asking) unanswered() error {
	if a.last.phase == approved {
		return report.Fail(report.Failed, a.identity.Place.Signer(), "the client CSR %s was approved, but no certificate was issued in time", a.ours.Name)
	}
	return report.Fail(report.ApprovalMissing, a.approveCommand()+" # "+a.identity.Place.OnCluster()+"; then run join again: it finds the same CSR",
		"nobody approved the client CSR %s in time (key %s)", a.ours.Name, Fingerprint(&a.key.private.PublicKey))
}

func leafOfPEM(content []byte) *x509.Certificate {
	chain, err := certificates(content)
	if err != nil {
		return nil
	}
	return chain[0]
}
