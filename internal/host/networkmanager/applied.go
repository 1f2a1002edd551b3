package networkmanager

import (
	"context"
	"fmt"
)

// AppliedSettings returns the settings that a device uses. They differ from its profile
// if the profile was changed since, or if other settings were reapplied.
func (c *Client) AppliedSettings(ctx context.Context, device Device) (Settings, error) {
	var settings Settings
	var version uint64
	if err := c.call(ctx, device.Path, "Device", "GetAppliedConnection", uint32(0)).Store(&settings, &version); err != nil {
		return nil, fmt.Errorf("reading what %s uses: %w", device.Name, err)
	}
	return settings.withoutLegacy(), nil
}
