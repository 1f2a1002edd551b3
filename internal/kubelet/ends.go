package kubelet

import "time"

// CertificateEnd is when one of kubelet's certificates ends.
type CertificateEnd struct {
	Name string // client or serving
	At   time.Time
}

// CertificateEnds tells when kubelet's certificates end, those that are there.
func CertificateEnds(dir string) []CertificateEnd {
	var ends []CertificateEnd
	for _, one := range []struct{ name, file string }{{"client", ClientCertificate(dir)}, {"serving", ServingCertificate(dir)}} {
		if leaf := leafOf(one.file); leaf != nil {
			ends = append(ends, CertificateEnd{Name: one.name, At: leaf.NotAfter})
		}
	}
	return ends
}
