package payload

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// Stub is what a NodePool's user-data Secret holds.
type Stub struct {
	Endpoint string // host, or host:port
	Token    string // in plain text
	NodePool string // "NAMESPACE/NAME"
	Hash     string
	CA       []byte // PEM
}

// The JSON of a stub, field for field and in the order that HyperShift writes.
type (
	stubJSON struct {
		Ignition stubIgnition `json:"ignition"`
	}
	stubIgnition struct {
		Config   stubConfig   `json:"config"`
		Security stubSecurity `json:"security"`
		Version  string       `json:"version"`
	}
	stubConfig struct {
		Merge []stubMerge `json:"merge"`
	}
	stubMerge struct {
		HTTPHeaders []stubHeader `json:"httpHeaders"`
		Source      string       `json:"source"`
	}
	stubHeader struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	stubSecurity struct {
		TLS stubTLS `json:"tls"`
	}
	stubTLS struct {
		CertificateAuthorities []stubAuthority `json:"certificateAuthorities"`
	}
	stubAuthority struct {
		Source string `json:"source"`
	}
)

// Encode writes the stub. Source: hypershift, nodepool/token.go, ignConfig.
func (s Stub) Encode() ([]byte, error) {
	out, err := json.Marshal(stubJSON{Ignition: stubIgnition{
		Config: stubConfig{Merge: []stubMerge{{
			HTTPHeaders: []stubHeader{
				{"Authorization", "Bearer " + base64.StdEncoding.EncodeToString([]byte(s.Token))},
				{"NodePool", s.NodePool},
				{"TargetConfigVersionHash", s.Hash},
			},
			Source: "https://" + s.Endpoint + "/ignition",
		}}},
		Security: stubSecurity{TLS: stubTLS{CertificateAuthorities: []stubAuthority{{
			Source: "data:text/plain;base64," + base64.StdEncoding.EncodeToString(s.CA),
		}}}},
		Version: "3.2.0",
	}})
	if err != nil {
		return nil, fmt.Errorf("encoding the stub: %w", err)
	}
	return out, nil
}
