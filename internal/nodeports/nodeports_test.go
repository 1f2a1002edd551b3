// SPDX-License-Identifier: Apache-2.0

package nodeports

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rows returns the cells of the first table below a heading of a page, without its header.
func rows(t *testing.T, page, heading string) [][]string {
	t.Helper()
	_, section, found := strings.Cut(page, "\n## "+heading+"\n")
	if !found {
		t.Fatalf("the page has no section %q", heading)
	}
	var all [][]string
	for line := range strings.Lines(section) {
		switch {
		case strings.HasPrefix(line, "|"):
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			all = append(all, cells)
		case len(all) > 0:
			return all[2:]
		}
	}
	return all[2:]
}

// isOpened reports whether --apply-host-settings opens a port, alone or as part of a range.
func isOpened(port Port, network string) bool {
	return slices.ContainsFunc(All(), func(p Port) bool {
		return p.Opened && p.First <= port.First && port.Last <= p.Last && slices.Contains(p.Networks, network)
	})
}

func TestPageListsPorts(t *testing.T) {
	content, err := os.ReadFile("../../docs/network-requirements.md")
	if err != nil {
		t.Fatal(err)
	}
	var page, table []string
	add := func(list *[]string, ports, network, opened string) {
		for port := range strings.SplitSeq(ports, ", ") {
			*list = append(*list, port+"/"+strings.ToLower(network)+" opened: "+opened)
		}
	}
	const inbound, local = "Between nodes and from clients", "Ports that only the host uses"
	for _, row := range rows(t, string(content), inbound) {
		ports, _, _ := strings.Cut(row[1], ";")
		opened, _, _ := strings.Cut(row[5], ",")
		for network := range strings.SplitSeq(row[2], ", ") {
			add(&page, ports, network, opened)
		}
	}
	for _, row := range rows(t, string(content), local) {
		add(&page, strings.TrimPrefix(row[0], "127.0.0.1:"), row[1], "local")
	}
	for _, port := range All() {
		for _, network := range port.Networks {
			opened := "no"
			switch {
			case !port.Inbound:
				opened = "local"
			case isOpened(port, network):
				opened = "yes"
			}
			add(&table, port.String(), network, opened)
		}
	}
	slices.Sort(page)
	slices.Sort(table)
	if diff := cmp.Diff(table, page); diff != "" {
		t.Errorf("docs/network-requirements.md differs from the table (-table +page):\n%s", diff)
	}
}

// The NetworkPolicy of the controller permits the ports on which an API server can be published.
func TestNetworkPolicyPermitsAPIServer(t *testing.T) {
	content, err := os.ReadFile("../../docs/network-requirements.md")
	if err != nil {
		t.Fatal(err)
	}
	policy, err := os.ReadFile("../../deploy/management/networkpolicy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var published, permitted []string
	for _, row := range rows(t, string(content), "Hosted control plane") {
		if row[1] == "API server" {
			published = row[2:5]
		}
	}
	_, api, _ := strings.Cut(string(policy), "# the API server:")
	for _, match := range regexp.MustCompile(`\{port: (\d+)(?:, endPort: (\d+))?, protocol: TCP\}`).
		FindAllStringSubmatch(api, -1) {
		port := match[1]
		if match[2] != "" {
			port += "-" + match[2]
		}
		permitted = append(permitted, port)
	}
	slices.Sort(published)
	slices.Sort(permitted)
	if diff := cmp.Diff(published, permitted); diff != "" {
		t.Errorf("ports of the API server (-page +policy):\n%s", diff)
	}
}
