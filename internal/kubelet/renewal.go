package kubelet

import (
	"context"
	"crypto/x509"
	"fmt"
	"path/filepath"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Renewal describes the renewal of a certificate. It is empty if nothing needs
// attention. kubelet requests the next certificate between 70 and 90 percent of
// a certificate's lifetime (nextRotationDeadline in
// k8s.io/client-go/util/certificate).
type Renewal struct {
	CSR    string // a CSR that waits for approval; "" if there is none
	Text   string // "" if nothing needs attention
	Remedy string
}

// Fractions of a certificate's lifetime.
const (
	mayAsk     = 0.7
	shouldHave = 0.9
)

// lived returns the elapsed fraction of a certificate's lifetime. It exceeds 1
// after the expiry.
func lived(from, until, now time.Time) float64 {
	return float64(now.Sub(from)) / float64(until.Sub(from))
}

// Renewal checks the renewal of the client certificate. On a hosted cluster the
// controller manager approves its CSR automatically, so only an overdue renewal
// is reported. It reads only local files.
func (i *Identity) Renewal(now time.Time) Renewal {
	leaf := leafOf(i.current())
	if leaf == nil || lived(leaf.NotBefore, leaf.NotAfter, now) < shouldHave {
		return Renewal{}
	}
	return overdue("client", leaf, "the Node "+i.NodeName+" is lost to the cluster then")
}

// Renewal checks the renewal of the serving certificate. On platform None no
// controller approves its CSR, and the current certificate still works, so a
// pending CSR is easily overlooked. The API server is queried only if kubelet
// may already have submitted the CSR.
func (s *Serving) Renewal(ctx context.Context) (Renewal, error) {
	leaf := leafOf(filepath.Join(s.Dir, "kubelet-server-current.pem"))
	if leaf == nil || lived(leaf.NotBefore, leaf.NotAfter, time.Now()) < mayAsk {
		return Renewal{}, nil
	}
	found, err := s.asked(ctx)
	if err != nil {
		return Renewal{}, err
	}
	return s.renewal(leaf, found, time.Now()), nil
}

// asked lists the serving CSRs of this node.
func (s *Serving) asked(ctx context.Context) (found map[string]*certificatesv1.CertificateSigningRequest, err error) {
	err = s.api.persist(ctx, s.Log, "looking for the CSR of the next serving certificate", func(ctx context.Context) (err error) {
		found, _, err = s.source().all(ctx)
		return err
	})
	return found, err
}

// First describes what a node without a valid serving certificate waits for. It
// is empty if the certificate is valid.
func (s *Serving) First(ctx context.Context) (Renewal, error) {
	if s.Check() == Valid {
		return Renewal{}, nil
	}
	found, err := s.asked(ctx)
	if err != nil {
		return Renewal{}, err
	}
	return s.first(found), nil
}

func (s *Serving) first(found map[string]*certificatesv1.CertificateSigningRequest) Renewal {
	choice := s.choose(found)
	switch csr := choice.csr; {
	case csr != nil && len(csr.Status.Conditions) == 0:
		return Renewal{CSR: csr.Name, Text: "it waits for " + servingText(csr, s.Place), Remedy: "oc adm certificate approve " + csr.Name}
	case csr != nil:
		condition := csr.Status.Conditions[0]
		return Renewal{
			Text:   fmt.Sprintf("its CSR %s is %s (%s: %s), and kubelet has not got a certificate by it", csr.Name, condition.Type, condition.Reason, condition.Message),
			Remedy: "systemctl restart kubelet # makes it ask anew",
		}
	case choice.misfit != nil:
		return Renewal{Text: choice.misfit.text, Remedy: choice.misfit.remedy}
	}
	return Renewal{Text: unasked, Remedy: "journalctl -b -u kubelet"}
}

// renewal returns the status of the renewal, from the current certificate leaf
// and the CSRs.
func (s *Serving) renewal(leaf *x509.Certificate, found map[string]*certificatesv1.CertificateSigningRequest, now time.Time) Renewal {
	choice := s.choose(found)
	switch csr := choice.csr; {
	case csr != nil && len(csr.Status.Conditions) == 0:
		return Renewal{
			CSR:    csr.Name,
			Text:   "kubelet's serving certificate ends at " + stamp(leaf.NotAfter) + "; the next one waits for " + servingText(csr, s.Place),
			Remedy: "oc adm certificate approve " + csr.Name,
		}
	case choice.misfit != nil:
		return Renewal{Text: "kubelet's serving certificate ends at " + stamp(leaf.NotAfter) + "; " + choice.misfit.text, Remedy: choice.misfit.remedy}
	case lived(leaf.NotBefore, leaf.NotAfter, now) >= shouldHave:
		return overdue("serving", leaf, "logs, exec and metrics of this node fail then")
	}
	return Renewal{}
}

func overdue(kind string, leaf *x509.Certificate, then string) Renewal {
	return Renewal{
		Text:   fmt.Sprintf("kubelet's %s certificate ends at %s, and kubelet has not got the next one; %s", kind, stamp(leaf.NotAfter), then),
		Remedy: "oc get csr; journalctl -u kubelet -b | grep -i certificate",
	}
}

// renew logs a renewal that needs attention, or passes its CSR to approve. The
// current certificate is still valid, so neither is an error.
func (s *Serving) renew(ctx context.Context, approve Approver) error {
	renewal, err := s.Renewal(ctx)
	switch {
	case err != nil:
		s.Log.Warn("kubelet's serving certificate is near its end, and nobody could be asked about the next one: "+err.Error(), report.RemedyOf(err))
	case renewal.CSR != "" && approve != nil:
		return approve(ctx, Request{Name: renewal.CSR})
	case renewal.Text != "":
		s.Log.Warn(renewal.Text, renewal.Remedy)
	}
	return nil
}
