package bootstrap

import (
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
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
	const workers = "https://api-int.example.com:22623/config/worker"
	for name, test := range map[string]struct {
		in   inputs
		of   string
		kept bool
	}{
		"no stub":                        {inputs{}, "11", true},
		"hosted, the same configuration": {inputs{stub: stub("a.example.com", "clusters/a", "11"), fresh: true}, "11", true},
		"hosted, another configuration":  {inputs{stub: stub("a.example.com", "clusters/a", "12"), fresh: true}, "11", false},
		"standalone, goes on":            {inputs{stub: stub(workers, "", "")}, "", true},
		"standalone, given again":        {inputs{stub: stub(workers, "", ""), fresh: true}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			j := &join{dir: t.TempDir(), inputs: test.in, state: State{PayloadOf: test.of}}
			if err := keep(j.dir, payloadFile, []byte(`{"ignition":{"version":"3.2.0"}}`)); err != nil {
				t.Fatal(err)
			}
			if payload, err := j.keptPayload(); err != nil || (payload != nil) != test.kept {
				t.Errorf("kept %v, %v", payload, err)
			}
		})
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
