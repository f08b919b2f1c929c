package peer

// redis is one Redis server as it ships: no log, a snapshot now and then.
func redis(name string) service {
	return service{
		name:    name,
		program: program{name: "redis-server", debian: "redis-server"},
		ports:   1,
		ready:   "ready to accept connections",
		setup: func(program string, ports []string) [][]string {
			return [][]string{{program, "--port", ports[0], "--bind", "127.0.0.1", "--dir", folder}}
		},
	}
}

// redisAOF is Redis that has written to disk what it answers.
func redisAOF(name string) service {
	s := redis(name)
	s.extra = true
	forgetful := s.setup
	s.setup = func(program string, ports []string) [][]string {
		commands := forgetful(program, ports)
		commands[0] = append(commands[0], "--appendonly", "yes", "--appendfsync", "always")
		return commands
	}
	return s
}
