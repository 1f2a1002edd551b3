// Package ovs puts the machine's uplink into the Open vSwitch bridge br-ex, as
// OVN-Kubernetes wants it, without losing the machine.
//
// Look gathers facts, Plan decides from them alone, Driver acts. The move goes
// through NetworkManager, inside a checkpoint of it. br-ex first gets a copy
// of the uplink's address with a worse metric; then the NIC is plugged into
// the bridge in the database and given to its new profile, so that the
// address changes hands without a gap; then br-ex renews the lease itself.
//
// A checkpoint does not survive NetworkManager and knows nothing of database
// rows. Therefore a journal, a timer of systemd and a unit for the next boot
// stand by until the move is verified and saved: see journal.go and guard.go.
package ovs
