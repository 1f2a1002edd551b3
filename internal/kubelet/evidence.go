package kubelet

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// Machine is where the machine itself is asked for reasons.
type Machine struct {
	Systemd      *host.Systemd // nil where no service manager answers
	CNIDirectory string        // where CRI-O looks for network configurations, /etc/kubernetes/cni/net.d
}

// evidence is what the machine and the API server tell about a Node that is
// not as it should be.
type evidence struct {
	units  []unitEvidence // those that do not run
	errors []string       // kubelet's last errors
	cni    []string       // network configurations
	pods   []*corev1.Pod
	noPods error // why pods is not known
}

type unitEvidence struct {
	name  string
	state host.UnitState
	said  []string // its last errors
}

func (n *Node) evidence(ctx context.Context) evidence {
	var e evidence
	e.units = n.Machine.idle(ctx)
	e.errors = lastErrors(ctx, "kubelet.service", 2)
	e.cni = n.Machine.networks()
	e.pods, e.noPods = n.pods(ctx)
	return e
}

// idle lists the units, of those that kubelet needs, that do not run.
func (m Machine) idle(ctx context.Context) []unitEvidence {
	if m.Systemd == nil {
		return nil
	}
	var idle []unitEvidence
	for _, name := range []string{"crio.service", "kubelet.service"} {
		state, err := m.Systemd.UnitState(ctx, name)
		if err != nil || state.Active == "active" {
			continue // systemd's own trouble is not evidence about the unit
		}
		idle = append(idle, unitEvidence{name: name, state: state, said: lastErrors(ctx, name, 2)})
	}
	return idle
}

// networks lists the network configurations as CNI counts them.
func (m Machine) networks() []string {
	entries, _ := os.ReadDir(m.CNIDirectory) // no directory, no configuration
	var names []string
	for _, entry := range entries {
		for _, suffix := range []string{".conf", ".conflist", ".json"} {
			if strings.HasSuffix(entry.Name(), suffix) {
				names = append(names, entry.Name())
			}
		}
	}
	return names
}

// lastErrors gives a unit's last errors of this boot, the newest last.
func lastErrors(ctx context.Context, unit string, count int) []string {
	text, err := host.Run(ctx, "journalctl", "--unit="+unit, "--boot", "--lines=200", "--output=cat", "--no-pager", "--quiet")
	if err != nil {
		return nil // a machine without a journal has nothing to say
	}
	return errorLines(text, count)
}

// errorLines picks the last distinct errors: lines of klog (E or F and the
// date), of logrus, and of systemd about the process.
func errorLines(text string, count int) []string {
	klog := regexp.MustCompile(`^[EF]\d{4} [\d:.]+ +\d+ [^]]+\] `)
	other := regexp.MustCompile(`level=(error|fatal)|^Error: |Main process exited|^panic: `)
	var found []string
	for _, line := range slices.Backward(strings.Split(text, "\n")) {
		line = strings.TrimSpace(line)
		prefix := klog.FindString(line)
		if prefix == "" && !other.MatchString(line) {
			continue
		}
		line = shorten(strings.TrimPrefix(line, prefix))
		if !slices.Contains(found, line) {
			found = append(found, line)
		}
		if len(found) == count {
			break
		}
	}
	slices.Reverse(found)
	return found
}

const longest = 300 // characters of somebody else's message

func shorten(line string) string {
	runes := []rune(strings.Join(strings.Fields(line), " "))
	if len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return string(runes)
}
