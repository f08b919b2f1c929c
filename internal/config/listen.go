package config

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-locks/holdfast/internal/socket"
)

// listenKey is the key of the address for members and clients.
func listenKey() Key {
	network := address{freePort: true, anyHost: true}
	return Key{
		Name: "listen", Kind: Text, Default: "127.0.0.1:4040",
		Allowed: network.allowed() + ", unix:///PATH, or both with a comma between",
		Help:    "Address for members and clients (gRPC); port 0 picks a free port; localhost is 127.0.0.1 and ::1; unix:///PATH, for clients on this machine, alone or after a comma.",
		read: func(c *Config, text string) *flaw {
			var listen, path string
			for item := range strings.SplitSeq(text, ",") {
				item = strings.TrimSpace(item)
				at, is := socket.Path(item)
				switch {
				case is && path != "":
					return &flaw{"it names two sockets", "give one of them"}
				case is:
					if err := socket.Check(at); err != nil {
						return &flaw{quote(item) + ": " + err.Error(), "choose another path"}
					}
					path = at
				case listen != "":
					return &flaw{"it names two addresses of the network", "give one of them"}
				default:
					if wrong := network.check(item); wrong != nil {
						return wrong
					}
					listen = item
				}
			}
			c.Listen, c.Socket = listen, path
			return nil
		},
		format: func(c *Config) string {
			places := []string{c.Listen}
			if c.Socket != "" {
				places = append(places, socket.Scheme+c.Socket)
			}
			return strings.Join(slices.DeleteFunc(places, func(place string) bool { return place == "" }), ",")
		},
	}
}

// modeKey is the key of the socket's mode: which users may connect.
func modeKey() Key {
	key := Key{
		Name: "socket_mode", Kind: Text, Default: "0600", Allowed: "an octal number from 0600 to 0777",
		Help: "Mode of the socket file; users with write permission may connect.",
	}
	return into(key, func(c *Config) *fs.FileMode { return &c.SocketMode }, func(text string) (fs.FileMode, *flaw) {
		mode, err := strconv.ParseUint(text, 8, 16)
		if err != nil || mode > 0o777 || mode&0o600 != 0o600 {
			return 0, &flaw{"it is not the mode of a file that its owner can read and write", "write it as in 0660"}
		}
		return fs.FileMode(mode), nil
	}, func(mode fs.FileMode) string { return fmt.Sprintf("%04o", uint32(mode)) })
}

// hostsKey is the key of the further host names for HTTP requests.
func hostsKey() Key {
	return listKey("hosts", func(c *Config) *[]string { return &c.Hosts }, func(item string) *flaw {
		if item == "" || !goodHost(item) {
			return &flaw{quote(item) + " in it is neither an IP address nor a host name", "write it as in lock.example, without a port"}
		}
		return nil
	}, "HOST[,HOST…] without ports, or empty",
		"More host names for HTTP requests, in addition to localhost and this machine's name and addresses; may be repeated.")
}
