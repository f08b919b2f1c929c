package peer

import "github.com/holdfast-locks/holdfast/internal/test/realstore/recipe"

// redis is one Redis server with its defaults: no log, occasional snapshots.
func redis(name string) service { return service{name: name, recipe: recipe.Redis()} }

// redisAOF is Redis that writes to disk before it answers.
func redisAOF(name string) service {
	s := redis(name)
	s.extra = true
	s.more = []string{"--appendonly", "yes", "--appendfsync", "always"}
	return s
}
