//go:build vm

package network

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/uplink"
)

// moving makes the move, with time for a machine that is emulated.
const moving = "join --only network --network-timeout 5m "

// quick lets the guards wait no longer than they must: on a busy host half a
// minute is over before a move is.
const quick = " --network-timeout 60s "

// thorough tells whether THOROUGH asks for every fault at every part of a move,
// and for the guards' whole time each time. Otherwise each fault has its turn.
func thorough() bool { return os.Getenv("THOROUGH") != "" }

// faulty are the kinds that faults are tried on, unless KINDS says otherwise.
func faulty(t *testing.T) []uplink.Kind {
	t.Helper()
	if os.Getenv("KINDS") != "" && os.Getenv("KINDS") != "usual" {
		return kinds
	}
	names := "dhcp4"
	if thorough() {
		names = "dhcp4,bond-backup"
	}
	found, err := uplink.Find(names)
	must(t, err)
	return found
}

// delicate is the part at which only the timer saves a host whose agent dies:
// what is received arrives on br-ex, and what is sent leaves by the NIC.
const delicate = "given to its new profile"

// parts lists what is said before each part of a move begins, as mortal says
// it; it makes the move.
func parts(ctx context.Context, t *testing.T, h host) []string {
	t.Helper()
	said, err := machine.Output(ctx, "mortal"+quick+h.Flags)
	must(t, err)
	var found []string
	for line := range strings.Lines(said) {
		if kind, message, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && kind == "wait" {
			found = append(found, message)
		}
	}
	if len(found) < 8 {
		t.Fatalf("the move does not say what it waits for:\n%s", said)
	}
	return found
}

// during runs the move until it says text, does something before the part that
// this announces can begin, and returns the exit code when the move has ended.
func during(ctx context.Context, t *testing.T, h host, text string, do func()) report.Code {
	t.Helper()
	const halt = "rm -f /run/go-on; for i in $(seq 600); do [ -e /run/go-on ] && exit; sleep 0.05; done; exit 1"
	watch := vm.NewWatcher(text)
	type end struct {
		code int
		err  error
	}
	ended := make(chan end, 1)
	go func() {
		code, err := machine.RunStream(ctx, "mortal --at '"+text+"' --run '"+halt+"' "+quick+h.Flags, nil, watch, watch)
		ended <- end{code, err}
	}()
	select {
	case <-watch.Said:
		do()
		_, err := machine.Output(ctx, "touch /run/go-on")
		must(t, err)
	case e := <-ended:
		t.Fatalf("the move ended before it said %q (%v):\n%s", text, e.err, watch.String())
	}
	e := <-ended
	must(t, e.err)
	t.Logf("exit code %d:\n%s", e.code, watch.String())
	if strings.Contains(watch.String(), "\nrun\t") {
		t.Error("the move did not wait")
	}
	return report.Code(e.code)
}

// givenBack waits until the guards have given the network back, and checks that
// they have.
func (h host) givenBack(ctx context.Context, t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(time.Second) {
		// The timer is gone when it has done its work.
		busy, err := machine.Output(ctx, "systemctl list-timers --no-legend --no-pager | grep -c hcp-node-agent; true")
		must(t, err)
		if busy == "0" {
			break
		}
	}
	h.answers(ctx, t)
	h.untouched(ctx, t, "after the guards' time")
}

// answers checks that the host can be reached from outside.
func (h host) answers(ctx context.Context, t *testing.T) {
	t.Helper()
	if gaps := h.watch(ctx, t, func() { time.Sleep(time.Second) }); gaps.Silent {
		t.Errorf("the host cannot be reached: %v", gaps)
	}
}
