// SPDX-License-Identifier: Apache-2.0

package config

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestCheckHostPort(t *testing.T) {
	for peer, want := range map[string]string{
		"bastion:22": "", "bastion.example.com:443": "", "db_1.example.com.:1": "", "192.0.2.1:65535": "",
		"[2001:db8::1]:443": "", "[fe80::1%eth0]:22": "",
		"bastion": "must be HOST:PORT", "": "must be HOST:PORT", "2001:db8::1:443": "must be HOST:PORT",
		"https://a.example.com:443": "must be HOST:PORT",
		":22":                       "neither an IP address nor", "a b:22": "neither an IP address nor",
		"-a:22": "neither an IP address nor", "a..b:22": "neither an IP address nor", "a/b:22": "neither an IP address nor",
		"a:0": "port must be a number", "a:65536": "port must be a number", "a:": "port must be a number",
		"a:ssh": "port must be a number", "a:-1": "port must be a number",
	} {
		err := checkHostPort(peer)
		if (err == nil) != (want == "") || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", peer, err, want)
		}
	}
}

// The network settings come from file, environment and flags. A list of a later source
// replaces an earlier one.
func TestNetworkSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	write(t, file, fileHeader+"verifyReach: [file:22]\nnetworkTimeout: 2m\n")
	environment := []string{"HCP_NODE_AGENT_VERIFY_REACH=a:22,b:22", "HCP_NODE_AGENT_NETWORK_TIMEOUT=3m"}
	for name, test := range map[string]struct {
		environment []string
		args        []string
		peers       []string
		timeout     time.Duration
	}{
		"file":        {nil, nil, []string{"file:22"}, 2 * time.Minute},
		"environment": {environment, nil, []string{"a:22", "b:22"}, 3 * time.Minute},
		"flags": {
			environment,
			[]string{"--verify-reach", "c:1", "--verify-reach", "d:2", "--network-timeout", "30s"},
			[]string{"c:1", "d:2"},
			30 * time.Second,
		},
	} {
		join, err := Load(Source{File: file, Environment: test.environment, Flags: parsedFlags(t, test.args...)})
		if err != nil || !slices.Equal(join.RequiredEndpoints, test.peers) ||
			time.Duration(join.NetworkTimeout) != test.timeout {
			t.Errorf("%s: %v, %s, %v", name, join.RequiredEndpoints, time.Duration(join.NetworkTimeout), err)
		}
	}
}
