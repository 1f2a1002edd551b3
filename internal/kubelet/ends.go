package kubelet

import "time"

// CertificateEnd is the expiry of one of kubelet's certificates.
type CertificateEnd struct {
	Name string // "client" or "serving"
	At   time.Time
}

// CertificateEnds returns when kubelet's existing certificates expire.
func CertificateEnds(dir string) []CertificateEnd {
	var ends []CertificateEnd
	for _, one := range []struct{ name, file string }{{"client", ClientCertificate(dir)}, {"serving", ServingCertificate(dir)}} {
		if leaf := leafOf(one.file); leaf != nil {
			ends = append(ends, CertificateEnd{Name: one.name, At: leaf.NotAfter})
		}
	}
	return ends
}
