// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// NodePoolLabel is the label that HyperShift sets on a Node, with the
// NodePool's name without its namespace (hosted cluster config operator,
// controllers/node). HyperShift finds the NodePool by the Node's Machine, which
// does not exist on platform None.
const NodePoolLabel = "hypershift.openshift.io/nodePool"

// Registration contains the labels and taints of a Node in addition to those of
// the payload's unit. kubelet sets them only when it creates the Node.
type Registration struct {
	Labels map[string]string
	Taints []corev1.Taint
}

// NewRegistration parses labels (KEY=VALUE) and taints (KEY[=VALUE]:EFFECT);
// later ones override earlier ones. It adds the label of the NodePool
// (NAMESPACE/NAME, "" for none) unless labels contain it or the name is no
// valid label value: that has at most 63 characters.
func NewRegistration(labels, taints []string, nodePool string) (Registration, error) {
	r := Registration{Labels: map[string]string{}}
	if name := nodePool[strings.LastIndex(nodePool, "/")+1:]; name != "" &&
		len(validation.IsValidLabelValue(name)) == 0 {
		r.Labels[NodePoolLabel] = name
	}
	for _, text := range labels {
		key, value, err := config.ParseLabel(text)
		if err != nil {
			return r, report.Fail(report.Usage, "hcp-node-agent config validate", "node label %q: %w", text, err)
		}
		r.Labels[key] = value
	}
	for _, text := range taints {
		taint, err := config.ParseTaint(text)
		if err != nil {
			return r, report.Fail(report.Usage, "hcp-node-agent config validate", "node taint %q: %w", text, err)
		}
		r.Taints = slices.DeleteFunc(r.Taints, func(t corev1.Taint) bool {
			return t.MatchTaint(&taint) // key and effect must be unique
		})
		r.Taints = append(r.Taints, taint)
	}
	return r, nil
}

// labels returns the labels in the form that kubelet and oc accept, sorted by
// key.
func (r Registration) labels() []string {
	all := make([]string, 0, len(r.Labels))
	for _, key := range slices.Sorted(maps.Keys(r.Labels)) {
		all = append(all, key+"="+r.Labels[key])
	}
	return all
}

// taints returns the taints in the form that kubelet and oc accept.
func (r Registration) taints() []string {
	all := make([]string, 0, len(r.Taints))
	for _, taint := range r.Taints {
		all = append(all, taint.ToString())
	}
	return all
}

// String returns the labels and taints in one line.
func (r Registration) String() string {
	var parts []string
	if len(r.Labels) > 0 {
		parts = append(parts, "labels "+strings.Join(r.labels(), ", "))
	}
	if len(r.Taints) > 0 {
		parts = append(parts, "taints "+strings.Join(r.taints(), ", "))
	}
	return strings.Join(parts, "; ")
}
