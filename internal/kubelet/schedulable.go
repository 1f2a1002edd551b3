package kubelet

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Schedulable waits until nothing keeps pods away from the Node: it is not
// cordoned, and has no taint with the effect NoSchedule or NoExecute. A cordon
// of the agent's own leave is lifted.
func (n *Node) Schedulable(ctx context.Context) error {
	last := finding{text: "Node " + n.Name + " was never seen", remedy: "systemctl status kubelet"}
	err := follow(ctx, n.api, n.Log, n.source(), evidenceEvery, func(found map[string]*corev1.Node) (bool, error) {
		node := found[n.Name]
		if node == nil {
			last = finding{text: "Node " + n.Name + " is gone: somebody deleted it", remedy: "systemctl restart kubelet   registers it again"}
			n.Log.Wait(last.text, last.remedy)
			return false, nil
		}
		if cordonedByLeave(node) {
			n.Log.Note("the Node was cordoned by this agent's leave; the cordon is lifted")
			return false, n.uncordon(ctx)
		}
		keeping := keepsPodsAway(node)
		if len(keeping) == 0 {
			for _, taint := range softTaints(node) {
				n.Log.Note(explainTaint(n.Name, taint).text)
			}
			return true, nil
		}
		last = joined(n.Name, keeping)
		n.Log.Wait(last.text, last.remedy)
		return false, nil
	})
	return timeUp(ctx, err, last.failure())
}

// keepsPodsAway lists what keeps pods away, each with its story.
func keepsPodsAway(node *corev1.Node) []finding {
	var all []finding
	for _, taint := range node.Spec.Taints {
		if taint.Effect != corev1.TaintEffectPreferNoSchedule && taint.Key != corev1.TaintNodeUnschedulable {
			all = append(all, explainTaint(node.Name, taint))
		}
	}
	if node.Spec.Unschedulable {
		all = append(all, explainTaint(node.Name, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}))
	}
	return all
}

// softTaints are those that only make other nodes preferred.
func softTaints(node *corev1.Node) []corev1.Taint {
	var soft []corev1.Taint
	for _, taint := range node.Spec.Taints {
		if taint.Effect == corev1.TaintEffectPreferNoSchedule {
			soft = append(soft, taint)
		}
	}
	return soft
}

func joined(node string, all []finding) finding {
	texts := make([]string, 0, len(all))
	var remedies []string
	for _, f := range all {
		texts = append(texts, f.text)
		if f.remedy != "" {
			remedies = append(remedies, f.remedy)
		}
	}
	return finding{text: "Node " + node + " takes no pods: " + strings.Join(texts, "; "), remedy: strings.Join(remedies, "\n")}
}

// explainTaint tells who sets a taint, who removes it, and what to do.
func explainTaint(node string, taint corev1.Taint) finding {
	text := "taint " + taint.ToString()
	if taint.TimeAdded != nil {
		text += " since " + taint.TimeAdded.UTC().Format(time.RFC3339)
	}
	for _, known := range knownTaints() {
		if known.key == taint.Key {
			return finding{text: fmt.Sprintf("%s (%s)", text, known.story), remedy: strings.ReplaceAll(known.remedy, "NODE", node)}
		}
	}
	return finding{
		text:   text + " (not one that Kubernetes or OpenShift sets by itself: an administrator's, an operator's, or the NodePool's)",
		remedy: fmt.Sprintf("oc adm taint node %s %s-   if nothing needs it", node, taint.Key),
	}
}
