// SPDX-License-Identifier: Apache-2.0

package ledger

import "context"

// AcceptSysctl records the value of a sysctl after a change as its desired state. The kernel may have limited or
// rounded the requested value, or ignored a comment behind it. It returns the value, "" if it is that of the change.
func (l *Ledger) AcceptSysctl(ctx context.Context, step string, change Change) (string, error) {
	now, err := l.drivers.currentState(ctx, change)
	if err != nil || now.Value == change.Desired.Value || l.isAccepted(change, now) {
		return "", err
	}
	complete, err := l.TrackExternal(ctx, step, change)
	if err != nil {
		return "", err
	}
	return now.Value, complete()
}

// isAccepted reports whether the current value of a sysctl is the one that the kernel made of the same change before.
func (l *Ledger) isAccepted(change Change, now State) bool {
	for _, item := range l.Items() {
		if item.Key() == change.Key() {
			requested, adjusted := item.adjustedSysctl()
			return adjusted && requested == change.Desired.Value && item.Desired.Value == now.Value
		}
	}
	return false
}

// adjustedSysctl returns the requested value of a sysctl of which the kernel has accepted another one.
func (i Item) adjustedSysctl() (requested string, adjusted bool) {
	if i.Kind != Sysctl || !i.external || !i.Done || len(i.earlierDesired) == 0 {
		return "", false
	}
	return i.earlierDesired[len(i.earlierDesired)-1].Value, true
}

// hasAcceptedValue reports whether a sysctl has the requested value, or the one that the kernel made of it.
func (i Item) hasAcceptedValue(now State) bool {
	requested, adjusted := i.adjustedSysctl()
	return adjusted && now.Present && (now.Value == requested || i.Matches(now))
}
