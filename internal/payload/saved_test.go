// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// A saved payload is used as long as it can be the required one, because the token
// may have expired. The server of a standalone cluster requires no token, and its
// user data does not identify a configuration.
func TestSaved(t *testing.T) {
	userData := func(endpoint, pool, hash string) *ignition.UserData {
		userData, err := ignition.NewUserData(ignition.Values{
			Endpoint: endpoint,
			CA:       certtest.NewCA(t, "ca").PEM,
			NodePool: pool,
			Hash:     hash,
		})
		if err != nil {
			t.Fatal(err)
		}
		return userData
	}
	hosted := userData("a.example.com", "clusters/a", "11")
	renewed := func(token string) *ignition.UserData {
		userData, err := hosted.Override(ignition.Values{Token: []byte(token)})
		if err != nil {
			t.Fatal(err)
		}
		return userData
	}
	by, err := renewed(flowtest.UUID).Digest()
	if err != nil {
		t.Fatal(err)
	}
	ended := joinstate.State{PayloadConfigHash: "11", PayloadSourceDigest: by, Finished: time.Unix(2, 0)}
	const workers = "https://api-int.example.com:22623/config/worker"
	for name, test := range map[string]struct {
		in    request.Request
		state joinstate.State
		kept  bool
		needs bool // the bootstrap credential
	}{
		"no user data": {request.Request{}, joinstate.State{PayloadConfigHash: "11"}, true, false},
		"hosted, the same configuration": {
			request.Request{UserData: userData("a.example.com", "clusters/a", "11"), NewUserData: true},
			joinstate.State{PayloadConfigHash: "11"},
			true, false,
		},
		"hosted, another configuration": {
			request.Request{UserData: userData("a.example.com", "clusters/a", "12"), NewUserData: true},
			joinstate.State{PayloadConfigHash: "11"},
			false, false,
		},
		"hosted, joined with it": {request.Request{UserData: renewed(flowtest.UUID), NewUserData: true}, ended, true, false},
		"hosted, joined with it, and the certificate is lost": {
			request.Request{UserData: renewed(flowtest.UUID), NewUserData: true}, ended, false, true,
		},
		"joined, no user data, and the certificate is lost": {request.Request{NewUserData: true}, ended, true, true},
		"hosted, joined, another token": {
			request.Request{UserData: renewed(strings.ToUpper(flowtest.UUID)), NewUserData: true}, ended, false, false,
		},
		"the same, after an interrupt": {
			request.Request{UserData: renewed(strings.ToUpper(flowtest.UUID))}, ended, false, false,
		},
		"joined, no user data": {request.Request{NewUserData: true}, ended, true, false},
		"unfinished, another token": {
			request.Request{UserData: renewed(strings.ToUpper(flowtest.UUID)), NewUserData: true},
			joinstate.State{PayloadConfigHash: "11", PayloadSourceDigest: by},
			true, false,
		},
		"standalone, resumed": {request.Request{UserData: userData(workers, "", "")}, joinstate.State{}, true, false},
		"standalone, given again": {
			request.Request{UserData: userData(workers, "", ""), NewUserData: true}, joinstate.State{}, false, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			saved := Saved{Dir: t.TempDir(), Request: test.in, State: test.state, NeedsCredential: test.needs}
			if err := joinstate.SaveFile(saved.Dir, joinstate.PayloadFile,
				[]byte(`{"ignition":{"version":"3.2.0"}}`)); err != nil {
				t.Fatal(err)
			}
			if payload, err := saved.Get(t.Context(), report.Log{}); err != nil || (payload != nil) != test.kept {
				t.Errorf("kept %v, %v", payload, err)
			}
		})
	}
}
