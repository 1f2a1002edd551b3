// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"strings"
	"testing"
)

func TestParseGRUB(t *testing.T) {
	const config = "set default=0\nmenuentry 'Debian' {\n\tlinux\t/boot/vmlinuz-6.1 root=UUID=1 ro  psi=0 a=\"b\"\n}\n" +
		"\tlinux /boot/vmlinuz-6.1 single\n"
	if got, err := parseGRUB(config); err != nil || strings.Join(got, " ") != `psi=0 a="b"` {
		t.Errorf("arguments %q, %v", got, err)
	}
	if got, err := parseGRUB("menuentry 'Firmware' {\n\tfwsetup\n}\n"); err == nil {
		t.Errorf("without a kernel: %q", got)
	}
}
