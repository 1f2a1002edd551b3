// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Settings are the settings of the manifests. Those that are not set remain as in the directory deploy.
type Settings struct {
	In            cluster.Place        // cluster in which the controller runs
	Namespace     string               // of the controller on the management cluster
	HostedCluster types.NamespacedName // on the management cluster
	Publish       bool                 // the controller on the management cluster publishes user data
	Monitoring    bool                 // Prometheus scrapes the controller
	Image         string
	Replicas      int
}

// Check returns a usage error for settings that exclude each other.
func (s Settings) Check() error {
	switch {
	case s.In == cluster.Hosted && s.Publish:
		return report.UsageError("--publish requires --in management: a controller in the hosted cluster has no " +
			"credential of the management cluster")
	case s.In == cluster.Hosted && s.Namespace != v1alpha1.Namespace:
		return report.UsageError("--controller-namespace requires --in management")
	}
	return nil
}

// CheckNamespace returns a usage error if the namespace of the controller is not valid.
func (s Settings) CheckNamespace() error {
	if problems := validation.IsDNS1123Label(s.Namespace); len(problems) > 0 {
		return report.UsageError("--controller-namespace: %s", problems[0])
	}
	return nil
}

// KeepInstalled sets the settings for which isSet returns false for the name of their flag to those of the installed
// controller. It fails if the settings then exclude each other.
func (i *Installer) KeepInstalled(ctx context.Context, isSet func(flag string) bool) error {
	installed, err := i.installed(ctx)
	if err != nil {
		return err
	}
	return i.keep(installed, isSet)
}

// keep sets the settings whose flags are not set to those of the installed controller.
func (s *Settings) keep(installed Settings, isSet func(flag string) bool) error {
	if installed.In != "" && !isSet("in") {
		s.In = installed.In
	}
	if !isSet("publish") {
		s.Publish = installed.Publish && s.In == cluster.Management
	}
	if !isSet("monitoring") {
		s.Monitoring = installed.Monitoring
	}
	if !isSet("replicas") {
		s.Replicas = cmp.Or(installed.Replicas, s.Replicas)
	}
	if s.Image = cmp.Or(s.Image, installed.Image); s.Image == "" {
		return report.UsageError("--image is required: no image has been published; make image builds one")
	}
	return s.Check()
}
