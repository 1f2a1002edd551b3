// SPDX-License-Identifier: Apache-2.0

package uplink

import _ "embed"

// ClassicScript is a shell script that attaches an interface to br-ex with the steps of OpenShift's configure-ovs.sh,
// without safeguards. Its argument is the interface.
//
//go:embed classic.sh
var ClassicScript string
