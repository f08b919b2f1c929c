package host

import (
	"testing"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
)

// TestIntroduceNamesTheClusterOfTheMember: a member that has only heard of a cluster greets others as one of none.
func TestIntroduceNamesTheClusterOfTheMember(t *testing.T) {
	for name, tt := range map[string]struct {
		accepted *election.View
		want     uint64
	}{
		"it knows no view":               {nil, 0},
		"it has heard of another's view": {&election.View{Cluster: 8}, 0},
		"it has taken part":              {&election.View{Cluster: 7}, 7},
	} {
		t.Run(name, func(t *testing.T) {
			n := &Member{cell: membership.Cell{Cluster: 7, ID: 1, Accepted: tt.accepted}}
			if got := n.introduce().Cluster; got != tt.want {
				t.Errorf("it greets others as one of cluster %d, want %d", got, tt.want)
			}
		})
	}
}
