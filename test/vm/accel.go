// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// chooseAccelerator returns KVM if the image's kernel boots with it. That /dev/kvm can be opened
// is not sufficient: in some virtual machines the device exists and a stock kernel hangs. The
// result is cached beside the image until the host reboots.
func chooseAccelerator(ctx context.Context, image string) (accelerator, error) {
	if _, err := os.Stat("/dev/kvm"); errors.Is(err, os.ErrNotExist) {
		return tcg, nil
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return tcg, fmt.Errorf("reading the host's boot id: %w", err)
	}
	note := filepath.Join(image, "kvm-"+strings.TrimSpace(string(boot)))
	if answer, err := os.ReadFile(note); err == nil {
		if string(answer) == "works" {
			return kvm, nil
		}
		return tcg, nil
	}
	chosen, answer := tcg, "does not"
	if kvmBoots(ctx, image) {
		chosen, answer = kvm, "works"
	}
	if err := ctx.Err(); err != nil {
		return tcg, err
	}
	return chosen, os.WriteFile(note, []byte(answer), 0o600)
}

// kvmBoots starts the image's kernel without a disk and waits for its first line on the serial
// console. With KVM, the line is printed within a fraction of a second.
func kvmBoots(ctx context.Context, image string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "qemu-system-x86_64",
		"-accel", kvm.accel, "-cpu", kvm.cpu, "-machine", "q35", "-m", "256",
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-serial", "stdio", "-kernel", filepath.Join(image, "vmlinux"),
		"-append", "console=ttyS0 earlyprintk=ttyS0 panic=-1")
	out, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		return false
	}
	found := false
	for lines := bufio.NewScanner(out); !found && lines.Scan(); {
		found = strings.Contains(lines.Text(), "Linux version")
	}
	cancel()
	_ = cmd.Wait() // killed by the line above
	return found
}
