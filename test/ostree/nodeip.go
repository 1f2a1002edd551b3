// SPDX-License-Identifier: Apache-2.0

package ostree

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Files of "runtimecfg node-ip set" (openshift/baremetal-runtimecfg, cmd/runtimecfg/node-ip.go and pkg/config/net.go).
const (
	kubeletDropIn = "/etc/systemd/system/kubelet.service.d/20-nodenet.conf"
	crioDropIn    = "/etc/systemd/system/crio.service.d/20-nodenet.conf"
	nodeIPDir     = "/run/nodeip-configuration"
)

// nodeIPCommand imitates cmd/runtimecfg/node-ip.go, set: it writes the addresses of the node, the IPv4 address first,
// unless it has written them since the boot.
func nodeIPCommand(ctx context.Context, args []string) error {
	flags := newFlags()
	retry := flags.Bool("retry-on-failure", false, "")
	flags.String("network-type", "", "")
	rest, err := parse(flags, args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return fmt.Errorf("a hint, %q, is not supported by this stand-in", rest)
	}
	if content, err := os.ReadFile(nodeIPDir + "/primary-ip"); err == nil {
		if address, err := netip.ParseAddr(string(content)); err == nil {
			fmt.Printf("Found ip %s, no need for new configuration\n", address)
			return nil
		}
	}
	for {
		addresses, err := defaultAddresses()
		switch {
		case err != nil:
			return err
		case len(addresses) > 0:
			return writeNodeIP(addresses)
		case !*retry:
			return errors.New("failed to find node IP")
		}
		fmt.Fprintln(os.Stderr, "failed to find a suitable node IP")
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Second):
		}
	}
}

// writeNodeIP writes the files for kubelet, CRI-O and other services.
func writeNodeIP(addresses []netip.Addr) error {
	primary, all := addresses[0].String(), make([]string, len(addresses))
	files := map[string]string{nodeIPDir + "/primary-ip": primary}
	for i, address := range addresses {
		all[i] = address.String()
		if address.Is4() {
			files[nodeIPDir+"/ipv4"] = all[i]
		} else {
			files[nodeIPDir+"/ipv6"] = all[i]
		}
	}
	files[kubeletDropIn] = fmt.Sprintf("[Service]\nEnvironment=\"KUBELET_NODE_IP=%s\" \"KUBELET_NODE_IPS=%s\"\n",
		primary, strings.Join(all, ","))
	files[crioDropIn] = fmt.Sprintf("[Service]\nEnvironment=\"CONTAINER_STREAM_ADDRESS=%s\"\n", primary)
	for _, path := range sortedKeys(files) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // as the real one
			return err
		}
		if err := os.WriteFile(path, []byte(files[path]), 0o644); err != nil { //nolint:gosec // as the real one
			return err
		}
	}
	fmt.Println("Chosen Node IPs:", all)
	return nil
}

// ipRoute and ipLink have fields of the output of "ip -json".
type (
	ipRoute struct {
		Dev     string     `json:"dev"`
		Gateway netip.Addr `json:"gateway"`
		Metric  int        `json:"metric"`
	}
	ipLink struct {
		Index     int         `json:"ifindex"`
		Name      string      `json:"ifname"`
		Addresses []ipAddress `json:"addr_info"`
	}
	ipAddress struct {
		Local      netip.Addr `json:"local"`
		Bits       int        `json:"prefixlen"`
		Scope      string     `json:"scope"`
		Deprecated bool       `json:"deprecated"`
	}
)

// defaultAddresses returns at most one address of each family, from links with a default route
// (pkg/utils/addresses_linux.go, AddressesDefault).
func defaultAddresses() ([]netip.Addr, error) {
	var links []ipLink
	if err := queryIP(&links, "address", "show"); err != nil {
		return nil, err
	}
	var chosen []netip.Addr
	for _, family := range []string{"-4", "-6"} {
		var routes []ipRoute
		if err := queryIP(&routes, family, "route", "show", "default"); err != nil {
			return nil, err
		}
		if address := chooseAddress(links, routes, family == "-4"); address.IsValid() {
			chosen = append(chosen, address)
		}
	}
	return chosen, nil
}

func queryIP(result any, args ...string) error {
	out, err := command("ip", append([]string{"-json"}, args...)...)
	if err != nil || strings.TrimSpace(out) == "" {
		return err
	}
	if err := json.Unmarshal([]byte(out), result); err != nil {
		return fmt.Errorf("parsing the output of ip %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// chooseAddress returns the first of the addresses of a family on links with a default route by the route's metric, the
// link's index, whether the gateway is on its subnet, and whether it is public (addressesDefaultInternal). Link-local
// and deprecated addresses, and the address that OVN-Kubernetes adds, do not count (ValidOVNNodeAddress).
func chooseAddress(links []ipLink, routes []ipRoute, isIPv4 bool) netip.Addr {
	type candidate struct {
		address netip.Addr
		order   [4]int
	}
	var candidates []candidate
	for _, link := range links {
		at := slices.IndexFunc(routes, func(route ipRoute) bool { return route.Dev == link.Name })
		if at < 0 {
			continue
		}
		for _, address := range link.Addresses {
			local := address.Local
			if local.Is4() != isIPv4 || address.Scope != "global" || address.Deprecated || local.String() == "fd69::2" {
				continue
			}
			order := [4]int{routes[at].Metric, link.Index, 1, 0}
			if netip.PrefixFrom(local, address.Bits).Masked().Contains(routes[at].Gateway) {
				order[2] = 0
			}
			if local.IsPrivate() {
				order[3] = 1
			}
			candidates = append(candidates, candidate{local, order})
		}
	}
	if len(candidates) == 0 {
		return netip.Addr{}
	}
	return slices.MinFunc(candidates, func(a, b candidate) int {
		return cmp.Or(slices.Compare(a.order[:], b.order[:]), a.address.Compare(b.address))
	}).address
}
