// SPDX-License-Identifier: Apache-2.0

// Package lossydisk provides disks for tests that lose unflushed writes at a power cut. A [Recording] logs each
// write and flush that file systems send to a disk. [Recording.Cut] returns what the disk can contain after a
// power cut at a point of the log: all writes before the last flush, and any of the blocks that were written since.
//
// The log is that of QEMU's filter blklogwrites, in the format of the kernel's dm-log-writes. qemu-storage-daemon
// exports the disk as a file by FUSE, and loop devices on the file contain the file systems.
package lossydisk
