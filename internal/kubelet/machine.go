package kubelet

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// PullSecretPath is where a payload puts the pull secret of the node.
const PullSecretPath = "/var/lib/kubelet/config.json" //nolint:gosec // a path, no secret

// Machine is where the machine itself is asked for reasons. What is left empty
// is not asked.
type Machine struct {
	Systemd      *host.Systemd // nil where no service manager answers
	CNIDirectory string        // where CRI-O looks for network configurations, /etc/kubernetes/cni/net.d
	RuntimeUnit  string        // crio.service
	Socket       string        // where CRI-O answers, CRIOSocket
	PullSecret   string        // PullSecretPath
	Disks        []string      // paths on the file systems that kubelet and CRI-O fill
}

// ThisMachine is how a joined host is asked.
func ThisMachine(systemd *host.Systemd, cniDirectory string) Machine {
	return Machine{
		Systemd: systemd, CNIDirectory: cniDirectory, RuntimeUnit: "crio.service", Socket: CRIOSocket, PullSecret: PullSecretPath,
		Disks: []string{"/var/lib/kubelet", "/var/lib/containers"},
	}
}

func (m Machine) look(ctx context.Context) machineFacts {
	f := machineFacts{
		units: m.idle(ctx), cniDir: m.CNIDirectory, networks: m.networks(), auths: m.auths(),
		kubelet: lastErrors(ctx, Unit, 60, "--since=-6min"), recent: lastErrors(ctx, Unit, 20, "--since=-1min"),
	}
	if len(f.units) == 0 {
		f.runtime = m.runtime(ctx)
	}
	for _, path := range m.Disks {
		if usage, err := host.LookUsage(path); err == nil { // not there yet: no evidence
			f.disks = append(f.disks, usage)
		}
	}
	f.memory.available, f.memory.total = host.MemoryAvailable()
	f.tasks.running, f.tasks.most = host.Tasks()
	return f
}

// idle lists kubelet's unit and those that it needs, as far as they do not run.
// What a unit needs comes before it: it is the nearer cause.
func (m Machine) idle(ctx context.Context) []unitFacts {
	if m.Systemd == nil {
		return nil
	}
	seen := map[string]bool{}
	units := m.idleBelow(ctx, m.RuntimeUnit, Unit, seen)
	return append(units, m.idleBelow(ctx, Unit, "", seen)...)
}

func (m Machine) idleBelow(ctx context.Context, name, needed string, seen map[string]bool) []unitFacts {
	if name == "" || seen[name] {
		return nil
	}
	seen[name] = true
	state, err := m.Systemd.UnitState(ctx, name)
	if err != nil || state.Active == "active" {
		return nil // systemd's own trouble is not evidence about the unit
	}
	var units []unitFacts
	required, _ := m.Systemd.Requires(ctx, name) // as above
	for _, unit := range required {
		units = append(units, m.idleBelow(ctx, unit, name, seen)...)
	}
	if name != Unit && name != m.RuntimeUnit && !hinders(name, state) {
		return units
	}
	return append(units, unitFacts{name: name, needed: needed, state: state, errors: lastErrors(ctx, name, 4)})
}

// hinders tells whether a unit that another one needs, and that is not active,
// can be the reason: a oneshot that has ended well is inactive and no trouble.
func hinders(name string, state host.UnitState) bool {
	switch {
	case state.Load != "" && state.Load != "loaded":
		return true
	case strings.HasSuffix(name, ".target"), strings.HasSuffix(name, ".slice"):
		return false // they tell only of others
	}
	return state.Active == "failed" || state.Active == "activating"
}

// runtime asks CRI-O whether it is well.
func (m Machine) runtime(ctx context.Context) error {
	if m.Socket == "" {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	connection, err := connectCRI(m.Socket)
	if err != nil {
		return err
	}
	defer connection.Close()
	_, err = cri.NewRuntimeServiceClient(connection).Version(bounded, &cri.VersionRequest{})
	if ctx.Err() != nil {
		return nil // our own time is over, which is no evidence about CRI-O
	}
	return err //nolint:wrapcheck // told as it is, behind a sentence
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

// auths lists what the node's pull secret is for: registries, some with a path.
// The credentials themselves are not kept.
func (m Machine) auths() []string {
	if m.PullSecret == "" {
		return nil
	}
	content, err := os.ReadFile(m.PullSecret)
	if err != nil {
		return nil
	}
	var secret struct {
		Auths map[string]struct{} `json:"auths"`
	}
	if json.Unmarshal(content, &secret) != nil {
		return nil
	}
	names := make([]string, 0, len(secret.Auths))
	for name := range secret.Auths {
		names = append(names, name)
	}
	return names
}
