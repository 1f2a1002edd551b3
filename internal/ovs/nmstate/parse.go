// SPDX-License-Identifier: Apache-2.0

package nmstate

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
)

// Bridge is the declared br-ex.
type Bridge struct {
	Port string
	// PortType is the type of the port: ethernet, bond or vlan; "" if the file does not describe the port.
	PortType string
	Bond     *Bond // the port, or the interface below it
	VLAN     *VLAN // of the port

	MulticastSnooping bool
	MTU               int // 0: not declared
	IPv4, IPv6        Family
	Routes            []Route // over br-ex
	DNS               DNS
}

// Bond is the bond that is the port of the bridge, or below its VLAN.
type Bond struct {
	Name    string
	Mode    string
	Ports   []string
	Options map[string]any // as NetworkManager names them
}

// Family describes how br-ex gets addresses of a family.
type Family struct {
	Automatic bool           // by DHCP or by routers
	Addresses []netip.Prefix // static ones
}

const name = openvswitch.ExternalBridge

// Parse returns the br-ex of a file of NMState. It fails if the file has a key or a value that the agent does not
// build, and names it.
func Parse(content []byte) (*Bridge, error) {
	var s state
	if err := yaml.UnmarshalStrict(content, &s); err != nil {
		return nil, fmt.Errorf("the agent does not build all of it: %w", err)
	}
	ovs, err := s.find(name, "ovs-bridge")
	if err != nil {
		return nil, err
	}
	address, err := s.find(name, "ovs-interface")
	if err != nil {
		return nil, err
	}
	b := &Bridge{DNS: s.DNS.Config, MTU: address.MTU}
	if err := b.setPort(s, ovs); err != nil {
		return nil, err
	}
	for _, one := range s.Interfaces {
		if !b.uses(one) {
			return nil, fmt.Errorf("interface %s of type %s is neither br-ex nor a part of it", one.Name, one.Type)
		}
		if one.State != "" && one.State != "up" {
			return nil, fmt.Errorf("interface %s: state %s", one.Name, one.State)
		}
		if one.Name != name && (one.IPv4.Enabled || one.IPv6.Enabled) {
			return nil, fmt.Errorf("interface %s has addresses: those of the port are on br-ex", one.Name)
		}
		if one.CopyMACFrom != "" && (one.Name != name || one.CopyMACFrom != b.Port) {
			return nil, fmt.Errorf("interface %s: copy-mac-from %s: br-ex has the MAC of its port", one.Name, one.CopyMACFrom)
		}
	}
	if b.IPv4, err = address.IPv4.family(); err != nil {
		return nil, fmt.Errorf("ipv4 of br-ex: %w", err)
	}
	if b.IPv6, err = address.IPv6.family(); err != nil {
		return nil, fmt.Errorf("ipv6 of br-ex: %w", err)
	}
	return b, b.setRoutes(s.Routes.Config)
}

// find returns the interface of a name and type.
func (s state) find(name, kind string) (netInterface, error) {
	at := slices.IndexFunc(s.Interfaces, func(one netInterface) bool { return one.Name == name && one.Type == kind })
	if at < 0 {
		return netInterface{}, fmt.Errorf("interfaces has no %s of type %s", name, kind)
	}
	return s.Interfaces[at], nil
}

// setPort sets the port of the bridge, and what the file declares about it.
func (b *Bridge) setPort(s state, ovs netInterface) error {
	if ovs.Bridge == nil {
		return errors.New("br-ex has no ports")
	}
	b.MulticastSnooping = ovs.Bridge.Options.MulticastSnooping
	var ports []string
	for _, port := range ovs.Bridge.Ports {
		if port.Name != name {
			ports = append(ports, port.Name)
		}
	}
	if len(ports) != 1 {
		return fmt.Errorf("br-ex has the ports %s: it must have one port beside br-ex", strings.Join(ports, ", "))
	}
	b.Port = ports[0]
	for _, one := range s.Interfaces {
		if one.Name != b.Port {
			continue
		}
		b.PortType, b.VLAN = one.Type, one.VLAN
		if !slices.Contains([]string{"ethernet", "bond", "vlan"}, one.Type) {
			return fmt.Errorf("port %s has the type %s: it must be ethernet, bond or vlan", one.Name, one.Type)
		}
	}
	for _, one := range s.Interfaces {
		isBelow := b.VLAN != nil && one.Name == b.VLAN.Parent
		if bond := one.LinkAggregation; bond != nil && (one.Name == b.Port || isBelow) {
			b.Bond = &Bond{one.Name, bond.Mode, bond.Ports, bond.Options}
		}
	}
	return nil
}

// uses reports whether an interface is br-ex, its port, or below the port.
func (b *Bridge) uses(one netInterface) bool {
	switch {
	case one.Name == name:
		return one.Type == "ovs-bridge" || one.Type == "ovs-interface"
	case one.Name == b.Port:
		return true
	case b.Bond != nil && slices.Contains(b.Bond.Ports, one.Name):
		return one.Type == "ethernet"
	}
	return b.VLAN != nil && one.Name == b.VLAN.Parent
}

// family returns how br-ex gets addresses. The address of OVN-Kubernetes itself, which files of NMState can contain, is
// none of the host.
func (i ip) family() (f Family, err error) {
	if !i.Enabled {
		return f, nil
	}
	f.Automatic = i.DHCP || i.Autoconf
	for _, address := range i.Address {
		prefix := netip.PrefixFrom(address.IP, address.Length)
		switch {
		case !prefix.IsValid():
			return f, fmt.Errorf("address %s with prefix-length %d is not valid", address.IP, address.Length)
		case !openvswitch.IsMasquerade(prefix):
			f.Addresses = append(f.Addresses, prefix)
		}
	}
	if f.Automatic && len(f.Addresses) > 0 {
		return f, errors.New("static addresses beside automatic ones")
	}
	return f, nil
}

// setRoutes sets the static routes, which must be over br-ex.
func (b *Bridge) setRoutes(routes []Route) error {
	for _, route := range routes {
		if route.Interface != name {
			return fmt.Errorf("the route to %s has next-hop-interface %s: it must be br-ex", route.Destination, route.Interface)
		}
	}
	b.Routes = routes
	return nil
}
