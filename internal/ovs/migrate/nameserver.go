// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	queryTimeout      = time.Second      // for one query, including the recursion of the name server
	nameserverTimeout = 10 * time.Second // for all name servers that responded before
)

// respondingServers returns the name servers that respond. It is not an error
// if none does: whatever needs to resolve a name reports that.
func respondingServers(ctx context.Context, link string, servers []netip.Addr) []netip.Addr {
	answered := make([]bool, len(servers))
	var queries sync.WaitGroup
	for i, server := range servers {
		queries.Go(func() {
			for range 2 {
				answered[i] = answered[i] || queryNameserver(ctx, link, server) == nil
			}
		})
	}
	queries.Wait()
	var responding []netip.Addr
	for i, server := range servers {
		if answered[i] {
			responding = append(responding, server)
		}
	}
	return responding
}

// checkNameservers waits until all servers respond.
func checkNameservers(ctx context.Context, link string, servers []netip.Addr) error {
	limited, cancel := context.WithTimeout(ctx, nameserverTimeout)
	defer cancel()
	for _, server := range servers {
		err := poll(limited, "a response of the name server "+server.String(), func() (bool, error) {
			return queryNameserver(limited, link, server) == nil, nil
		})
		if err != nil {
			return fmt.Errorf("the name server %s no longer responds: %w", server, err)
		}
	}
	return nil
}

// rootQuery is a DNS message (RFC 1035, 4.1) that requests the name servers of the root.
var rootQuery = []byte{
	0x68, 0x63, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, // ID, recursion desired, one question
	0, 0, 2, 0, 1, // ".", NS, IN
}

// queryNameserver requests the name servers of the root. Any response is sufficient, including a refusal.
func queryNameserver(ctx context.Context, link string, server netip.Addr) error {
	if server.Is6() && server.IsLinkLocalUnicast() {
		server = server.WithZone(link)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", netip.AddrPortFrom(server, 53).String())
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(queryTimeout)); err != nil {
		return err
	}
	if _, err := conn.Write(rootQuery); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 512)) // the kernel passes on only datagrams of the server
	return err
}
