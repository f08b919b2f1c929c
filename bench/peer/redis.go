package peer

import "github.com/holdfast-locks/holdfast/internal/test/realstore/recipe"

// redis is one Redis server as it ships: no log, a snapshot now and then.
func redis(name string) service { return service{name: name, recipe: recipe.Redis()} }

// redisAOF is Redis that has written to disk what it answers.
func redisAOF(name string) service {
	s := redis(name)
	s.extra = true
	s.more = []string{"--appendonly", "yes", "--appendfsync", "always"}
	return s
}
