// Package private checks that other users of the machine cannot read the files with secrets, nor change the files
// with rules and the folders with state.
//
// [CheckFile] is for private keys and tokens: group and others may have no right to the file. The one exception is a
// file that belongs to root: its group may read it, as with the keys of Debian's group ssl-cert, and with the secrets
// that Kubernetes gives to the group of a pod (root:ssl-cert, 0640 or 0440).
//
// [CheckRules] is for files that say what others may do, such as a policy and the public keys of an issuer: all may read
// them, and only their owner may write them. A group that may write is refused even if it is the owner's own: who is in
// it can change without a change of the file, and no system says it reliably.
//
// [CheckFolder] is for folders of state and data: only their owner may write them. The sticky bit makes no difference,
// since others could still add files.
//
// A link is followed, and what it leads to counts. A missing file or folder is no fault here: opening it says why, and a
// folder that Holdfast makes is private (0700). Devices are not checked. Systems without such modes (Windows) have no
// faults.
package private
