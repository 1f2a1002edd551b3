package identity

import "time"

// CertificateExpiry is the expiry of one of kubelet's certificates.
type CertificateExpiry struct {
	Name     string // "client" or "serving"
	NotAfter time.Time
}

// CertificateExpiries returns when kubelet's existing certificates expire.
func CertificateExpiries(dir string) []CertificateExpiry {
	var ends []CertificateExpiry
	for _, one := range []struct{ name, file string }{{"client", ClientCertificatePath(dir)}, {"serving", ServingCertificatePath(dir)}} {
		if leaf := readLeaf(one.file); leaf != nil {
			ends = append(ends, CertificateExpiry{Name: one.name, NotAfter: leaf.NotAfter})
		}
	}
	return ends
}
