// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
)

// Storage describes the file systems that store deployments. Sizes are in bytes.
type Storage struct {
	Layers map[string]bool // digests of the layers of images that the host stores, such as sha256:0123…
	// Size and Free are those of the file system of /sysroot.
	Size, Free uint64
	BootFree   uint64 // of the file system of /boot
	// LargestKernel is the size of the largest kernel with its initramfs in /boot/ostree.
	LargestKernel uint64
	// OtherKernels is the size of the kernels in /boot/ostree that the booted deployment does not use. If it needs the
	// space, ostree removes them before it writes another kernel (auto_early_prune_old_deployments in
	// src/libostree/ostree-sysroot-deploy.c).
	OtherKernels uint64
}

// Usable returns the free space of /sysroot that ostree uses: 3% are reserved (min-free-space-percent in
// ostree.repo-config(5)).
func (s Storage) Usable() uint64 {
	reserved := s.Size / 100 * 3
	return s.Free - min(s.Free, reserved)
}

// NextKernel returns the estimated size of the next kernel with its initramfs. A larger reserve would refuse updates
// that succeed: /boot of RHEL CoreOS has 384 MiB, and contains two or three kernels.
func (s Storage) NextKernel() uint64 { return s.LargestKernel / 4 * 5 }

// ReadStorage returns the storage of this host.
func ReadStorage(ctx context.Context) (Storage, error) {
	cmdline, err := os.ReadFile("/proc/cmdline")
	if err != nil {
		return Storage{}, fmt.Errorf("reading the kernel arguments: %w", err)
	}
	return readStorage(ctx, "/", bootedKernel(string(cmdline)))
}

// readStorage returns the storage below a directory. booted is the name of the booted kernel.
func readStorage(ctx context.Context, root, booted string) (Storage, error) {
	sysrootDir, bootDir := filepath.Join(root, "sysroot"), filepath.Join(root, "boot")
	refs, err := command.Run(ctx, "ostree", "refs", "--repo="+filepath.Join(sysrootDir, "ostree/repo"))
	if err != nil {
		return Storage{}, fmt.Errorf("reading the layers that the host stores: %w", err)
	}
	sysroot, err := hostinfo.FileSystemUsage(sysrootDir)
	if err != nil {
		return Storage{}, err
	}
	boot, err := hostinfo.FileSystemUsage(bootDir)
	if err != nil {
		return Storage{}, err
	}
	s := Storage{Layers: parseLayers(refs), Size: sysroot.Size, Free: sysroot.Free, BootFree: boot.Free}
	s.LargestKernel, s.OtherKernels, err = kernelSizes(filepath.Join(bootDir, "ostree"), booted)
	return s, err
}

// parseLayers returns the digests of layers in the output of ostree refs. The name of a ref contains _3A_ in place of
// the colon of a digest (bootc, crates/ostree-ext/src/container/store.rs, ref_for_layer).
func parseLayers(refs string) map[string]bool {
	layers := map[string]bool{}
	for ref := range strings.Lines(refs) {
		if layer, found := strings.CutPrefix(strings.TrimSpace(ref), "ostree/container/blob/"); found {
			layers[strings.Replace(layer, "_3A_", ":", 1)] = true
		}
	}
	return layers
}

// bootedKernel returns the name of the directory in /boot/ostree with the booted kernel, STATEROOT-CHECKSUM. The kernel
// argument ostree=/ostree/boot.1/STATEROOT/CHECKSUM/0 contains both.
func bootedKernel(cmdline string) string {
	for argument := range strings.FieldsSeq(cmdline) {
		if path, found := strings.CutPrefix(argument, "ostree=/ostree/boot."); found {
			if parts := strings.Split(path, "/"); len(parts) > 2 {
				return parts[1] + "-" + parts[2]
			}
		}
	}
	return ""
}

// kernelSizes returns the size of the largest kernel in a directory, and the size of all but the booted one.
func kernelSizes(dir, booted string) (largest, others uint64, err error) {
	kernels, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // without it, a kernel is in /usr only
		return 0, 0, fmt.Errorf("reading the kernels of the host: %w", err)
	}
	for _, kernel := range kernels {
		used, err := hostfs.DiskUsage(filepath.Join(dir, kernel.Name()))
		if err != nil {
			return 0, 0, err
		}
		size := uint64(used) //nolint:gosec // a size is positive
		largest = max(largest, size)
		if kernel.Name() != booted {
			others += size
		}
	}
	return largest, others, nil
}
