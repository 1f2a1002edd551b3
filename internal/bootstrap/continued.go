package bootstrap

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
)

// given tells whether a join is told anew where its payload comes from. If it
// is not, it goes on with all that the earlier one was told.
func given(c config.Join, state State) bool {
	return c.UserData != "" || c.Endpoint != "" || !state.Known()
}

// continued is the configuration of a join that goes on with what an earlier
// one was told: what that one was told counts until something else is said, or
// the join begins anew with a stub. What a run reads, or waits for, is its own.
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

// untold gives a setting that has its default what an earlier run was told.
func untold[T comparable](now *T, told, plain T) {
	var none T
	if *now == plain && told != none {
		*now = told
	}
}
