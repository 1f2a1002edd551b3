package bootstrap

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// A saved payload is used as long as it can be the required one, because the token
// may have expired. The server of a standalone cluster requires no token, and its
// user data does not identify a configuration.
func TestSavedPayload(t *testing.T) {
	stub := func(endpoint, pool, hash string) *ignition.UserData {
		stub, err := ignition.NewUserData(ignition.Values{Endpoint: endpoint, CA: certtest.NewCA(t, "ca").PEM, NodePool: pool, Hash: hash})
		if err != nil {
			t.Fatal(err)
		}
		return stub
	}
	hosted := stub("a.example.com", "clusters/a", "11")
	renewed := func(token string) *ignition.UserData {
		stub, err := hosted.Override(ignition.Values{Token: []byte(token)})
		if err != nil {
			t.Fatal(err)
		}
		return stub
	}
	by, err := renewed(uuid).Digest()
	if err != nil {
		t.Fatal(err)
	}
	ended := State{PayloadConfigHash: "11", PayloadSourceDigest: by, Finished: time.Unix(2, 0)}
	const workers = "https://api-int.example.com:22623/config/worker"
	for name, test := range map[string]struct {
		in    Inputs
		state State
		kept  bool
	}{
		"no stub":                        {Inputs{}, State{PayloadConfigHash: "11"}, true},
		"hosted, the same configuration": {Inputs{UserData: stub("a.example.com", "clusters/a", "11"), NewUserData: true}, State{PayloadConfigHash: "11"}, true},
		"hosted, another configuration":  {Inputs{UserData: stub("a.example.com", "clusters/a", "12"), NewUserData: true}, State{PayloadConfigHash: "11"}, false},
		"hosted, joined with it":         {Inputs{UserData: renewed(uuid), NewUserData: true}, ended, true},
		"hosted, joined, another token":  {Inputs{UserData: renewed(strings.ToUpper(uuid)), NewUserData: true}, ended, false},
		"the same, after an interrupt":   {Inputs{UserData: renewed(strings.ToUpper(uuid))}, ended, false},
		"joined, no stub":                {Inputs{NewUserData: true}, ended, true},
		"unfinished, another token":      {Inputs{UserData: renewed(strings.ToUpper(uuid)), NewUserData: true}, State{PayloadConfigHash: "11", PayloadSourceDigest: by}, true},
		"standalone, goes on":            {Inputs{UserData: stub(workers, "", "")}, State{}, true},
		"standalone, given again":        {Inputs{UserData: stub(workers, "", ""), NewUserData: true}, State{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			j := &Builder{Dir: t.TempDir(), Inputs: test.in, State: test.state}
			if err := SaveFile(j.Dir, PayloadFile, []byte(`{"ignition":{"version":"3.2.0"}}`)); err != nil {
				t.Fatal(err)
			}
			if payload, err := j.SavedPayload(); err != nil || (payload != nil) != test.kept {
				t.Errorf("kept %v, %v", payload, err)
			}
		})
	}
}

// An unfinished join keeps user data that fails, because it waits for the server. A
// host that has joined continues with its saved payload.
func TestFailedUserDataIsRemovedAfterAJoin(t *testing.T) {
	for name, test := range map[string]struct {
		state State
		left  bool
	}{
		"unfinished": {State{Hosted: true}, true},
		"joined":     {State{Hosted: true, Finished: time.Unix(2, 0)}, false},
	} {
		stub, err := ignition.NewUserData(ignition.Values{Endpoint: "127.0.0.1:1", CA: certtest.NewCA(t, "ca").PEM, NodePool: "clusters/a", Hash: "11", Token: []byte(uuid)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		j := &Builder{Dir: t.TempDir(), Inputs: Inputs{UserData: stub, NewUserData: true}, State: test.state}
		if err := SaveFile(j.Dir, UserDataFile, []byte("stub")); err != nil {
			t.Fatal(err)
		}
		if _, err := fetchPayload(ctx, &join{Builder: j}, report.Log{}); err == nil {
			t.Errorf("%s: nobody serves a payload there", name)
		}
		if left, err := LoadFile(j.Dir, UserDataFile); err != nil || (left != nil) != test.left {
			t.Errorf("%s: the stub is there: %v, %v", name, left != nil, err)
		}
	}
}

// User data of a standalone cluster is kept, so that a later join gets the current
// configuration. User data with a token is removed.
func TestFinishKeepsUserDataOfAStandaloneCluster(t *testing.T) {
	for token, kept := range map[string]bool{"": true, uuid: false} {
		stub, err := ignition.NewUserData(ignition.Values{Endpoint: "api-int.example.com:22623", CA: certtest.NewCA(t, "ca").PEM, Token: []byte(token)})
		if err != nil {
			t.Fatal(err)
		}
		var story events
		j := &Builder{Dir: t.TempDir(), Sink: &story, State: State{Started: time.Unix(1, 0)}, Inputs: Inputs{UserData: stub}}
		if err := SaveFile(j.Dir, UserDataFile, []byte("stub")); err != nil {
			t.Fatal(err)
		}
		if err := (&join{Builder: j}).finish(true); err != nil {
			t.Fatal(err)
		}
		if left, err := LoadFile(j.Dir, UserDataFile); err != nil || (left != nil) != kept {
			t.Errorf("with token %q: kept %q, %v", token, left, err)
		}
	}
}

// User data that is given in this run differs from that of an earlier run.
func TestWhichUserDataIsNew(t *testing.T) {
	begun := State{Started: time.Unix(1, 0)}
	ended := State{Started: time.Unix(1, 0), Finished: time.Unix(2, 0)}
	given := config.Join{Endpoint: "https://api-int.example.com:22623/config/worker", CAFile: writeTempFile(t, certtest.NewCA(t, "ca").PEM)}
	for name, test := range map[string]struct {
		config config.Join
		state  State
		resume bool
		fresh  bool
	}{
		"given":          {given, begun, false, true},
		"resumed":        {given, begun, true, false},
		"goes on":        {config.Join{}, begun, false, false},
		"again, later":   {config.Join{}, ended, false, true},
		"resumed, later": {given, ended, true, false},
	} {
		in, err := ReadInputs(test.config, test.state, t.TempDir(), test.resume, nil)
		if err != nil || in.NewUserData != test.fresh {
			t.Errorf("%s: fresh is %t, %v", name, in.NewUserData, err)
		}
	}
}
