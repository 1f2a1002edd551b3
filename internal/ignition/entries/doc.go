// Package entries is the storage and systemd sections of an Ignition config, as
// changes for the ledger. It is decided against the tree as it is: the entries
// are made one after the other, as Ignition makes them, on a picture of the
// tree (scene), and what then differs from the tree is the list. Nothing is
// written. Only the preset file of an image is decided later: Ignition lists a
// unit as disabled only if `systemctl --root is-enabled` succeeds for the unit
// once all files are written (Decision.Preset).
//
// Strict keeps Ignition's own rules, for the tree of an image. Otherwise the
// config is a NodePool's and the tree a running host: a file that is there is
// replaced (the ledger keeps it), and no directory tree is ever removed.
//
// Where it is not as Ignition does it, in both modes:
//
//   - A thing that is there without overwrite is no error when it is exactly as
//     it will be in the end: content, mode and owner. So a second run is a no-op.
//   - What is appended to a file and stands at its very end already is not
//     appended again. With NodePool rules, and to the preset file: what stands in
//     it as a run of whole lines is not, and what is appended begins on a line of
//     its own. Single lines are not compared: a closing brace, or a setting below
//     another heading, would be missing.
//   - A file is replaced in one rename, also when something is appended to it:
//     other names of it (hard links) keep the old content.
//   - A directory with overwrite: true that is there keeps its inode, and what
//     of its contents the config makes again.
//   - Symbolic links never lead out of the tree, neither when a link leads to
//     another one nor when the owner of a new link is taken from its target. An
//     absolute target has no owner to take: Ignition, in its initramfs or with
//     --root, looks for it outside of the tree.
//   - Links of an unprivileged user lead only to directories of that user.
//   - Directories that lead nowhere below a link, with two links in a row, are made
//     where the links lead to; Ignition stops at the second one.
//   - `systemctl --root` disables units after all entries are made, and the preset file follows. A link of the
//     config that enables a unit which the config disables is made and removed again by every run.
//   - Special files, mount points, /proc, /sys and /dev are refused before
//     anything is written, and so is everything that Ignition would notice half
//     way.
package entries
