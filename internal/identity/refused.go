package identity

import (
	"crypto/x509"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// explainRejection returns err with an explanation if the API server rejected the
// bootstrap credential.
func (a *csrRequester) explainRejection(err error) error {
	fresh := a.identity.Topology.newCredentialRemedy()
	anonymous := apierrors.IsForbidden(err) && strings.Contains(err.Error(), "system:anonymous")
	switch now := a.conn.Clock.Now(); {
	case !apierrors.IsUnauthorized(err) && !apierrors.IsForbidden(err):
		return err
	case a.bootstrapCertificate != nil && now.After(a.bootstrapCertificate.NotAfter):
		return report.Fail(report.CredentialRefused, fresh, "the bootstrap credential expired at %s; the API server's clock says %s%s: %w",
			report.Timestamp(a.bootstrapCertificate.NotAfter), report.Timestamp(now), a.conn.Clock.SkewNote(time.Now()), err)
	case a.bootstrapCertificate != nil && now.Before(a.bootstrapCertificate.NotBefore):
		return report.Fail(report.CredentialRefused, fresh, "the bootstrap credential is valid from %s on; the API server's clock says %s%s: %w",
			report.Timestamp(a.bootstrapCertificate.NotBefore), report.Timestamp(now), a.conn.Clock.SkewNote(time.Now()), err)
	case apierrors.IsUnauthorized(err), anonymous:
		return report.Fail(report.CredentialRefused, fresh, "the API server does not accept the bootstrap credential%s: %w", describeCredential(a.bootstrapCertificate), err)
	}
	return report.Fail(report.CredentialRefused,
		"oc create clusterrolebinding create-csrs-for-bootstrapping --clusterrole=system:node-bootstrapper --serviceaccount=openshift-machine-config-operator:node-bootstrapper",
		"the bootstrap credential may not ask for certificates: %w", err)
}

func describeCredential(certificate *x509.Certificate) string {
	if certificate == nil {
		return ""
	}
	return fmt.Sprintf(" (issued by %q, valid until %s): its signer was replaced, or it is another cluster's", certificate.Issuer, report.Timestamp(certificate.NotAfter))
}
