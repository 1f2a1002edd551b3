// SPDX-License-Identifier: Apache-2.0

package systemd

import "time"

// The units of a node of which more than one package needs the name.
const (
	KubeletUnit        = "kubelet.service"
	CRIOUnit           = "crio.service"
	NetworkManagerUnit = "NetworkManager.service"
)

// Action describes what a unit requires to run with its current inputs.
type Action string

// The actions.
const (
	NoAction      Action = "nothing"
	StartNeeded   Action = "start"
	RestartNeeded Action = "restart"
)

// Required returns StartNeeded if the unit is not active, and RestartNeeded if an input has changed since
// its start. Other restarts are avoided: kubelet.service requires crio.service and restarts with it.
func (s UnitState) Required(newestInput time.Time) Action {
	switch {
	case s.Active != "active":
		return StartNeeded
	case newestInput.After(s.Since):
		return RestartNeeded
	}
	return NoAction
}
