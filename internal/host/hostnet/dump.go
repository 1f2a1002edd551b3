// SPDX-License-Identifier: Apache-2.0

package hostnet

import (
	"errors"

	"github.com/vishvananda/netlink"
)

// dump returns a list from the kernel. A list that changes during the dump can
// lack entries or contain duplicates. The kernel marks such a dump
// (NLM_F_DUMP_INTR), and dump then requests the list again. This happens while
// the network is reconfigured.
func dump[T any](list func() ([]T, error)) ([]T, error) {
	const often = 100 // an upper bound; each attempt takes microseconds
	var items []T
	var err error
	for range often {
		if items, err = list(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			break
		}
	}
	return items, err
}
