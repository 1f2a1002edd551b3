// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/nmprofile"
	"github.com/hcp-node-agent/hcp-node-agent/test/nmtest"
)

// If a second default route is better than the static one, br-ex's routes must
// become better before the NIC loses its own.
func TestStaticFinalMetric(t *testing.T) {
	for name, test := range map[string]struct {
		other  []hostnet.Route
		prefer bool
	}{
		"alone":                      {},
		"NetworkManager's second":    {[]hostnet.Route{route("eth1", 4, 101, "198.51.100.1")}, true},
		"a much worse one":           {[]hostnet.Route{route("eth1", 4, 20100, "198.51.100.1")}, false},
		"only one of another family": {[]hostnet.Route{route("eth1", 6, 101, "fe80::1")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := facts(t, "dhcp")
			f.Routes = append(f.Routes, test.other...)
			move, err := Plan(f, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if (move.Staged.StaticFinalMetric != nil) != test.prefer {
				t.Fatalf("it prefers br-ex: %t", move.Staged.StaticFinalMetric != nil)
			}
			if test.prefer &&
				(move.Staged.StaticFinalMetric.Int64("ipv4", "route-metric") != 48 ||
					move.Staged.StaticFinalMetric.Method(networkmanager.IPv4) != "manual") {
				t.Errorf("with %s", nmtest.SectionText(move.Staged.StaticFinalMetric, "ipv4"))
			}
		})
	}
}

// At boot the host must not be considered online without its first family, and
// the second family must not take it down.
func TestRequireAddresses(t *testing.T) {
	both := func(four, six string) networkmanager.Settings {
		s := networkmanager.Settings{}
		s.Set("ipv4", "method", four)
		s.Set("ipv6", "method", six)
		return s
	}
	four, six := nmtest.NewIP(t, "192.0.2.7/24", ""), nmtest.NewIP(t, "2001:db8::7/64", "")
	for name, test := range map[string]struct {
		settings   networkmanager.Settings
		now        nmprofile.IPState
		version    string
		four, six4 string
	}{
		"IPv4 alone": {both("auto", "auto"), nmprofile.IPState{4: four}, "1.42.4", "may-fail=false", ""},
		"IPv6 alone": {both("disabled", "auto"), nmprofile.IPState{6: six}, "1.42.4", "", "may-fail=false"},
		"both": {
			both("auto", "auto"),
			nmprofile.IPState{4: four, 6: six},
			"1.42.4",
			"may-fail=false",
			"required-timeout=30000",
		},
		"old NetworkManager": {both("auto", "auto"), nmprofile.IPState{4: four, 6: six}, "1.32.10", "may-fail=false", ""},
	} {
		t.Run(name, func(t *testing.T) {
			facts := Facts{NetworkManager: networkmanager.Info{Version: test.version}}
			profileInputs{facts: facts, now: test.now}.requireAddresses(test.settings)
			for section, want := range map[string]string{"ipv4": test.four, "ipv6": test.six4} {
				method := `method="` + test.settings.Text(section, "method") + `"`
				got := strings.TrimSpace(strings.Replace(nmtest.SectionText(test.settings, section), method, "", 1))
				if got != want {
					t.Errorf("%s: %q, want %q", section, got, want)
				}
			}
		})
	}
}
