// SPDX-License-Identifier: Apache-2.0

// Package entries turns the storage and systemd sections of an Ignition config into changes for
// the ledger. The package applies the entries one by one, in Ignition's order, to a model of the
// tree (overlay). The changes are the differences between the overlay and the tree. The package
// writes nothing. Only the preset file of an image is decided later, because Ignition lists a
// unit as disabled only if `systemctl --root is-enabled` succeeds for the unit once all files
// are written: see Decision.Preset.
//
// Strict selects Ignition's own rules, for the tree of an image. Otherwise the config is that of
// a NodePool and the tree that of a running host: existing files are replaced after the ledger
// has backed them up, and no directory tree is removed.
//
// Differences from Ignition, in both modes:
//
//   - A path that exists is accepted without overwrite if its content, mode and owner are
//     already the final ones. Therefore a second run changes nothing.
//   - Content to append is not appended again if the file ends with it. For a NodePool, and for
//     the preset file, it is also not appended again if the file contains it as consecutive
//     whole lines, and appended content starts on a new line. Single lines are not compared: a
//     closing brace, or a setting in another section, would be missing.
//   - A file is replaced by one rename, even to append to it: other hard links to the file keep
//     the old content.
//   - An existing directory with overwrite: true keeps its inode and the contents that the
//     config creates again.
//   - Symbolic links never lead out of the tree, whether they lead to another link or to the
//     target that determines the owner of a new link. An absolute target determines no owner:
//     Ignition, in its initramfs or with --root, resolves it outside of the tree.
//   - Links of an unprivileged user lead only to directories of that user.
//   - Missing directories behind two symbolic links in a row are created at the target of the
//     links; Ignition fails at the second link.
//   - `systemctl --root` disables units after all entries are made, and the preset file follows.
//     If the config has a link that enables a unit and also disables the unit, every run creates
//     and removes the link.
//   - Special files, mount points, /proc, /sys and /dev are rejected before anything is written,
//     and so are all errors that Ignition would find after some of its writes.
package entries
