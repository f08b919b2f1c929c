// Package access is the policy: which subject may do what, on which names, and how much of a member it may use. It is
// pure: bytes come in, decisions go out. It reads no file and no clock, starts no goroutine, and authenticates no
// caller.
//
//	verb.go        the five verbs
//	subject.go     the names of callers, and the patterns that match them
//	pattern.go     patterns of names and spaces, and how they become steps of a tree
//	tree.go        many patterns as one prefix tree
//	read.go        the file: its keys, its limits
//	read_entry.go  its entries: grants, quotas, issuers, tests
//	fault.go       what is wrong with a file, line by line
//	policy.go      the policy that a file becomes, its digest, and the two policies without a file
//	rights.go      the rights of one set of roles: the hot path
//	explain.go     why a decision is as it is
//	warning.go     what a file has by mistake
//	assertion.go   the assertions that a file has about itself
//	quota.go       how much of a member one subject may use
//
// # The file
//
// A policy is one YAML file:
//
//	roles:
//	  deployers: {rules: [{space: default, names: ["deploy/**"], verbs: [lock, read]}]}
//	  readers:   {rules: [{space: "*", names: ["**"], verbs: [read]}]}
//	  sre:       {rules: [{space: "*", names: ["**"], verbs: [lock, read, break, operate, admin]}]}
//	grants:
//	  - {role: deployers, to: ["cert:job-*", "token:ci"]}
//	  - {role: readers,   to: ["*"]}
//	  - {role: sre,       to: ["jwt:https://login.example#ops", "group:https://login.example#sre", "uid:0"]}
//	quotas:
//	  - {to: ["token:ci"], sessions: 100, locks: 10000, waiters: 1000, requests_per_second: 500}
//	issuers:
//	  - {issuer: "https://login.example", audience: holdfast, groups: groups}
//	tests:
//	  - {subject: "token:ci", verb: lock, space: default, name: [deploy/web, deploy/db/eu], allowed: true}
//	  - {subject: "token:ci", verb: [break, operate], space: default, name: deploy/web, allowed: false}
//
// What is not granted is denied. Rules only add: no rule takes away what another one gives, so the order of roles, rules
// and grants means nothing. The order of quotas does: see [Policy.Quota]. Where a list has one entry, the entry alone
// will do.
//
// A file is taken as a whole or refused as a whole. Unknown keys, unknown verbs, roles without a definition, patterns
// that can match nothing, and a file that grants nothing are faults; [Error] has all of them with their lines. A file
// has at most [MaxBytes] bytes, and [MaxEntries] patterns, subjects and assertions of each kind.
//
// # Patterns
//
// A name is split at "/" into parts: "a/b" has two, "a/" has two of which the second is empty, "a" has one. A pattern of
// names is split in the same way, and matches if its parts match all parts of the name, one after the other:
//
//   - A part without "*" matches the same part, byte for byte: upper and lower case differ.
//   - "*" within a part matches any number of characters, none included, but no "/": "web-*", "*-eu", "a*b", "*".
//   - "**" as a whole part matches any number of parts, none included.
//
// So deploy/** matches "deploy" (no part follows), "deploy/" (an empty one), "deploy/web" and "deploy/a/b"; it does not
// match "deployment". deploy/* matches "deploy/" and "deploy/web", neither "deploy" nor "deploy/a/b". ** matches every
// name. There is no escape: a name that contains "*" is matched by its pattern, but so are others.
//
// The name of a space has no parts: "*" in its pattern matches any number of its characters. In patterns of subjects
// "*" matches any characters, "/" and ":" included, because subjects contain both; "*" alone matches every subject,
// anonymous included. Put it last, as in cert:job-*: jwt:*#ops matches the subject ops of every issuer.
//
// # Cost
//
// The patterns of all roles that a subject has are one prefix tree, built at the first question and kept for the next
// subject with the same roles. A decision follows the name through that tree, and the number of rules hardly counts; it
// allocates nothing as long as a name meets at most eight "*" and "**" of the tree. A subject that was not seen before
// costs a walk through the tree of the grants, and leaves nothing behind.
//
// # Where this differs
//
// Kubernetes RBAC has roles and bindings, which only add, as here; its names are exact or all, and its roles belong to
// one namespace or to all. A policy of Vault has paths with a glob at their end and "+" for one part; of several paths
// that match, the most specific one decides, and deny wins over all. An ACL of Consul has exact names and prefixes, of
// which the longest one decides. Here nothing is more specific than anything else: a subject has the union of what its
// roles give, so a reader of a file need not look for what may override a line.
package access
