package kubelet

import (
	"testing"
)

func TestUnmountSelectsKubeletMounts(t *testing.T) {
	tests := []struct {
		point, directory string
		want             bool
	}{
		{"/var/lib/kubelet/pods/1/volumes/kubernetes.io~projected/token", "/var/lib/kubelet", true},
		{"/var/lib/kubelet/plugins/kubernetes.io/csi/pv/globalmount", "/var/lib/kubelet", true},
		{"/var/lib/kubelet", "/var/lib/kubelet", false}, // a separate disk
		{"/var/lib/kubelet/pods", "/var/lib/kubelet", false},
		{"/var/lib/kubelet/pods-of-ours", "/var/lib/kubelet", false},
		{"/var/lib/containers/storage/overlay", "/var/lib/containers", true},
		{"/var/lib/containers/storage/overlay/1/merged", "/var/lib/containers", false}, // podman's
		{"/var/lib/containers/storage", "/var/lib/containers", false},
		{"/var/lib/containers", "/var/lib/containers", false},
	}
	for _, test := range tests {
		if got := isKubeletMount(test.point, test.directory); got != test.want {
			t.Errorf("leftBehind(%s, %s) = %v, want %v", test.point, test.directory, got, test.want)
		}
	}
}
