// SPDX-License-Identifier: Apache-2.0

// Package firewalld reads the rules of firewalld by D-Bus. It changes nothing.
package firewalld

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/godbus/dbus/v5"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/bus"
)

const (
	service       = "org.fedoraproject.FirewallD1"
	objectPath    = "/org/fedoraproject/FirewallD1"
	zoneInterface = service + ".zone"
)

// Zone is the zone of an interface in firewalld's runtime configuration.
type Zone struct {
	Name      string
	Default   string // the zone of interfaces that are bound to none
	Interface string
	AcceptAll bool    // the zone's target is ACCEPT
	Open      []Ports // of the zone and of its services
}

// Ports is a range of ports.
type Ports struct {
	Network     string // tcp, udp, ...
	First, Last int
}

// Contains reports whether all of other are in the range.
func (p Ports) Contains(other Ports) bool {
	return p.Network == other.Network && p.First <= other.First && other.Last <= p.Last
}

// Allows reports whether the zone accepts packets to a port from any address. Rich rules and
// policies are ignored.
func (z Zone) Allows(network string, port int) bool {
	return z.AcceptAll || slices.ContainsFunc(z.Open, func(p Ports) bool {
		return p.Contains(Ports{Network: network, First: port, Last: port})
	})
}

// settings is the part of the settings of a zone or a service that opens ports.
type settings struct {
	target   string
	ports    []Ports
	services []string // services of a zone, or other services that a service includes
}

// ReadZone returns the zone of an interface: the zone that the interface is bound to, or else
// the default zone. It requires root, or a user whom polkit allows to read the rules. It fails if firewalld does not
// run: it must not start it.
func ReadZone(ctx context.Context, link string) (Zone, error) {
	zone := Zone{Interface: link}
	connection, err := bus.Connect(ctx)
	if err != nil {
		return zone, err
	}
	defer connection.Close()
	firewall := connection.Object(service, objectPath)
	err = firewall.CallWithContext(ctx, zoneInterface+".getZoneOfInterface", dbus.FlagNoAutoStart, link).Store(&zone.Name)
	if err == nil {
		err = firewall.CallWithContext(ctx, service+".getDefaultZone", dbus.FlagNoAutoStart).Store(&zone.Default)
	}
	if err != nil {
		return zone, fmt.Errorf("reading the firewalld zone of %s: %w", link, err)
	}
	zone.Name = cmp.Or(zone.Name, zone.Default)
	found, err := readSettings(ctx, firewall, zoneInterface+".getZoneSettings2", zone.Name)
	if err != nil {
		return zone, err
	}
	zone.AcceptAll, zone.Open = found.target == "ACCEPT", found.ports
	read := map[string]bool{}
	for names := found.services; len(names) > 0; names = names[1:] {
		if read[names[0]] {
			continue
		}
		read[names[0]] = true
		included, err := readSettings(ctx, firewall, service+".getServiceSettings2", names[0])
		if err != nil {
			return zone, err
		}
		zone.Open, names = append(zone.Open, included.ports...), append(names, included.services...)
	}
	return zone, nil
}

// readSettings calls a method that returns the settings of a zone or a service.
func readSettings(ctx context.Context, firewall dbus.BusObject, method, name string) (settings, error) {
	var values map[string]dbus.Variant
	if err := firewall.CallWithContext(ctx, method, dbus.FlagNoAutoStart, name).Store(&values); err != nil {
		return settings{}, fmt.Errorf("reading the firewalld settings of %s: %w", name, err)
	}
	var ports []struct{ Range, Network string }
	var found settings
	for key, target := range map[string]any{
		"target": &found.target, "ports": &ports, "services": &found.services, "includes": &found.services,
	} {
		if value, ok := values[key]; ok {
			if err := value.Store(target); err != nil {
				return settings{}, fmt.Errorf("reading the firewalld settings of %s: %s: %w", name, key, err)
			}
		}
	}
	for _, port := range ports {
		if parsed, ok := ParsePorts(port.Range, port.Network); ok {
			found.ports = append(found.ports, parsed)
		}
	}
	return found, nil
}

// ParsePorts parses a port or a range such as 30000-32767. It reports whether text is one.
func ParsePorts(text, network string) (Ports, bool) {
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	from, err := strconv.Atoi(first)
	if err != nil {
		return Ports{}, false // a service can contain a protocol without a port
	}
	to, err := strconv.Atoi(last)
	return Ports{Network: network, First: from, Last: to}, err == nil
}
