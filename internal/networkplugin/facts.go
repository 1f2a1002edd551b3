// SPDX-License-Identifier: Apache-2.0

package networkplugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// networkFacts is the state of the host's network that the network plugin,
// kubelet and CRI-O add to while the host is a node.
type networkFacts struct {
	IPTables  map[string]string // output of iptables-save and ip6tables-save, by "iptables" and "ip6tables"
	NFTables  []nfTable
	Links     []hostnet.Link
	Addresses []hostnet.LinkAddress
	Routes    []hostnet.TableRoute
	Rules     []hostnet.PolicyRule

	// Services are addresses in the cluster's service networks.
	Services []netip.Addr

	Database *openvswitch.Database // nil: it could not be read
	Flows    []string              // bridges with flows of OVN-Kubernetes
}

// nfTable is a table of nftables.
type nfTable struct{ Family, Name string }

// gather gathers the facts.
func gather(ctx context.Context) (networkFacts, error) {
	facts := networkFacts{IPTables: map[string]string{}}
	for _, program := range []string{"iptables", "ip6tables"} {
		saved, err := command.Run(ctx, program+"-save")
		if err != nil && !errors.Is(err, command.ErrNotInstalled) {
			return facts, report.Fail(report.Failed, report.Remedy(program+"-save"), "reading the packet filter: %w", err)
		}
		facts.IPTables[program] = saved
	}
	for _, get := range []func() error{
		func() (err error) { facts.NFTables, err = nfTables(ctx); return err },
		func() (err error) { facts.Links, err = hostnet.Links(); return err },
		func() (err error) { facts.Addresses, err = hostnet.LinkAddresses(); return err },
		func() (err error) { facts.Routes, err = hostnet.TableRoutes(); return err },
		func() (err error) { facts.Rules, err = hostnet.PolicyRules(); return err },
		func() error { return facts.gatherSwitch(ctx) },
	} {
		if err := get(); err != nil {
			return facts, err
		}
	}
	return facts, nil
}

// gatherSwitch reads the database, and the flows of the bridges in it that are
// gateways of OVN-Kubernetes. Without Open vSwitch, or while its database server
// does not run, there is nothing to read.
func (f *networkFacts) gatherSwitch(ctx context.Context) error {
	if !command.Exists("ovs-vsctl") {
		return nil
	}
	database, err := openvswitch.ReadDatabase(ctx)
	var failed *command.Error
	if errors.As(err, &failed) {
		return nil
	}
	if err != nil {
		return err
	}
	f.Database = &database
	if openvswitch.CheckRunning(ctx) != nil {
		return nil //nolint:nilerr // without the switch there are no flows
	}
	for _, bridge := range database.Bridges {
		if !slices.Contains(f.uplinks(), bridge.Name) {
			continue
		}
		found, err := openvswitch.HasClusterFlows(ctx, bridge.Name)
		if err != nil {
			return err
		}
		if found {
			f.Flows = append(f.Flows, bridge.Name)
		}
	}
	return nil
}

// nfTables lists the tables of nftables.
func nfTables(ctx context.Context) ([]nfTable, error) {
	output, err := command.Run(ctx, "nft", "--json", "list", "tables")
	if errors.Is(err, command.ErrNotInstalled) {
		return nil, nil
	}
	if err != nil {
		return nil, report.Fail(report.Failed, "nft --json list tables", "listing the tables of nftables: %w", err)
	}
	return parseNFTables([]byte(output))
}

func parseNFTables(output []byte) ([]nfTable, error) {
	var document struct {
		NFTables []struct{ Table *nfTable }
	}
	if err := json.Unmarshal(output, &document); err != nil {
		return nil, fmt.Errorf("parsing the output of nft: %w", err)
	}
	var tables []nfTable
	for _, entry := range document.NFTables {
		if entry.Table != nil {
			tables = append(tables, *entry.Table)
		}
	}
	return tables, nil
}
