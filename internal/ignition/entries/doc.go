// Package entries turns the storage and systemd sections of an Ignition config into changes for the ledger. The changes
// are decided from the tree: entries are made one after the other, as Ignition makes them, in a model of the tree (scene),
// and the differences between the model and the tree are the changes. Nothing is written. Only the preset file of an
// image is decided later, because Ignition lists a unit as disabled only if `systemctl --root is-enabled` succeeds for the
// unit once all files are written: see Decision.Preset.
//
// Strict selects Ignition's own rules, for the tree of an image. Otherwise the config is a NodePool's and the tree that of
// a running host: existing files are replaced, and the ledger keeps them; no directory tree is ever removed.
//
// Differences from Ignition, in both modes:
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
