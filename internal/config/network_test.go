package config

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestCheckHostPort(t *testing.T) {
	for peer, want := range map[string]string{
		"bastion:22": "", "bastion.example.com:443": "", "db_1.example.com.:1": "", "192.0.2.1:65535": "", "[2001:db8::1]:443": "", "[fe80::1%eth0]:22": "",
		"bastion": "not HOST:PORT", "": "not HOST:PORT", "2001:db8::1:443": "not HOST:PORT", "https://a.example.com:443": "not HOST:PORT",
		":22": "neither an IP address nor", "a b:22": "neither an IP address nor", "-a:22": "neither an IP address nor", "a..b:22": "neither an IP address nor", "a/b:22": "neither an IP address nor",
		"a:0": "port is not a number", "a:65536": "port is not a number", "a:": "port is not a number", "a:ssh": "port is not a number", "a:-1": "port is not a number",
	} {
		err := checkHostPort(peer)
		if (err == nil) != (want == "") || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", peer, err, want)
		}
	}
}

func TestNetworkTimeout(t *testing.T) {
	for timeout, good := range map[time.Duration]bool{
		30 * time.Second: true, 90 * time.Second: true, 10 * time.Minute: true,
		0: false, 30*time.Second - 1: false, 10*time.Minute + 1: false, -time.Minute: false,
	} {
		join := Defaults()
		join.NetworkTimeout = Duration(timeout)
		if wrong := join.validate(); (len(wrong) == 0) != good {
			t.Errorf("%s: %v", timeout, wrong)
		}
	}
}

// The network settings come from file, environment and flags. A list of a later source
// replaces an earlier one.
func TestNetworkSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	write(t, file, fileHeader+"verifyReach: [file:22]\nnetworkTimeout: 2m\n")
	environment := map[string]string{"HCP_NODE_AGENT_VERIFY_REACH": "a:22,b:22", "HCP_NODE_AGENT_NETWORK_TIMEOUT": "3m"}
	lookup := func(name string) (string, bool) { v, ok := environment[name]; return v, ok }
	none := func(string) (string, bool) { return "", false }
	for name, test := range map[string]struct {
		lookup  func(string) (string, bool)
		args    []string
		peers   []string
		timeout time.Duration
	}{
		"file":        {none, nil, []string{"file:22"}, 2 * time.Minute},
		"environment": {lookup, nil, []string{"a:22", "b:22"}, 3 * time.Minute},
		"flags":       {lookup, []string{"--verify-reach", "c:1", "--verify-reach", "d:2", "--network-timeout", "30s"}, []string{"c:1", "d:2"}, 30 * time.Second},
	} {
		join, err := Load(Source{File: file, Lookup: test.lookup, Flags: parsedFlags(t, test.args...)})
		if err != nil || !slices.Equal(join.RequiredEndpoints, test.peers) || time.Duration(join.NetworkTimeout) != test.timeout {
			t.Errorf("%s: %v, %s, %v", name, join.RequiredEndpoints, time.Duration(join.NetworkTimeout), err)
		}
	}
	_, err := Load(Source{File: file, Lookup: none, Flags: parsedFlags(t, "--verify-reach", "bastion")})
	if report.CodeOf(err) != report.Usage {
		t.Errorf("a peer without a port: %v", err)
	}
}
