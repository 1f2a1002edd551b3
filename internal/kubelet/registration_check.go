// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// RegistrationCheck checks with the cluster, before kubelet starts, the Node that
// kubelet will register.
type RegistrationCheck struct {
	UnitFiles UnitFiles // includes RegistrationDropIn
	Desired   Registration
	Arch      string // as in GOARCH
	FirstJoin bool   // no join has completed before: an existing Node never had the desired taints
}

// ExpectedNode returns the Node with the labels and taints that kubelet will request
// (initialNode in k8s.io/kubernetes/pkg/kubelet/kubelet_node_status.go).
func (r RegistrationCheck) ExpectedNode(name string) (*corev1.Node, error) {
	settings, err := r.UnitFiles.parseSettings()
	if err != nil {
		return nil, err
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: r.Arch,
		"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": r.Arch,
	}}}
	command, err := settings.kubeletCommand()
	if err != nil {
		return nil, err
	}
	var arguments []string
	for _, word := range systemd.SplitWords(command) {
		arguments = append(arguments, expandVariables(word, settings.environment))
	}
	for _, value := range flagValues(arguments, labelsFlag) {
		for label := range strings.SplitSeq(value, ",") {
			if key, value, _ := strings.Cut(label, "="); key != "" {
				node.Labels[strings.TrimSpace(key)] = strings.TrimSpace(value)
			}
		}
	}
	node.Spec.Taints, err = r.expectedTaints(command, flagValue(arguments, taintsFlag))
	return node, err
}

// expectedTaints returns the taints of the flag or, if it is empty, of kubelet's
// configuration.
func (r RegistrationCheck) expectedTaints(command, flag string) ([]corev1.Taint, error) {
	configured, err := r.UnitFiles.configuredTaints(command)
	if err != nil || flag == "" {
		return configured, err
	}
	var taints []corev1.Taint
	for text := range strings.SplitSeq(flag, ",") {
		taint, err := config.ParseTaint(text)
		if err != nil {
			return nil, fmt.Errorf("reading %s in kubelet's unit: %q: %w", taintsFlag, text, err)
		}
		taints = append(taints, taint)
	}
	return taints, nil
}

// Run creates the Node in a dry run with the node's own credential. What the
// API server rejects, it would also reject from kubelet. existing is the Node in
// the cluster, or nil. For an existing Node, differences and a rejection are
// only logged, because kubelet can use that Node.
func (r RegistrationCheck) Run(
	ctx context.Context, connection *kube.Conn, log report.Log, name string, existing *corev1.Node,
) error {
	node, err := r.ExpectedNode(name)
	if err != nil {
		return err
	}
	var refusal error
	err = connection.Retry(ctx, log, "validating the Node with its labels and taints (server-side dry run)",
		func() error {
			_, err := connection.Client.Nodes().Create(ctx, node,
				metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			refusal = nil
			switch {
			case apierrors.IsAlreadyExists(err):
				return nil
			case isRejection(err):
				refusal = err
				return nil
			}
			return err
		})
	if err != nil {
		return err
	}
	if existing != nil {
		r.reportMissing(existing, log)
	}
	switch {
	case refusal == nil:
		return nil
	case strings.Contains(refusal.Error(), "does not support dry run"):
		log.Warn("the Node cannot be validated before its registration: "+refusal.Error(), "")
		return nil
	case existing != nil:
		log.Warn("the cluster would reject a new registration of this Node: "+refusal.Error(),
			r.rejectionRemedy(name, refusal.Error()))
		return nil
	}
	return report.Fail(report.Refused, r.rejectionRemedy(name, refusal.Error()),
		"the cluster rejects the Node with its labels and taints (%s): %w", r.Desired, refusal)
}

// isRejection reports whether err is a response about the Node and not a connection
// problem.
func isRejection(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || apierrors.IsUnauthorized(err) || apierrors.IsConflict(err) {
		return false
	}
	code := status.Status().Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError &&
		code != http.StatusRequestTimeout && code != http.StatusTooManyRequests
}

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
