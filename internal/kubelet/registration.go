package kubelet

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// NodePoolLabel is what HyperShift puts on a Node, with the NodePool's name
// without its namespace (hosted cluster config operator, controllers/node).
// It finds the NodePool by the Node's Machine, which platform None has not.
const NodePoolLabel = "hypershift.openshift.io/nodePool"

// Registration is what a Node shall have beside what the payload's unit gives
// it, from its registration on; kubelet sets it when it makes the Node, and
// never after.
type Registration struct {
	Labels map[string]string
	Taints []config.Taint
}

// NewRegistration reads labels (KEY=VALUE) and taints (KEY[=VALUE]:EFFECT), of
// which later ones win, and adds the label of the NodePool (NAMESPACE/NAME, ""
// for none) where they do not have it and it can be one: a label has no more
// than 63 characters.
func NewRegistration(labels, taints []string, nodePool string) (Registration, error) {
	r := Registration{Labels: map[string]string{}}
	if name := nodePool[strings.LastIndex(nodePool, "/")+1:]; name != "" && len(validation.IsValidLabelValue(name)) == 0 {
		r.Labels[NodePoolLabel] = name
	}
	for _, text := range labels {
		key, value, err := config.ParseLabel(text)
		if err != nil {
			return r, report.Fail(report.Usage, "hcp-node-agent join --help", "node label: %w", err)
		}
		r.Labels[key] = value
	}
	for _, text := range taints {
		taint, err := config.ParseTaint(text)
		if err != nil {
			return r, report.Fail(report.Usage, "hcp-node-agent join --help", "node taint: %w", err)
		}
		r.Taints = append(without(r.Taints, taint), taint)
	}
	return r, nil
}

// without leaves out the taint of the same key and effect: there can be one.
func without(taints []config.Taint, taint config.Taint) []config.Taint {
	return slices.DeleteFunc(taints, func(t config.Taint) bool { return t.Key == taint.Key && t.Effect == taint.Effect })
}

// labels lists them as kubelet and oc take them, in their order.
func (r Registration) labels() []string {
	all := make([]string, 0, len(r.Labels))
	for _, key := range slices.Sorted(maps.Keys(r.Labels)) {
		all = append(all, key+"="+r.Labels[key])
	}
	return all
}

// Empty tells whether there is nothing to register with.
func (r Registration) Empty() bool { return len(r.Labels)+len(r.Taints) == 0 }

// String says it in one line.
func (r Registration) String() string {
	var parts []string
	if len(r.Labels) > 0 {
		parts = append(parts, "labels "+strings.Join(r.labels(), ", "))
	}
	if len(r.Taints) > 0 {
		texts := make([]string, 0, len(r.Taints))
		for _, taint := range r.Taints {
			texts = append(texts, taint.String())
		}
		parts = append(parts, "taints "+strings.Join(texts, ", "))
	}
	return strings.Join(parts, "; ")
}
