package hostnet

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// RemoveRoute removes a route over a link from a routing table other than the
// main one. A missing route is not an error.
func RemoveRoute(link string, destination netip.Prefix, table, metric int) error {
	index, err := linkIndex(link)
	if err != nil {
		return err
	}
	err = netlink.RouteDel(&netlink.Route{
		LinkIndex: index, Table: table, Priority: metric,
		Dst: &net.IPNet{
			IP: destination.Addr().AsSlice(), Mask: net.CIDRMask(destination.Bits(), destination.Addr().BitLen()),
		},
	})
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("removing the route to %s from table %d: %w", destination, table, err)
	}
	return nil
}
