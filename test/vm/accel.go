// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// accelerator has QEMU's options for the execution of guest code.
type accelerator struct{ accel, cpu string }

var (
	kvm = accelerator{accel: "kvm", cpu: "host"}
	// A baseline CPU, with the instructions for which Go and OpenSSL have faster code also under emulation: AES-GCM is
	// four times as fast as without. AVX has no benefit. Later versions of QEMU are not faster: 10.0 needed a sixth more
	// processor time than 7.2 for a boot and for the start of Go programs.
	tcg = accelerator{
		accel: "tcg,thread=multi,tb-size=512", cpu: "qemu64,+aes,+pclmulqdq,+popcnt,+sse4.1,+sse4.2,+ssse3",
	}
)

// chooseAccelerator returns KVM if the image's kernel boots faster with it. That /dev/kvm can be opened is not
// sufficient: in some virtual machines KVM is nested and a stock kernel needs minutes for its first lines. The result
// is cached beside the image until the host reboots. The kernel of a foreign disk is unknown; Config.Emulated decides.
func chooseAccelerator(ctx context.Context, cfg Config) (accelerator, error) {
	image := cfg.Image
	if _, err := os.Stat("/dev/kvm"); errors.Is(err, os.ErrNotExist) || cfg.Emulated {
		return tcg, nil
	}
	if cfg.Disk != "" {
		return kvm, nil
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return tcg, fmt.Errorf("reading the host's boot id: %w", err)
	}
	note := filepath.Join(image, "accelerator-"+strings.TrimSpace(string(boot)))
	if answer, err := os.ReadFile(note); err == nil {
		if string(answer) == kvm.accel {
			return kvm, nil
		}
		return tcg, nil
	}
	chosen := fasterAccelerator(ctx, image)
	if err := ctx.Err(); err != nil {
		return tcg, err
	}
	return chosen, os.WriteFile(note, []byte(chosen.accel), 0o600)
}

// fasterAccelerator boots the image's kernel without a disk with both accelerators at the same time, and returns the
// one with which it panics first, because it has no root. It returns emulation if it panics with none of them.
func fasterAccelerator(ctx context.Context, image string) accelerator {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	first := make(chan accelerator, 2)
	var boots sync.WaitGroup
	for _, a := range []accelerator{kvm, tcg} {
		boots.Go(func() {
			if panics(ctx, image, a) {
				first <- a
				cancel()
			}
		})
	}
	boots.Wait()
	select {
	case a := <-first:
		return a
	default:
		return tcg
	}
}

// panics boots the image's kernel without a disk. It reports whether the kernel has come to the point at which it
// requires a root.
func panics(ctx context.Context, image string, with accelerator) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	output, err := exec.CommandContext(ctx, "qemu-system-x86_64",
		"-accel", with.accel, "-cpu", with.cpu, "-machine", "q35", "-m", "256",
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-serial", "stdio", "-kernel", filepath.Join(image, "vmlinux"),
		"-append", "console=ttyS0 earlyprintk=ttyS0 panic=-1").Output()
	return err == nil && strings.Contains(string(output), "Kernel panic")
}
