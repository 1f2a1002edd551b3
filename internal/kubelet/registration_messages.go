// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"slices"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// rejectionRemedy returns the commands for a registration that the cluster rejects. They
// omit the labels and taints that the message names, or all configured ones if
// it names none.
func (r RegistrationCheck) rejectionRemedy(name, words string) report.Remedy {
	var flags, label, taint []string
	named := strings.FieldsFunc(words, func(c rune) bool {
		return !strings.ContainsRune("._/-", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c)
	})
	pick := func(all bool) {
		for _, text := range r.Desired.labels() {
			if key, _, _ := strings.Cut(text, "="); all || slices.Contains(named, key) {
				flags, label = append(flags, "--node-label "+text), append(label, text)
			}
		}
		for _, t := range r.Desired.Taints {
			if all || slices.Contains(named, t.Key) {
				flags, taint = append(flags, "--node-taint "+t.ToString()), append(taint, t.ToString())
			}
		}
	}
	if pick(false); len(flags) == 0 {
		if strings.Contains(words, "label") {
			return "# check --node-labels in kubelet's unit (systemctl cat kubelet): the labels come from the " +
				"NodePool's configuration"
		}
		pick(true)
	}
	return report.Remedy("# join without " + strings.Join(flags, " ") + "; when the Node exists, run on the " +
		"hosted cluster:\n" + labelCommands(name, label, taint, ""))
}

// labelCommands returns the commands that set labels and taints on an existing
// Node.
func labelCommands(name string, labels, taints []string, overwrite string) string {
	var commands []string
	if len(labels) > 0 {
		commands = append(commands, "oc label node "+name+overwrite+" "+strings.Join(labels, " "))
	}
	if len(taints) > 0 {
		commands = append(commands, "oc adm taint node "+name+overwrite+" "+strings.Join(taints, " "))
	}
	return strings.Join(commands, "; ")
}

// reportMissing logs the labels and taints that an existing Node lacks: kubelet sets
// them only when it creates the Node. Taints are compared only on the first
// join, because some are meant to be removed later.
func (r RegistrationCheck) reportMissing(node *corev1.Node, log report.Log) {
	var lacks, labels, taints []string
	for _, text := range r.Desired.labels() {
		key, value, _ := strings.Cut(text, "=")
		has, found := node.Labels[key]
		if found && has == value {
			continue
		}
		labels = append(labels, text)
		if found {
			text += " (it has " + key + "=" + has + ")"
		}
		lacks = append(lacks, "label "+text)
	}
	for _, taint := range r.Desired.Taints {
		if r.FirstJoin && !slices.ContainsFunc(node.Spec.Taints,
			func(t corev1.Taint) bool { return t.MatchTaint(&taint) && t.Value == taint.Value }) {
			taints, lacks = append(taints, taint.ToString()), append(lacks, "taint "+taint.ToString())
		}
	}
	if len(lacks) > 0 {
		log.Warn("Node "+node.Name+" was registered before, without "+strings.Join(lacks, ", ")+"; "+
			"kubelet sets them only when it creates the Node",
			report.Remedy(labelCommands(node.Name, labels, taints, " --overwrite")+" # on the hosted cluster"))
	}
}
