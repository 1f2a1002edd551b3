// SPDX-License-Identifier: Apache-2.0

package openvswitch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// Database is the content of the Open vSwitch database.
type Database struct {
	ExternalIDs map[string]string // of the table Open_vSwitch
	OtherConfig map[string]string
	Bridges     []Bridge
	Rows        []Row // of the tables QoS and Queue, which do not belong to a bridge
}

// Bridge is a bridge, its ports, and the interfaces of all ports. (A port with several interfaces is a
// bond inside Open vSwitch.)
type Bridge struct {
	Name        string            `json:"name"`
	ExternalIDs map[string]string `json:"externalIDs,omitempty"`
	Ports       []Port            `json:"-"`
	Interfaces  []Interface       `json:"interfaces"`
}

// Port is a port of a bridge.
type Port struct {
	Name        string
	ExternalIDs map[string]string
	interfaces  []Interface
}

// Interface is an interface of a bridge.
type Interface struct {
	Name string `json:"name" doc:"name of the interface"`
	Type string `json:"type" doc:"type, such as internal, system or patch; system or empty for a NIC"`
}

// Row is a row that remains in the database until it is destroyed.
type Row struct {
	Table, UUID string
	ExternalIDs map[string]string
}

// ReadDatabase reads the database. ovs-vswitchd need not run.
func ReadDatabase(ctx context.Context) (Database, error) {
	output, err := vsctl(ctx, "--no-wait", "--format=json",
		"--columns=external_ids,other_config", "list", "Open_vSwitch", "--",
		"--columns=_uuid,name,type", "list", "Interface", "--",
		"--columns=_uuid,name,external_ids,interfaces", "list", "Port", "--",
		"--columns=name,external_ids,ports", "list", "Bridge", "--",
		"--columns=_uuid,external_ids", "list", "QoS", "--",
		"--columns=_uuid,external_ids", "list", "Queue")
	if err != nil {
		return Database{}, fmt.Errorf("reading the Open vSwitch database: %w", err)
	}
	return parseDatabase(output)
}

// parseDatabase parses the tables in the order of ReadDatabase: each one refers only to those before.
func parseDatabase(output string) (Database, error) {
	var database Database
	interfaces, ports := map[reference]Interface{}, map[reference]Port{}
	var name, kind string
	var uuid reference
	var members references
	var ids, config pairs
	addRow := func(table string) func() {
		return func() { database.Rows = append(database.Rows, Row{Table: table, UUID: string(uuid), ExternalIDs: ids}) }
	}
	tables := json.NewDecoder(strings.NewReader(output))
	for _, table := range []struct {
		cells []any  // of a row
		add   func() // adds the row in cells
	}{
		{[]any{&ids, &config}, func() { database.ExternalIDs, database.OtherConfig = ids, config }},
		{[]any{&uuid, &name, &kind}, func() { interfaces[uuid] = Interface{Name: name, Type: kind} }},
		{[]any{&uuid, &name, &ids, &members}, func() {
			port := Port{Name: name, ExternalIDs: ids}
			for _, member := range members {
				port.interfaces = append(port.interfaces, interfaces[member])
			}
			ports[uuid] = port
		}},
		{[]any{&name, &ids, &members}, func() {
			bridge := Bridge{Name: name, ExternalIDs: ids}
			for _, member := range members {
				bridge.Ports = append(bridge.Ports, ports[member])
				bridge.Interfaces = append(bridge.Interfaces, ports[member].interfaces...)
			}
			database.Bridges = append(database.Bridges, bridge)
		}},
		{[]any{&uuid, &ids}, addRow("QoS")},
		{[]any{&uuid, &ids}, addRow("Queue")}, // after the rows of QoS, which refer to queues
	} {
		var rows struct{ Data []json.RawMessage }
		err := tables.Decode(&rows)
		for _, row := range rows.Data {
			if err == nil {
				err = json.Unmarshal(row, &table.cells) // into the variables, because the elements are pointers
				table.add()
			}
		}
		if err != nil {
			return Database{}, fmt.Errorf("parsing the output of ovs-vsctl: %w", err)
		}
	}
	return database, nil
}

// ClusterCookie matches the flows that OVN-Kubernetes adds
// (defaultOpenFlowCookie in gateway_shared_intf.go).
const ClusterCookie = "cookie=0xdeff105/-1"

// FlowVersions are the OpenFlow versions that a bridge can be restricted to.
const FlowVersions = "OpenFlow10,OpenFlow13,OpenFlow15"

// HasClusterFlows reports whether a bridge has flows of OVN-Kubernetes.
func HasClusterFlows(ctx context.Context, bridge string) (bool, error) {
	output, err := command.Run(ctx, "ovs-ofctl", "--timeout=10", "--protocols="+FlowVersions,
		"dump-flows", bridge, ClusterCookie)
	return strings.Contains(output, "cookie="), wrap.Errorf(err, "reading the flows of %s", bridge)
}
