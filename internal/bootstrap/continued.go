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
	told, plain := state.Config, config.Defaults()
	untold(&c.ConnectTo, told.ConnectTo, plain.ConnectTo)
	untold(&c.BridgeInterface, told.BridgeInterface, plain.BridgeInterface)
	untold(&c.NetworkTimeout, told.NetworkTimeout, plain.NetworkTimeout)
	untold(&c.PauseImage, told.PauseImage, plain.PauseImage)
	untold(&c.OpenShiftRelease, told.OpenShiftRelease, plain.OpenShiftRelease)
	untold(&c.InstallPackages, told.InstallPackages, plain.InstallPackages)
	untold(&c.KeepBootstrap, told.KeepBootstrap, plain.KeepBootstrap)
	for _, list := range []struct{ now, told *[]string }{
		{&c.IgnitionOverrides, &told.IgnitionOverrides},
		{&c.Payload.Drop, &told.Payload.Drop},
		{&c.Labels, &told.Labels},
		{&c.Taints, &told.Taints},
		{&c.VerifyReach, &told.VerifyReach},
		{&c.Skip, &told.Skip},
	} {
		if len(*list.now) == 0 {
			*list.now = *list.told
		}
	}
	return c
}

// untold sets *now to the saved value if *now still has its default.
func untold[T comparable](now *T, told, plain T) {
	var none T
	if *now == plain && told != none {
		*now = told
	}
}
