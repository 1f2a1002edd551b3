package bootstrap

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
)

// given reports whether c names a new source for the payload. Otherwise the
// join resumes with the settings in state.
func given(c config.Join, state State) bool {
	return c.UserData != "" || c.Endpoint != "" || !state.Known()
}

// continued returns c with unset fields filled from the saved configuration of the
// earlier join. Inputs and timeouts apply to one run and are never inherited. A
// configuration that names a new payload source is returned unchanged.
func continued(c config.Join, state State) config.Join {
	if given(c, state) {
		return c
	}
	saved, defaults := state.Config, config.Defaults()
	untold(&c.ConnectTo, saved.ConnectTo, defaults.ConnectTo)
	untold(&c.BridgeInterface, saved.BridgeInterface, defaults.BridgeInterface)
	untold(&c.NetworkTimeout, saved.NetworkTimeout, defaults.NetworkTimeout)
	untold(&c.PauseImage, saved.PauseImage, defaults.PauseImage)
	untold(&c.OpenShiftRelease, saved.OpenShiftRelease, defaults.OpenShiftRelease)
	untold(&c.InstallPackages, saved.InstallPackages, defaults.InstallPackages)
	untold(&c.KeepBootstrap, saved.KeepBootstrap, defaults.KeepBootstrap)
	for _, list := range []struct{ now, saved *[]string }{
		{&c.IgnitionOverrides, &saved.IgnitionOverrides},
		{&c.Payload.Drop, &saved.Payload.Drop},
		{&c.Labels, &saved.Labels},
		{&c.Taints, &saved.Taints},
		{&c.VerifyReach, &saved.VerifyReach},
		{&c.Skip, &saved.Skip},
	} {
		if len(*list.now) == 0 {
			*list.now = *list.saved
		}
	}
	return c
}

// untold sets *now to the saved value if *now still has its default.
func untold[T comparable](now *T, saved, defaults T) {
	var none T
	if *now == defaults && saved != none {
		*now = saved
	}
}
