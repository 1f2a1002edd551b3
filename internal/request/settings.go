// SPDX-License-Identifier: Apache-2.0

package request

import "github.com/hcp-node-agent/hcp-node-agent/internal/config"

// inheritSettings fills the settings that this run was not given from the saved ones of the earlier join. Inputs and
// timeouts apply to one run and are never inherited.
func (r *Request) inheritSettings(saved config.Join) {
	c, defaults := &r.Config, config.Defaults()
	inheritDefault(&c.ConnectTo, saved.ConnectTo, defaults.ConnectTo)
	inheritDefault(&c.BridgeInterface, saved.BridgeInterface, defaults.BridgeInterface)
	inheritDefault(&c.NetworkTimeout, saved.NetworkTimeout, defaults.NetworkTimeout)
	inheritDefault(&c.PauseImage, saved.PauseImage, defaults.PauseImage)
	inheritDefault(&c.OpenShiftRelease, saved.OpenShiftRelease, defaults.OpenShiftRelease)
	inheritDefault(&c.HostSettings, saved.HostSettings, defaults.HostSettings)
	inheritDefault(&c.Software, saved.Software, defaults.Software)
	inheritDefault(&c.SwitchImage, saved.SwitchImage, defaults.SwitchImage)
	inheritDefault(&c.InstallPackages, saved.InstallPackages, defaults.InstallPackages)
	inheritDefault(&c.IgnorePacketFilter, saved.IgnorePacketFilter, defaults.IgnorePacketFilter)
	inheritDefault(&c.IgnoreLogins, saved.IgnoreLogins, defaults.IgnoreLogins)
	inheritDefault(&c.KeepBootstrap, saved.KeepBootstrap, defaults.KeepBootstrap)
	inheritList(&c.IgnitionOverrides, saved.IgnitionOverrides)
	inheritList(&c.Payload.Exclude, saved.Payload.Exclude)
	inheritList(&c.Labels, saved.Labels)
	inheritList(&c.Taints, saved.Taints)
	inheritList(&c.RequiredEndpoints, saved.RequiredEndpoints)
	inheritList(&c.Skip, saved.Skip)
}

// inheritList sets *now to the saved list if *now is empty.
func inheritList(now *[]string, saved []string) {
	if len(*now) == 0 {
		*now = saved
	}
}

// inheritDefault sets *now to the saved value if *now still has its default.
func inheritDefault[T comparable](now *T, saved, defaults T) {
	var none T
	if *now == defaults && saved != none {
		*now = saved
	}
}
