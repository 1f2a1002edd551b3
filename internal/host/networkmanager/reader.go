// SPDX-License-Identifier: Apache-2.0

package networkmanager

import "context"

// Reader reads devices and profiles. *Client implements it; code that has only a Reader cannot change the network.
type Reader interface {
	Info(ctx context.Context) (Info, error)
	Devices(ctx context.Context) ([]Device, error)
	Profiles(ctx context.Context) ([]Profile, error)
	Watch(ctx context.Context) (<-chan struct{}, error)
}

// Reader returns c as a Reader, which is nil if c is nil: NetworkManager is unreachable then.
func (c *Client) Reader() Reader {
	if c == nil {
		return nil
	}
	return c
}
