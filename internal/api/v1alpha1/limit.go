// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "k8s.io/apimachinery/pkg/util/intstr"

// ScaleLimit returns the number of nodes that a limit permits in a NodePool with a number of members, at least one. A
// percentage is rounded down, as for the Machines of an InPlace NodePool.
func ScaleLimit(limit intstr.IntOrString, members int) (int, error) {
	scaled, err := intstr.GetScaledValueFromIntOrPercent(&limit, members, false)
	if err != nil {
		return 0, err
	}
	return max(scaled, 1), nil
}
