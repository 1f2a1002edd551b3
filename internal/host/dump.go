package host

import (
	"errors"

	"github.com/vishvananda/netlink"
)

// dump lists what the kernel has. A list that was changed while the kernel gave
// it can lack entries, or have one twice; the kernel marks it (NLM_F_DUMP_INTR),
// and it has to be asked for again. During a change of the network that happens.
func dump[T any](list func() ([]T, error)) ([]T, error) {
	const often = 100 // an upper bound; each is a matter of microseconds
	var items []T
	var err error
	for range often {
		if items, err = list(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			break
		}
	}
	return items, err
}
