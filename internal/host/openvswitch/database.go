// SPDX-License-Identifier: Apache-2.0

package openvswitch

import (
	"context"
	"fmt"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
)

// Database is the content of the Open vSwitch database except for single
// interfaces.
type Database struct {
	ExternalIDs map[string]string `json:"externalIDs,omitempty"` // of the table Open_vSwitch
	OtherConfig map[string]string `json:"otherConfig,omitempty"`
	Bridges     []string          `json:"bridges,omitempty"`
	Ports       []Port            `json:"ports,omitempty"`
	Rows        []Row             `json:"rows,omitempty"` // of the tables QoS and Queue, which do not belong to a bridge
}

// Port is a port of a bridge.
type Port struct {
	Bridge      string            `json:"bridge"`
	Name        string            `json:"name"`
	ExternalIDs map[string]string `json:"externalIDs,omitempty"`
}

// Row is a row that remains in the database until it is destroyed.
type Row struct {
	Table       string            `json:"table"`
	UUID        string            `json:"uuid"`
	ExternalIDs map[string]string `json:"externalIDs,omitempty"`
}

// ReadDatabase reads the database. ovs-vswitchd need not run.
func ReadDatabase(ctx context.Context) (Database, error) {
	output, err := vsctl(ctx, "--no-wait", "--format=json",
		"--columns=external_ids,other_config", "list", "Open_vSwitch", "--",
		"--columns=name,ports", "list", "Bridge", "--",
		"--columns=_uuid,name,external_ids", "list", "Port", "--",
		"--columns=_uuid,external_ids", "list", "QoS", "--",
		"--columns=_uuid,external_ids", "list", "Queue")
	if err != nil {
		return Database{}, fmt.Errorf("reading the Open vSwitch database: %w", err)
	}
	return parseDatabase(output)
}

func parseDatabase(output string) (Database, error) {
	var whole, bridges, ports, qos, queues table
	if err := parseTables(output, &whole, &bridges, &ports, &qos, &queues); err != nil {
		return Database{}, err
	}
	var database Database
	for _, row := range whole.Data {
		database.ExternalIDs, database.OtherConfig = cellMap(row[0]), cellMap(row[1])
	}
	bridgeOf := map[string]string{}
	for _, row := range bridges.Data {
		database.Bridges = append(database.Bridges, cellString(row[0]))
		for _, port := range cellUUIDs(row[1]) {
			bridgeOf[port] = cellString(row[0])
		}
	}
	for _, row := range ports.Data {
		database.Ports = append(database.Ports, Port{
			Bridge:      bridgeOf[cellUUID(row[0])],
			Name:        cellString(row[1]),
			ExternalIDs: cellMap(row[2]),
		})
	}
	for _, row := range qos.Data {
		database.Rows = append(database.Rows, Row{Table: "QoS", UUID: cellUUID(row[0]), ExternalIDs: cellMap(row[1])})
	}
	for _, row := range queues.Data { // after the rows of QoS, which refer to queues
		database.Rows = append(database.Rows, Row{Table: "Queue", UUID: cellUUID(row[0]), ExternalIDs: cellMap(row[1])})
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
	if err != nil {
		return false, fmt.Errorf("reading the flows of %s: %w", bridge, err)
	}
	return strings.Contains(output, "cookie="), nil
}
