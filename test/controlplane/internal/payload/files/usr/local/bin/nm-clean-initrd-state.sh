#!/bin/bash
# Stand-in: on the real thing this deletes what NetworkManager in the initramfs
# left behind. Its unit is gated by a file that only some platforms have.
echo "nm-clean-initrd-state: must not run on a machine that was not booted by Ignition" >&2
exit 1
