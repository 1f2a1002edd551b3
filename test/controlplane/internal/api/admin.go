// SPDX-License-Identifier: Apache-2.0

package api

import "time"

// Values of Faults.Certificate.
const (
	CertificateValid     = ""           // signed by the user data's CA for the endpoint's name
	CertificateWrongCA   = "wrong-ca"   // the right name, signed by another CA of the same subject
	CertificateWrongName = "wrong-name" // the user data's CA, but another name in the only SAN
	CertificateExpired   = "expired"    // expired an hour ago
)

// Faults describe the simulated faults of the Ignition server. The zero value means none.
type Faults struct {
	// NotReadySeconds is the time for which valid tokens, too, get status 511, as from a server
	// that has not generated the payload yet.
	NotReadySeconds float64 `json:"notReadySeconds"`
	// DownSeconds is the time for which HAProxy's page with status 503 is returned, as by the
	// proxy when its backend is down.
	DownSeconds float64 `json:"downSeconds"`
	// TruncateAfter closes the connection after that many bytes of the payload.
	TruncateAfter int `json:"truncateAfter"`
	// BytesPerSecond limits the transfer rate of the payload. The server's own write timeout of
	// 10 s still applies: a slower payload is truncated, as by the real server.
	BytesPerSecond int `json:"bytesPerSecond"`
	// Certificate is one of the Certificate constants.
	Certificate string `json:"certificate"`
	// DateSkewSeconds is added to the Date header.
	DateSkewSeconds int `json:"dateSkewSeconds"`
}

// State describes the requests that the Ignition server has received, and its settings.
type State struct {
	// Requests counts the requests since the start. Log contains the latest ones.
	Requests int       `json:"requests"`
	Log      []Request `json:"log"`
	// Reached contains the requests that named this NodePool and its hash, and therefore set the
	// NodePool's ReachedIgnitionEndpoint condition.
	Reached []Reached `json:"reached"`
	// TokenGeneration counts the rotations of the token.
	TokenGeneration int `json:"tokenGeneration"`
	// PayloadReplaced reports whether the payload is not the default one.
	PayloadReplaced bool `json:"payloadReplaced"`
	// Faults are the current faults with the remaining seconds.
	Faults Faults `json:"faults"`
	// Network reports whether the stand-in of the network operator is deployed.
	Network bool `json:"network"`
}

// Request is one answered request.
type Request struct {
	Time      time.Time `json:"time"`
	Method    string    `json:"method"`
	Path      string    `json:"path"`
	UserAgent string    `json:"userAgent"`
	Status    int       `json:"status"`
	// Bytes is the number of body bytes that were written. Cut reports whether the response was
	// incomplete.
	Bytes     int  `json:"bytes"`
	Truncated bool `json:"cut"`
}

// Reached is one successful fetch with the required headers.
type Reached struct {
	Time                    time.Time `json:"time"`
	NodePool                string    `json:"nodePool"`
	TargetConfigVersionHash string    `json:"targetConfigVersionHash"`
}

// Network is the body of PUT /network. While the network is not deployed, a node that starts does
// not become Ready, because it has no CNI configuration. A Ready node loses the configuration but
// stays Ready until its CRI-O restarts.
type Network struct {
	Deployed bool `json:"deployed"`
}
