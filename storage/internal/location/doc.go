// Package location parses a store's URL. All drivers use it, so that they refuse the same mistakes in the same words,
// and none of them ever shows a password.
//
//	scheme://user:password@host:port,host:port/path?option=value
//
// [Parse] splits a URL. A driver reads the options that it knows, each with its default, and then [Location.Err], which
// lists all errors: invalid values, and options that the driver did not read, because a misspelt option would have no
// effect.
//
// # Passwords
//
// No error of this package contains a password. A program that shows a URL must show the result of [Redacted].
//
// # TLS
//
// [Location.TLS] is the same for all stores: ca=FILE has the authorities for the server's certificate (without it the
// system's), cert=FILE and key=FILE the client certificate, server_name=NAME the name that the server's certificate
// must be for (without it the host). All files are PEM. The minimum version is TLS 1.2.
package location
