package hostnet

import (
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// addExpiringRoute adds an IPv6 default route that the kernel removes after the
// given number of seconds, in case this process is killed before. Route of the
// netlink library does not support a lifetime (1.3). An existing route is an
// error, as with RouteAdd.
func addExpiringRoute(link int, gateway netip.Addr, metric int, seconds uint32) error {
	request := nl.NewNetlinkRequest(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_EXCL|unix.NLM_F_ACK)
	message := nl.NewRtMsg()
	message.Family, message.Protocol = unix.AF_INET6, unix.RTPROT_STATIC
	request.AddData(message)
	request.AddData(nl.NewRtAttr(unix.RTA_GATEWAY, gateway.AsSlice()))
	for kind, value := range map[int]uint32{unix.RTA_OIF: uint32(link), unix.RTA_PRIORITY: uint32(metric), unix.RTA_EXPIRES: seconds} { //nolint:gosec // an index and a metric are 32 bits wide
		request.AddData(nl.NewRtAttr(kind, nl.Uint32Attr(value)))
	}
	_, err := request.Execute(unix.NETLINK_ROUTE, 0)
	return err
}
