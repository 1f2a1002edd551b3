// SPDX-License-Identifier: Apache-2.0

// Package bootunits contains the units that run at every boot of a host whose
// uplink is in br-ex, and the task of one of them: UpdateUplinkName writes the
// current name of the NIC into the profiles before NetworkManager reads them.
package bootunits
