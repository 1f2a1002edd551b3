package kubelet

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// explain says why the Node is not Ready, the nearest cause first. node is nil
// when there is none.
func (n *Node) explain(node *corev1.Node, e evidence) finding {
	switch {
	case node == nil:
		return n.unregistered(e)
	case len(e.units) > 0:
		f := idleText(e.units)
		f.text = "Node " + n.Name + " is not Ready: " + f.text
		return f
	case !n.thisBoot(node):
		return finding{
			text: fmt.Sprintf("Node %s still tells of another boot (%s, this one is %s): kubelet has not reported yet, or another machine of this name does",
				n.Name, node.Status.NodeInfo.BootID, n.BootID) + said(e.errors),
			remedy: "journalctl -u kubelet -b",
		}
	}
	ready := conditionOf(node, corev1.NodeReady)
	var f finding
	switch {
	case ready == nil:
		f = finding{text: "kubelet has not reported its state yet", remedy: "journalctl -u kubelet -b"}
	case ready.Status == corev1.ConditionUnknown:
		f = finding{text: fmt.Sprintf("kubelet has not reported since %s (%s)", stamp(ready.LastHeartbeatTime.Time), ready.Reason), remedy: "journalctl -u kubelet -b"}
	case strings.Contains(ready.Message, "NetworkPluginNotReady"), strings.Contains(ready.Message, "NetworkReady=false"):
		f = n.networkText(e)
	default:
		f = finding{text: ready.Reason + ": " + shorten(ready.Message), remedy: "journalctl -u kubelet -b"}
	}
	f.text = "Node " + n.Name + " is not Ready: " + f.text + pressures(node)
	return f
}

func (n *Node) unregistered(e evidence) finding {
	if len(e.units) > 0 {
		f := idleText(e.units)
		f.text = "kubelet has not registered Node " + n.Name + ": " + f.text
		return f
	}
	return finding{text: "kubelet has not registered Node " + n.Name + " yet" + said(e.errors), remedy: "journalctl -u kubelet -b"}
}

// idleText names the first unit that does not run; those after it need it.
func idleText(units []unitEvidence) finding {
	unit := units[0]
	return finding{
		text:   fmt.Sprintf("%s does not run (%s)%s", unit.name, idleState(unit.state), said(unit.said)),
		remedy: "journalctl -b -u " + unit.name,
	}
}

// idleState says how a unit is that does not run. One that systemd starts over
// and over goes through several states a second; they are one to a person, or
// the same sentence would be told again and again.
func idleState(state host.UnitState) string {
	failing := state.Result != "" && state.Result != "success"
	switch {
	case state.Load != "" && state.Load != "loaded":
		return state.Load
	case state.Active == "activating" && (failing || state.Sub == "auto-restart"):
		return "it ends soon after each start"
	case failing:
		return state.Active + ", " + state.Result
	}
	return state.Active
}

// networkText is for the most common reason: the network plugin's pods come
// up last, and write its configuration.
func (n *Node) networkText(e evidence) finding {
	text := "the network plugin is not up"
	if len(e.cni) == 0 {
		text = "the network plugin has not written its configuration (" + n.Machine.CNIDirectory + " is empty)"
	}
	troubles := podTroubles(e.pods)
	switch {
	case e.noPods != nil:
		return finding{text: text, remedy: "oc get pods -A -o wide --field-selector spec.nodeName=" + n.Name}
	case len(e.pods) == 0:
		return finding{text: text + "; no pod is assigned to this node yet", remedy: "oc get clusteroperator network; oc get daemonsets -A"}
	case len(troubles) == 0:
		return finding{text: text, remedy: "oc get pods -A -o wide --field-selector spec.nodeName=" + n.Name}
	}
	first := troubles[0]
	return finding{
		text:   text + "; pods of this node that are not up: " + listed(troubles),
		remedy: fmt.Sprintf("oc -n %s describe pod %s", first.namespace, first.name),
	}
}

// pressures names the other conditions that are not as they should be.
func pressures(node *corev1.Node) string {
	var text strings.Builder
	for _, kind := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeNetworkUnavailable} {
		if c := conditionOf(node, kind); c != nil && c.Status == corev1.ConditionTrue {
			fmt.Fprintf(&text, "; %s (%s: %s)", kind, c.Reason, shorten(c.Message))
		}
	}
	return text.String()
}

func said(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return "; it said: " + strings.Join(lines, " | ")
}
