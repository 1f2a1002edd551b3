// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"testing"
)

func TestUnmountSelectsKubeletMounts(t *testing.T) {
	tests := []struct {
		point, directory string
		want             bool
	}{
		{
			point: "/var/lib/kubelet/pods/1/volumes/kubernetes.io~projected/token", directory: "/var/lib/kubelet",
			want: true,
		},
		{point: "/var/lib/kubelet/plugins/kubernetes.io/csi/pv/globalmount", directory: "/var/lib/kubelet", want: true},
		{point: "/var/lib/kubelet", directory: "/var/lib/kubelet"}, // a separate disk
		{point: "/var/lib/kubelet/pods", directory: "/var/lib/kubelet"},
		{point: "/var/lib/kubelet/pods-of-ours", directory: "/var/lib/kubelet"},
		{point: "/var/lib/containers/storage/overlay", directory: "/var/lib/containers", want: true},
		{point: "/var/lib/containers/storage/overlay/1/merged", directory: "/var/lib/containers"}, // podman's
		{point: "/var/lib/containers/storage", directory: "/var/lib/containers"},
		{point: "/var/lib/containers", directory: "/var/lib/containers"},
	}
	for _, test := range tests {
		if got := isKubeletMount(test.point, test.directory); got != test.want {
			t.Errorf("isKubeletMount(%s, %s) = %v, want %v", test.point, test.directory, got, test.want)
		}
	}
}
