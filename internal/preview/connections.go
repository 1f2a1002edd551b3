// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/migrate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// connectionTimeout is the time limit for the check of one server.
const connectionTimeout = 10 * time.Second

// addConnections checks the servers to which the node connects, and adds the findings to a result. The
// ignition server and the package repositories have checks of their own. A host that has joined is not
// checked: doctor gets the state of its connections from the Node, the pods and CRI-O.
func addConnections(ctx context.Context, s *plan.Session, payload *ignition.Payload, result *preflight.Result) {
	if !s.Run.State.Finished.IsZero() {
		return
	}
	connections := checkConnections(ctx, connectionTargets(s, payload))
	checked := preflight.Run([]preflight.Check[[]preflight.Connection]{preflight.ConnectionCheck()}, connections)
	if preflight.AnyChecked(connections) {
		result.Checked++
	}
	result.Findings = append(result.Findings, checked.Findings...)
}

// checkConnections checks all servers at once.
func checkConnections(ctx context.Context, targets []connectionTarget) []preflight.Connection {
	ctx, cancel := context.WithTimeout(ctx, connectionTimeout)
	defer cancel()
	connections := make([]preflight.Connection, len(targets))
	var connecting sync.WaitGroup
	for i, target := range targets {
		connections[i] = target.Connection
		if target.connect != nil {
			connecting.Go(func() { connections[i].Err = target.connect(ctx) })
		}
	}
	connecting.Wait()
	return connections
}

// connectionTarget is a server to which the node connects.
type connectionTarget struct {
	preflight.Connection
	connect func(context.Context) error // as the node does; nil if the address is unknown
}

// connectionTargets returns the API server and the registries of the payload, the peers of --verify-reach, and the
// konnectivity server of a hosted cluster. The addresses of the first two are in the payload, and that of the
// last only in the cluster. The payload is nil if it was not loaded.
func connectionTargets(s *plan.Session, payload *ignition.Payload) []connectionTarget {
	var targets []connectionTarget
	switch {
	case payload != nil:
		targets = append(targets, apiServerTarget(payload)...)
		targets = append(targets, registryTargets(s, payload)...)
	case s.Run.UserData != nil:
		targets = append(targets, connectionTarget{Connection: preflight.Connection{
			Name:      "the API server and the registries",
			Unchecked: "their addresses are in the payload, which preflight does not get",
			Remedy:    "# plan gets the payload and checks them, with the same user data: hcp-node-agent plan",
		}})
	}
	for _, address := range s.Run.Config.RequiredEndpoints {
		host, _, _ := net.SplitHostPort(address) // was validated before
		targets = append(targets, connectionTarget{preflight.Connection{
			Name:        address,
			RefusesJoin: true,
			Needed:      "--verify-reach requires this endpoint, so the step network would fail",
		}, func(ctx context.Context) error {
			if err := (migrate.Endpoint{Address: address}).Connect(ctx); err != nil {
				return report.Fail(report.Failed, report.Remedy("getent hosts "+report.ShellWord(host)), "%w", err)
			}
			return nil
		}})
	}
	if s.Run.State.Hosted && len(s.Run.Config.RequiredEndpoints) == 0 {
		targets = append(targets, connectionTarget{Connection: preflight.Connection{
			Name: "the konnectivity server",
			Unchecked: "neither the user data nor the payload contains its address; if it is unreachable, the Node is Ready, " +
				"but oc logs, oc exec and webhooks fail",
			Remedy: "# get its address on the management cluster (docs/network-requirements.md), and check it with " +
				"--verify-reach HOST:PORT; after the join, doctor checks it",
		}})
	}
	return targets
}

// apiServerTarget returns the API server of the payload, none if the payload has no bootstrap kubeconfig any more.
func apiServerTarget(payload *ignition.Payload) []connectionTarget {
	kubeconfig := payload.BootstrapKubeconfig()
	if kubeconfig == nil {
		return nil
	}
	return []connectionTarget{{preflight.Connection{
		Name:        "the API server",
		RefusesJoin: true,
		Needed:      "the step " + steps.Validate + " would fail",
	}, func(ctx context.Context) error {
		_, err := kube.ServerVersion(ctx, kubeconfig, nil, report.Log{})
		return err
	}}}
}

// registryTargets returns one target for each registry of the OS image and the pause image, from which all images
// of the release come. Their manifests are read with the mirrors, the proxy and the pull secret of CRI-O.
func registryTargets(s *plan.Session, payload *ignition.Payload) []connectionTarget {
	images := []string{payload.MachineConfig().OSImageURL}
	if runtime, err := plan.DesiredRuntime(payload, s.Run.Config.PauseImage); err == nil { // else the plan reports it
		images = append(images, runtime.PauseImage)
	}
	var targets []connectionTarget
	seen := map[string]bool{}
	for _, image := range images {
		registry, _, _ := strings.Cut(image, "/")
		if !strings.Contains(image, "@") || seen[registry] { // only images with a digest can be read
			continue
		}
		seen[registry] = true
		client := plan.NewSoftware(s, payload).RegistryClient(report.Log{})
		targets = append(targets, connectionTarget{preflight.Connection{
			Name:   "registry " + registry,
			Needed: "CRI-O could not pull the images of the node",
		}, func(ctx context.Context) error {
			_, err := client.Open(ctx, image)
			return err
		}})
	}
	return targets
}
