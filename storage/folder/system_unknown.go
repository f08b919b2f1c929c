//go:build unix && !linux && !darwin && !freebsd && !dragonfly

package folder

// fileSystem reports no kind: this system does not say in one way which file systems machines share.
func fileSystem(string) (kind string, remote bool, err error) { return "", false, nil }
