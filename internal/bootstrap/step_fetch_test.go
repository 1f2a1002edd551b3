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

// A payload that is kept counts as long as it can be the one that is asked for:
// a token may be gone by now. A standalone cluster asks for none, and its stub
// does not say of which configuration it is.
func TestKeptPayload(t *testing.T) {
	stub := func(endpoint, pool, hash string) *ignition.Stub {
		stub, err := ignition.NewStub(ignition.Values{Endpoint: endpoint, CA: certtest.NewAuthority(t, "ca").PEM, NodePool: pool, Hash: hash})
		if err != nil {
			t.Fatal(err)
		}
		return stub
	}
	hosted := stub("a.example.com", "clusters/a", "11")
	renewed := func(token string) *ignition.Stub {
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
	ended := State{PayloadOf: "11", PayloadBy: by, Finished: time.Unix(2, 0)}
	const workers = "https://api-int.example.com:22623/config/worker"
	for name, test := range map[string]struct {
		in    inputs
		state State
		kept  bool
	}{
		"no stub":                        {inputs{}, State{PayloadOf: "11"}, true},
		"hosted, the same configuration": {inputs{stub: stub("a.example.com", "clusters/a", "11"), fresh: true}, State{PayloadOf: "11"}, true},
		"hosted, another configuration":  {inputs{stub: stub("a.example.com", "clusters/a", "12"), fresh: true}, State{PayloadOf: "11"}, false},
		"hosted, joined with it":         {inputs{stub: renewed(uuid), fresh: true}, ended, true},
		"hosted, joined, another token":  {inputs{stub: renewed(strings.ToUpper(uuid)), fresh: true}, ended, false},
		"the same, after an interrupt":   {inputs{stub: renewed(strings.ToUpper(uuid))}, ended, false},
		"joined, no stub":                {inputs{fresh: true}, ended, true},
		"unfinished, another token":      {inputs{stub: renewed(strings.ToUpper(uuid)), fresh: true}, State{PayloadOf: "11", PayloadBy: by}, true},
		"standalone, goes on":            {inputs{stub: stub(workers, "", "")}, State{}, true},
		"standalone, given again":        {inputs{stub: stub(workers, "", ""), fresh: true}, State{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			j := &join{dir: t.TempDir(), inputs: test.in, state: test.state}
			if err := keep(j.dir, payloadFile, []byte(`{"ignition":{"version":"3.2.0"}}`)); err != nil {
				t.Fatal(err)
			}
			if payload, err := j.keptPayload(); err != nil || (payload != nil) != test.kept {
				t.Errorf("kept %v, %v", payload, err)
			}
		})
	}
}

// A stub that leads nowhere stays for an unfinished join, which waits for the
// server; a host that has joined goes on with what it has.
func TestStubThatLeadsNowhere(t *testing.T) {
	for name, test := range map[string]struct {
		state State
		left  bool
	}{
		"unfinished": {State{Hosted: true}, true},
		"joined":     {State{Hosted: true, Finished: time.Unix(2, 0)}, false},
	} {
		stub, err := ignition.NewStub(ignition.Values{Endpoint: "127.0.0.1:1", CA: certtest.NewAuthority(t, "ca").PEM, NodePool: "clusters/a", Hash: "11", Token: []byte(uuid)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		j := &join{dir: t.TempDir(), inputs: inputs{stub: stub, fresh: true}, state: test.state}
		if err := keep(j.dir, stubFile, []byte("stub")); err != nil {
			t.Fatal(err)
		}
		if _, err := fetch(ctx, j, report.Log{}); err == nil {
			t.Errorf("%s: nobody serves a payload there", name)
		}
		if left, err := read(j.dir, stubFile); err != nil || (left != nil) != test.left {
			t.Errorf("%s: the stub is there: %v, %v", name, left != nil, err)
		}
	}
}

// What leads to a standalone cluster's configuration stays, so that a later join
// gets what it is by then; a token does not.
func TestFinishKeepsTheStubOfAStandaloneCluster(t *testing.T) {
	for token, kept := range map[string]bool{"": true, uuid: false} {
		stub, err := ignition.NewStub(ignition.Values{Endpoint: "api-int.example.com:22623", CA: certtest.NewAuthority(t, "ca").PEM, Token: []byte(token)})
		if err != nil {
			t.Fatal(err)
		}
		var story events
		j := &join{dir: t.TempDir(), sink: &story, state: State{Started: time.Unix(1, 0)}, inputs: inputs{stub: stub}}
		if err := keep(j.dir, stubFile, []byte("stub")); err != nil {
			t.Fatal(err)
		}
		if err := j.finish(true); err != nil {
			t.Fatal(err)
		}
		if left, err := read(j.dir, stubFile); err != nil || (left != nil) != kept {
			t.Errorf("with token %q: kept %q, %v", token, left, err)
		}
	}
}

// A stub that this run was given is told from one that an earlier run has kept.
func TestWhichStubIsFresh(t *testing.T) {
	begun := State{Started: time.Unix(1, 0)}
	ended := State{Started: time.Unix(1, 0), Finished: time.Unix(2, 0)}
	given := config.Join{Endpoint: "https://api-int.example.com:22623/config/worker", CAFile: file(t, certtest.NewAuthority(t, "ca").PEM)}
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
		in, err := readInputs(test.config, test.state, t.TempDir(), test.resume, nil)
		if err != nil || in.fresh != test.fresh {
			t.Errorf("%s: fresh is %t, %v", name, in.fresh, err)
		}
	}
}
