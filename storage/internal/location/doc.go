// Package location is where a store is, as people write it: a URL. Drivers read theirs with it,
// so that all of them refuse the same mistakes in the same words, and none of them ever shows
// a password.
//
//	scheme://user:password@host:port,host:port/path?option=value
//
// [Parse] takes one apart. A driver asks for the options that it knows, each with its default,
// and then for [Location.Err], which has everything that is wrong: values that are not what is
// allowed, and options that the driver did not ask for, since one that is misspelt would be
// one that does nothing.
//
// # Passwords
//
// No error of this package has a password in it. A program that shows a URL shows what
// [Redacted] makes of it.
//
// # TLS
//
// What [Location.TLS] makes is the same for all stores: ca=FILE has the authorities that the
// server's certificate is checked with (without it the system's), cert=FILE and key=FILE what
// this side shows, server_name=NAME the name that the certificate must be for (without it the
// host). All files are PEM. TLS 1.2 is the oldest that is spoken.
package location
