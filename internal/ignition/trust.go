package ignition

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/wire"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// explainTLS tells why the server is not trusted, nil when err is of another
// kind. What does not mend itself is not tried again.
func explainTLS(stub *Stub, err error) *refusal {
	var unverified *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var operation *net.OpError
	switch {
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &record):
		return &refusal{
			code: report.Refused, cause: err,
			what:   fmt.Sprintf("port %s does not speak TLS", portOf(stub)),
			remedy: "# check host and port of the endpoint:\n" + stub.whereEndpoint(),
		}
	case errors.As(err, &unverified):
		return explainCertificate(stub, unverified)
	case errors.As(err, &operation) && operation.Op == "remote error": // how crypto/tls calls an alert of the other side
		no := &refusal{
			code: report.Refused, cause: err,
			what:   fmt.Sprintf("it refuses the TLS handshake: %s", operation.Err),
			remedy: fmt.Sprintf("# check with:\nopenssl s_client -connect %s -servername %s </dev/null", dialledHost(stub, ""), stub.Source.Hostname()),
		}
		if !stub.standalone() {
			no.remedy = "# a Route is found by name, so the endpoint must be given by name and not by address\n" + no.remedy
		}
		return no
	}
	return nil
}

func explainCertificate(stub *Stub, unverified *tls.CertificateVerificationError) *refusal {
	no := &refusal{code: report.Refused, cause: unverified, what: "its certificate cannot be verified: " + unverified.Err.Error()}
	if len(unverified.UnverifiedCertificates) == 0 {
		return no
	}
	shown := unverified.UnverifiedCertificates[0]
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(unverified.Err, &unknown):
		no.what, no.remedy = unknownIssuer(stub, shown)
	case errors.As(unverified.Err, &name):
		no.what, no.remedy = wrongName(stub, shown)
	case errors.As(unverified.Err, &invalid) && invalid.Reason == x509.Expired:
		if invalid.Cert != nil {
			shown = invalid.Cert
		}
		no.what, no.remedy = outOfTime(stub, shown, time.Now())
	}
	return no
}

// unknownIssuer tells the CA of another cluster from somebody in between.
func unknownIssuer(stub *Stub, shown *x509.Certificate) (what, remedy string) {
	issuer, expected := shown.Issuer.String(), subjects(stub)
	for _, subject := range expected {
		if subject == issuer && stub.standalone() {
			return fmt.Sprintf("its certificate is signed by another CA that is also called %q: the CA that was given is of another cluster, is not the one that signs the machine-config server (the API server has others), or was replaced", issuer),
				getWorkerStub
		}
		if subject == issuer {
			return fmt.Sprintf("its certificate is signed by another CA that is also called %q: the stub is of another hosted cluster, or older than the cluster's CA", issuer),
				"# get a stub of this hosted cluster, from the management cluster:\n" + poolOf(stub).freshStub()
		}
	}
	if strings.HasPrefix(shown.Issuer.CommonName, "ingress-operator@") && !stub.standalone() {
		return fmt.Sprintf("the default router of the management cluster answers in its place (certificate for %s): there is no Route for %s", wire.Names(shown), stub.Source.Hostname()),
			"# check the endpoint:\n" + getEndpoint
	}
	if stub.standalone() {
		return fmt.Sprintf("its certificate is signed by %q and not by the CA %q that was given: a proxy that opens TLS stands in between, or it is another server", issuer, strings.Join(expected, ", ")),
			fmt.Sprintf("# let connections to %s through unopened\n%s", dialledHost(stub, ""), getWorkerStub)
	}
	return fmt.Sprintf("its certificate is signed by %q and not by the stub's CA %q: a proxy that opens TLS stands in between, or it is another server", issuer, strings.Join(expected, ", ")),
		fmt.Sprintf("# let connections to %s through unopened; the payload holds credentials of the cluster", dialledHost(stub, ""))
}

func wrongName(stub *Stub, shown *x509.Certificate) (what, remedy string) {
	return fmt.Sprintf("its certificate is for %s and not for %s", wire.Names(shown), stub.Source.Hostname()),
		fmt.Sprintf("# if it is the right server, give it the name of its certificate and say where it is:\n# --endpoint https://%s%s --connect-to %s",
			net.JoinHostPort(firstName(shown), portOf(stub)), stub.Source.Path, dialledHost(stub, ""))
}

// outOfTime tells a certificate out of its time.
func outOfTime(stub *Stub, shown *x509.Certificate, now time.Time) (what, remedy string) {
	what, remedy = wire.OutOfTime(shown, now)
	switch {
	case !now.After(shown.NotAfter):
	case stub.standalone():
		remedy += "\n# if it is right, the cluster has not renewed the certificate:\noc -n openshift-machine-config-operator get secret machine-config-server-tls"
	default:
		remedy += "\n# if it is right, the cluster has not renewed the certificate: look for the annotation hypershift.openshift.io/disable-pki-reconciliation on the HostedCluster"
	}
	return what, remedy
}

func firstName(shown *x509.Certificate) string {
	first, _, _ := strings.Cut(wire.Names(shown), ",")
	return first
}

// subjects are the names of the stub's CAs.
func subjects(stub *Stub) []string {
	var list []string
	for _, rest := range stub.CAs {
		for {
			var block *pem.Block
			if block, rest = pem.Decode(rest); block == nil {
				break
			}
			if ca, err := x509.ParseCertificate(block.Bytes); err == nil {
				list = append(list, ca.Subject.String())
			}
		}
	}
	return list
}
