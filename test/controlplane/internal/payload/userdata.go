// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// UserData is the content of a NodePool's user-data Secret.
type UserData struct {
	Endpoint string // host, or host:port
	Token    string // in plain text
	NodePool string // "NAMESPACE/NAME"
	Hash     string
	CA       []byte // PEM
}

// The JSON structure of user data, with the fields and in the order that HyperShift writes.
type (
	userDataJSON struct {
		Ignition userDataIgnition `json:"ignition"`
	}
	userDataIgnition struct {
		Config   userDataConfig   `json:"config"`
		Security userDataSecurity `json:"security"`
		Version  string           `json:"version"`
	}
	userDataConfig struct {
		Merge []userDataMerge `json:"merge"`
	}
	userDataMerge struct {
		HTTPHeaders []userDataHeader `json:"httpHeaders"`
		Source      string           `json:"source"`
	}
	userDataHeader struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	userDataSecurity struct {
		TLS userDataTLS `json:"tls"`
	}
	userDataTLS struct {
		CertificateAuthorities []userDataCA `json:"certificateAuthorities"`
	}
	userDataCA struct {
		Source string `json:"source"`
	}
)

// Encode returns the user data as JSON. Source: hypershift, nodepool/token.go, ignConfig.
func (s UserData) Encode() ([]byte, error) {
	out, err := json.Marshal(userDataJSON{Ignition: userDataIgnition{
		Config: userDataConfig{Merge: []userDataMerge{{
			HTTPHeaders: []userDataHeader{
				{"Authorization", "Bearer " + base64.StdEncoding.EncodeToString([]byte(s.Token))},
				{"NodePool", s.NodePool},
				{"TargetConfigVersionHash", s.Hash},
			},
			Source: "https://" + s.Endpoint + "/ignition",
		}}},
		Security: userDataSecurity{TLS: userDataTLS{CertificateAuthorities: []userDataCA{{
			Source: "data:text/plain;base64," + base64.StdEncoding.EncodeToString(s.CA),
		}}}},
		Version: "3.2.0",
	}})
	if err != nil {
		return nil, fmt.Errorf("encoding the user data: %w", err)
	}
	return out, nil
}
