package api

import "time"

// Values of Faults.Certificate.
const (
	CertificateGood      = ""           // signed by the stub's CA for the endpoint's name
	CertificateWrongCA   = "wrong-ca"   // the right name, signed by another CA of the same subject
	CertificateWrongName = "wrong-name" // the stub's CA, but the only SAN is another name
	CertificateExpired   = "expired"    // was good until an hour ago
)

// Faults is how the ignition server misbehaves. The zero value is none.
type Faults struct {
	// NotReadySeconds answers 511 to valid tokens too, as a server does whose
	// payload is not generated yet.
	NotReadySeconds float64 `json:"notReadySeconds"`
	// DownSeconds answers 503 with HAProxy's page, as the proxy does when the
	// server behind it is away.
	DownSeconds float64 `json:"downSeconds"`
	// TruncateAfter cuts the connection after so many bytes of the payload.
	TruncateAfter int `json:"truncateAfter"`
	// BytesPerSecond slows the payload down. The server's own write timeout of
	// 10 s still holds: a payload that takes longer is cut, as on the real one.
	BytesPerSecond int `json:"bytesPerSecond"`
	// Certificate is one of the Certificate constants.
	Certificate string `json:"certificate"`
	// DateSkewSeconds is added to the Date header.
	DateSkewSeconds int `json:"dateSkewSeconds"`
}

// State is what the ignition server has seen and how it is set now.
type State struct {
	// Requests counts the requests since the start; Log holds the last ones.
	Requests int       `json:"requests"`
	Log      []Request `json:"log"`
	// Reached are the requests that named this NodePool and its hash, and so
	// set the NodePool's ReachedIgnitionEndpoint condition.
	Reached []Reached `json:"reached"`
	// TokenGeneration counts the rotations of the token.
	TokenGeneration int `json:"tokenGeneration"`
	// PayloadReplaced tells that the payload is not the bed's own.
	PayloadReplaced bool `json:"payloadReplaced"`
	// Faults are the ones that are set now, with the seconds that are left.
	Faults Faults `json:"faults"`
	// Network tells whether the network operator's stand-in is deployed.
	Network bool `json:"network"`
}

// Request is one answered request.
type Request struct {
	Time      time.Time `json:"time"`
	Method    string    `json:"method"`
	Path      string    `json:"path"`
	UserAgent string    `json:"userAgent"`
	Status    int       `json:"status"`
	// Bytes of the body that were written. Cut tells that the answer was not
	// sent to its end.
	Bytes int  `json:"bytes"`
	Cut   bool `json:"cut"`
}

// Reached is one successful fetch with the right headers.
type Reached struct {
	Time                    time.Time `json:"time"`
	NodePool                string    `json:"nodePool"`
	TargetConfigVersionHash string    `json:"targetConfigVersionHash"`
}

// Network is the body of PUT /network. A node that starts while nothing is
// deployed does not get Ready, for want of a CNI configuration; one that is
// Ready loses the configuration, but stays so until its CRI-O starts again.
type Network struct {
	Deployed bool `json:"deployed"`
}
