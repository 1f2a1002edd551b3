// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// RegistrationDropIn is the drop-in for labels and taints. It sorts after the
// payload's drop-ins and those for the node's address (20-nodenet.conf), whose
// CUSTOM_KUBELET_LABELS it includes.
const RegistrationDropIn = "30-hcp-node-agent-registration.conf"

// labelsVariable is the variable through which MCO's kubelet unit accepts labels,
// since OpenShift 4.19.
const labelsVariable = "CUSTOM_KUBELET_LABELS"

const (
	labelsFlag = "--node-labels"
	taintsFlag = "--register-with-taints"
)

// RenderDropIn returns the content of RegistrationDropIn, or "" if there are no labels
// and taints. Labels use the unit's variable CUSTOM_KUBELET_LABELS if it has one.
// Otherwise, and for taints, the drop-in repeats the unit's ExecStart= with the
// flags added. RenderDropIn fails if the unit allows neither.
//
// The drop-in does not change registerWithTaints of the KubeletConfiguration,
// because the cluster owns that file. The flag overrides that setting, so it
// includes the configured taints.
func (r Registration) RenderDropIn(launch UnitFiles) (string, error) {
	if len(r.Labels)+len(r.Taints) == 0 {
		return "", nil
	}
	settings, err := launch.parseSettings()
	if err != nil {
		return "", err
	}
	command, err := settings.kubeletCommand()
	if err != nil {
		return "", report.Fail(report.Refused, "# show the unit and its drop-ins:\nsystemctl cat kubelet",
			"configuring labels and taints for kubelet: %w", err)
	}
	content := "# Written by hcp-node-agent: labels and taints for the registration of the Node.\n[Service]\n"
	rewritten := command
	hook, hooked := launch.readLabelsVariable(command, settings)
	switch {
	case len(r.Labels) == 0:
		hooked = false
	case hooked:
		content += fmt.Sprintf("Environment=\"%s=%s\"\n", labelsVariable,
			strings.TrimPrefix(hook+","+strings.Join(r.labels(), ","), ","))
	default:
		rewritten = addLabels(rewritten, strings.Join(r.labels(), ","))
	}
	if len(r.Taints) > 0 {
		all, err := r.mergedTaints(launch, command)
		if err != nil {
			return "", err
		}
		rewritten = addFlag(rewritten, taintsFlag+"="+all)
	}
	if rewritten != command {
		content += "ExecStart=\nExecStart=" + rewritten + "\n"
	}
	return content, launch.checkLaterDropIns(hooked, rewritten != command)
}

// readLabelsVariable returns the current value of CUSTOM_KUBELET_LABELS and whether the
// drop-in can set it. The flag must use the variable, no environment file may
// set it (which would override the drop-in), and its value must need no quotes.
func (u UnitFiles) readLabelsVariable(command string, settings unitSettings) (value string, usable bool) {
	inFlag := slices.ContainsFunc(systemd.SplitWords(command), func(word string) bool {
		return strings.HasPrefix(word, labelsFlag+"=") && strings.Contains(word, "${"+labelsVariable+"}")
	})
	value = settings.environment[labelsVariable]
	return value, inFlag && !settings.setByFiles[labelsVariable] && !strings.ContainsAny(value, "\"'\\ \t\n")
}

// checkLaterDropIns returns an error if a drop-in that systemd reads later would override
// RegistrationDropIn.
func (u UnitFiles) checkLaterDropIns(hooked, rewritten bool) error {
	for _, name := range u.sortedDropIns() {
		if name <= RegistrationDropIn {
			continue
		}
		for _, option := range systemd.ParseOptions(u.DropIns[name]) {
			starts := rewritten && option.Name == "ExecStart"
			sets := hooked && option.Name == "Environment" &&
				(option.Value == "" || strings.Contains(option.Value, labelsVariable+"="))
			if option.Section == "Service" && (starts || sets) {
				return report.Fail(report.Refused, "# rename the drop-in so that it sorts before "+
					RegistrationDropIn,
					"labels and taints cannot be passed to kubelet: drop-in %s of its unit sets %s= after all others",
					name, option.Name)
			}
		}
	}
	return nil
}

// mergedTaints returns the value of the taints flag: the taints of the existing
// flag or of kubelet's configuration, except those that r replaces by key and
// effect, and the taints of r.
func (r Registration) mergedTaints(launch UnitFiles, command string) (string, error) {
	var all []string
	keep := func(text string) {
		taint, err := config.ParseTaint(text)
		desired := slices.ContainsFunc(r.Taints,
			func(t corev1.Taint) bool { return t.MatchTaint(&taint) })
		if text != "" && (err != nil || !desired) { // a taint with a variable in it is copied unchanged
			all = append(all, text)
		}
	}
	if there := flagValue(systemd.SplitWords(command), taintsFlag); there != "" {
		for text := range strings.SplitSeq(there, ",") {
			keep(text)
		}
	} else {
		configured, err := launch.configuredTaints(command)
		if err != nil {
			return "", err
		}
		for _, taint := range configured {
			keep(taint.ToString())
		}
	}
	return strings.Join(append(all, r.taints()...), ","), nil
}

// addLabels appends labels to the last plain --node-labels=, or adds the flag.
// kubelet combines the values of repeated flags.
func addLabels(command, labels string) string {
	start := strings.LastIndex(command, labelsFlag+"=")
	if start < 0 {
		return addFlag(command, labelsFlag+"="+labels)
	}
	word := command[start:]
	if end := strings.IndexAny(word, " \t\n"); end >= 0 {
		word = word[:end]
	}
	before := command[:start]
	plain := !strings.ContainsAny(word, "\"'\\") &&
		(before == "" || strings.ContainsAny(before[len(before)-1:], " \t\n"))
	if !plain {
		return addFlag(command, labelsFlag+"="+labels)
	}
	separator := ","
	if word == labelsFlag+"=" {
		separator = ""
	}
	return before + word + separator + labels + command[start+len(word):]
}

// addFlag appends a flag to a command, on a separate line if the command has
// several lines.
func addFlag(command, flag string) string {
	command = strings.TrimRight(command, " \t\n\\")
	if strings.Contains(command, "\\\n") {
		return command + " \\\n      " + flag
	}
	return command + " " + flag
}
