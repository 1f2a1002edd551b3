// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/install"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// keep sets the flags that are not given to the settings of the installed controller.
func (o *controllerInstallOptions) keep(installed install.Settings) error {
	if installed.In != "" && !o.isSet("in") {
		*o.in = string(installed.In)
	}
	if !o.isSet("publish") {
		o.publish = installed.Publish && *o.in == string(cluster.Management)
	}
	if !o.isSet("monitoring") {
		o.monitoring = installed.Monitoring
	}
	if !o.isSet("replicas") {
		o.replicas = cmp.Or(installed.Replicas, o.replicas)
	}
	if o.image = cmp.Or(o.image, installed.Image); o.image == "" {
		return report.UsageError("--image is required: no image has been published; make image builds one")
	}
	return o.check()
}
