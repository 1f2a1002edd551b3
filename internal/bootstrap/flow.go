// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/payload"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/provision"
)

// Flow contains the values that the steps of one run of a join pass to each other, and to the steps of an upgrade: the
// inputs of the run, the host, and the results of the steps. A function that needs few of these values gets only them.
type Flow struct {
	Run     *plan.Run
	Host    *machine.Machine
	Session *plan.Session // of the same run and host
	Uplink  *plan.Uplink  // of the same host

	Loaded     payload.Loaded  // of the fetch step: the payload with its source
	Software   *plan.Software  // of the payload
	Plan       *plan.Plan      // of the plan step; the files and packages steps can replace it
	Validation plan.Validation // of the validate step

	before         joinstate.State // of the host before this run of join; set before the first step
	newCertificate bool            // of the client-certificate step: this run has stored a new certificate
	kubeletStarted time.Time       // of the kubelet step: when this run has started kubelet; zero if it has not
}

// NewFlow returns a flow without results. Tests of steps that need no host pass nil for m.
func NewFlow(run plan.Run, m *machine.Machine) *Flow {
	session := &plan.Session{Run: &run}
	if m != nil {
		session.Host = m.Reader()
	}
	j := &Flow{Run: &run, Host: m, Session: session, Uplink: plan.NewUplink(session)}
	j.UsePayload(payload.Loaded{})
	return j
}

// Packages returns the packages of the payload on this host.
func (j *Flow) Packages() provision.Packages {
	return provision.Packages{
		Run:      j.Run,
		Host:     j.Host,
		Software: j.Software,
		DNF:      j.Session.DNF(j.Loaded.Payload),
	}
}

// HostImage returns the image of this host, which the present plan updates.
func (j *Flow) HostImage() provision.HostImage {
	return provision.HostImage{
		Run:     j.Run,
		Host:    j.Host,
		Plan:    j.Plan,
		Payload: j.Loaded.Payload,
	}
}

// bootSettings returns the settings of the present plan that take effect at a boot.
func (j *Flow) bootSettings() bootSettings {
	return bootSettings{run: j.Run, host: j.Host, plan: j.Plan}
}

// diagnostics returns the host on which the causes of failures are searched.
func (j *Flow) diagnostics() node.Host { return j.Session.DiagnosticsHost(j.Loaded.Payload) }
