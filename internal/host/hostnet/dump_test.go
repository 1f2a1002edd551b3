// SPDX-License-Identifier: Apache-2.0

package hostnet

import (
	"errors"
	"testing"

	"github.com/vishvananda/netlink"
)

func TestDump(t *testing.T) {
	other := errors.New("another error")
	for name, test := range map[string]struct {
		ends []error
		want error
	}{
		"at once":           {[]error{nil}, nil},
		"interrupted twice": {[]error{netlink.ErrDumpInterrupted, netlink.ErrDumpInterrupted, nil}, nil},
		"fails":             {[]error{other, nil}, other},
	} {
		t.Run(name, func(t *testing.T) {
			requests := 0
			items, err := dump(func() ([]int, error) {
				requests++
				return []int{requests}, test.ends[requests-1]
			})
			if !errors.Is(err, test.want) || (err == nil && items[0] != len(test.ends)) {
				t.Errorf("%v, %v after %d", items, err, requests)
			}
		})
	}
	if _, err := dump(func() ([]int, error) { return nil, netlink.ErrDumpInterrupted }); !errors.Is(err,
		netlink.ErrDumpInterrupted) {
		t.Errorf("one that is always interrupted: %v", err)
	}
}
