package networkmanager

import (
	"context"
	"errors"
	"fmt"
)

// LoadProfile makes NetworkManager reload a profile's file.
func (c *Client) LoadProfile(ctx context.Context, file string) error {
	var loaded bool
	var failures []string
	err := c.call(ctx, managerPath+"/Settings", "Settings", "LoadConnections", []string{file}).Store(&loaded, &failures)
	if err == nil && (!loaded || len(failures) > 0) {
		err = errors.New("NetworkManager does not take it")
	}
	if err != nil {
		return fmt.Errorf("loading NetworkManager's profile %s: %w", file, err)
	}
	return nil
}
